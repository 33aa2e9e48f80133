"""Pages agree with the code: quoted commands run, terms of the glossary are words of it, and each page is found."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir, initialize_config_module

from lab.commands import LAB
from vcgym.scripts.console.command import register
from vcgym.scripts.console.program import VCGYM

HOME = Path(__file__).parents[3]


def read(name):
    return (HOME / name).read_text(encoding="utf-8")


DOCS = {path.relative_to(HOME).as_posix() for path in (HOME / "docs").rglob("*.md")}
TEXT = "\n".join(read(page).replace("\\\n", " ") for page in ("README.md", "CONTRIBUTING.md", *sorted(DOCS)))
START = r"(?:^ *(?:\$ )?|`)(?:\.venv/bin/)?"
COMMANDS = sorted({(name, rest.strip()) for name, rest in re.findall(START + r"vcgym ([a-z][a-z-]*)((?: [^`\n]*)?)", TEXT, re.MULTILINE)})
TARGETS = sorted(set(re.findall(r"(?:^ *|`)make ([a-z-]+)(?=$|`|  | [A-Z])", TEXT, re.MULTILINE)))
MODULES = sorted(set(re.findall(r"python -m ((?:vcgym|lab)\.[\w.]+)", TEXT)))
OF_LAB = sorted({(name, rest.strip()) for name, rest in re.findall(r"python -m lab ([a-z-]+)((?: [^`\n]*)?)", TEXT)})
ROOMS = ("network", "predictors", "baselines", "envs", "agents", "live", "leaderboard", "conference")


def overrides(rest):
    """Return the arguments: words with a value up to the first word without one, except placeholders such as NAME."""
    found = []
    for word in shlex.split(rest, comments=True):
        if "=" not in word:
            break
        found += [word] if not re.search(r"=[A-Z]+$", word) else []
    return found


def test_there_is_something_to_check():
    assert len(COMMANDS) > 40 and len(TARGETS) > 5 and MODULES and OF_LAB


@pytest.mark.parametrize(("name", "rest"), COMMANDS, ids=lambda text: text[:60])
def test_command_takes_its_arguments(name, rest):
    with initialize_config_module("vcgym.conf", version_base="1.3"):
        compose(register(VCGYM, name), overrides(rest))  # raises for an unknown key or choice


@pytest.mark.parametrize(("name", "rest"), OF_LAB, ids=lambda text: text[:60])
def test_command_of_the_laboratory_takes_its_arguments(name, rest):
    with initialize_config_dir(str(HOME / "lab" / "conf"), version_base="1.3"):
        compose(register(LAB, name), overrides(rest))


@pytest.mark.parametrize("target", TARGETS)
def test_target_is_in_the_makefile(target):
    assert re.search(rf"^{target}:", read("Makefile"), re.MULTILINE)


@pytest.mark.parametrize("module", MODULES)
def test_module_can_be_run(module):
    if module.startswith("lab."):
        assert HOME.joinpath(*module.split(".")).with_suffix(".py").is_file()
    else:
        assert importlib.util.find_spec(module)


def test_the_navigation_lists_every_page_once():
    listed = re.findall(r"^ +- [^:\n]+: *(\S+)$", read("mkdocs.yml").partition("\nnav:\n")[2], re.MULTILINE)
    outside = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md"}
    pages = [outside.get(file, f"docs/{file}") for file in listed if file not in ("notes/README.md", "changelog.md")]
    assert sorted(pages) == sorted({*DOCS, *outside.values()})


def test_the_index_of_the_laboratory_lists_every_note():
    notes = {path.name for path in (HOME / "lab" / "notes").glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\]\(([a-z_]+\.md)(?:#[\w-]+)?\) \|", read("lab/notes/README.md"))) == notes


def test_each_term_of_the_glossary_is_a_word_of_the_code():
    rows = re.findall(r"^\| ([a-z_ ,]+) \| .+ \| `[^|]+` \|$", read("docs/concepts.md"), re.MULTILINE)
    terms = [term.strip() for row in rows if row != "term" for term in row.split(",")]
    code = "\n".join(path.read_text(encoding="utf-8").lower() for room in ROOMS for path in (HOME / room).rglob("*.py"))
    assert len(terms) > 45
    assert [term for term in terms if not re.search(rf"(?<![a-z]){re.sub('[ _]', '[ _-]', term)}", code)] == []
