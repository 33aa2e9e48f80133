"""CONTRIBUTING.md, docs/concepts.md, lab/notes/checks.md, docstrings and the comments of conf name only existing things."""

import ast
import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[3]
PLACE = re.compile(r"`([a-z_0-9/]+\.py):(\w+)`")
CONCEPTS = "docs/concepts.md"
PLACES = sorted({found for page in ("CONTRIBUTING.md", CONCEPTS) for found in PLACE.findall((HOME / page).read_text())})
ROWS = re.findall(r"^\| ([a-z_ ,]+) \| .+ \| `[^|]+` \|$", (HOME / CONCEPTS).read_text(), re.MULTILINE)
TERMS = [term.strip() for row in ROWS if row != "term" for term in row.split(",")]
ROOMS = ("network", "predictors", "baselines", "envs", "agents", "live", "leaderboard")


def test_the_pages_name_many_places():
    assert len(PLACES) > 60 and len(TERMS) > 45


@pytest.mark.parametrize(("file", "name"), PLACES)
def test_each_named_place_exists(file, name):
    assert re.search(rf"^(?:def|class) {name}\b|^{name}\b.* = ", (HOME / file).read_text(), re.MULTILINE), f"{file} has no {name}"


def test_each_term_is_used():
    code = "\n".join(path.read_text().lower() for room in ROOMS for path in (HOME / room).rglob("*.py"))
    unused = [term for term in TERMS if not re.search(rf"(?<![a-z]){re.sub('[ _]', '[ _-]', term)}", code)]
    assert not unused


FILE = re.compile(r"(?<![\w/.])([a-z_0-9/]+\.(?:py|yaml|md))\b(?:, ([A-Z]\w+))?")
LISTED = re.compile(r"^ *([a-z_]+) {2,}\w", re.MULTILINE)


def pointers(path):
    """Return (file, class or "") of each pointer in the docstrings of a module, or in the comments of a YAML file."""
    text = path.read_text()
    if path.suffix == ".yaml":
        texts = [line.partition("#")[2] for line in text.splitlines()]
        return [found for one in texts for found in FILE.findall(one)]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
    listed = LISTED.findall(texts[0]) if path.name == "__init__.py" else []
    modules = [(f"{name}.py", "") for name in listed if not (path.parent / name).is_dir()]
    return [(name, "") for one in texts for name, _ in FILE.findall(one) if name.endswith(".py")] + modules


def target(path, name):
    """Return the file that a pointer in `path` names, seen from its folder or one above; None without one."""
    return next((folder / name for folder in path.parents if folder.is_relative_to(HOME) and (folder / name).is_file()), None)


def test_heads_of_configs_and_lists_of_folders_name_files():
    assert pointers(HOME / "conf" / "train.yaml") == [("agents/config/training.py", "TrainConfig")]
    assert ("paired.py", "") in pointers(HOME / "leaderboard" / "statistics" / "__init__.py")


@pytest.mark.parametrize("room", [*ROOMS, "scripts", "conf", "lab"])
def test_each_file_that_a_docstring_or_a_config_names_exists(room):
    paths = [path for suffix in ("py", "yaml") for path in sorted((HOME / room).rglob(f"*.{suffix}"))]
    named = [(path, name, kind, target(path, name)) for path in paths for name, kind in pointers(path)]
    stale = [f"{path.relative_to(HOME)}: {name}" for path, name, _, there in named if there is None]
    classes = [(path, kind, there.read_text()) for path, _, kind, there in named if there and kind]
    stale += [f"{path.relative_to(HOME)}: {kind}" for path, kind, text in classes if f"class {kind}" not in text]
    assert stale == []


def test_readme_points_to_both_pages():
    readme = (HOME / "README.md").read_text()
    assert "(CONTRIBUTING.md)" in readme and f"({CONCEPTS})" in readme


def test_each_finding_of_the_checks_has_tests_that_exist():
    rows = [line for line in (HOME / "lab" / "notes" / "checks.md").read_text().splitlines() if line.startswith("| ")][2:]
    for row in rows:
        cell = row.split(" | ")[1]
        for file, names in re.findall(r"`([\w/]+\.py)`(?:: ((?:`test_\w+`(?:, )?)+))?", cell):
            text = (HOME / "tests" / file).read_text()
            assert all(f"def {name}(" in text for name in re.findall(r"\w+", names)), (file, names)
        assert ".py" in cell or cell.startswith("none"), row
