"""Every command quoted in README, CONTRIBUTING and docs exists and accepts the quoted arguments."""

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
PAGES = (HOME / "README.md", HOME / "CONTRIBUTING.md", *sorted((HOME / "docs").rglob("*.md")))
TEXT = "\n".join(page.read_text(encoding="utf-8").replace("\\\n", " ") for page in PAGES)
START = r"(?:^ *(?:\$ )?|`)(?:\.venv/bin/)?"
COMMANDS = sorted({(name, rest.strip()) for name, rest in re.findall(START + r"vcgym ([a-z][a-z-]*)((?: [^`\n]*)?)", TEXT, re.MULTILINE)})
TARGETS = sorted(set(re.findall(r"(?:^ *|`)make ([a-z-]+)(?=$|`|  | [A-Z])", TEXT, re.MULTILINE)))
MODULES = sorted(set(re.findall(r"python -m ((?:vcgym|lab)\.[\w.]+)", TEXT)))
OF_LAB = sorted({(name, rest.strip()) for name, rest in re.findall(r"python -m lab ([a-z-]+)((?: [^`\n]*)?)", TEXT)})


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
    assert re.search(rf"^{target}:", (HOME / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("module", MODULES)
def test_module_can_be_run(module):
    if module.startswith("lab."):
        assert HOME.joinpath(*module.split(".")).with_suffix(".py").is_file()
    else:
        assert importlib.util.find_spec(module)
