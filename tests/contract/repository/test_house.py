"""Structure of the repository: rooms, links, lists and pins agree, the wheel contains the folders, both checkers find planted errors."""

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import numpy as np
import pytest
import yaml
from packaging.requirements import Requirement

import vcgym
from vcgym.network.kernels.compiling.sources import SOURCES
from vcgym.network.kernels.jit import kernel

HOME = Path(__file__).parents[3]
CONFIG = tomllib.loads((HOME / "pyproject.toml").read_text())
LAB = "lab"
ROOMS = sorted({folder.parent.name for folder in HOME.glob("*/__init__.py")} - {LAB, "vcgym"})
BUILDINGS = [*ROOMS, LAB]
BIN = Path(sys.executable).parent


def copy_of_the_house(to: Path) -> Path:
    """The rooms, the laboratory, the package of links and the settings, without anything produced."""
    for room in [*BUILDINGS, "vcgym"]:
        shutil.copytree(HOME / room, to / room, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "LICENSE", CONFIG["project"]["readme"]):
        shutil.copy(HOME / name, to / name)
    return to


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False)


def test_the_package_holds_a_relative_link_to_each_room() -> None:
    links = {path.name: path.readlink() for path in (HOME / "vcgym").iterdir() if path.is_symlink()}
    assert links == {room: Path("..", room) for room in ROOMS}


def test_no_attribute_of_numpy_hides_a_field_of_a_record() -> None:
    """Plain Python, in which rules are debugged, would read the attribute: the length of a record for its `size`."""
    rooms = ("network", "baselines", "envs", "conference")
    modules = [importlib.import_module(name) for name in SOURCES if name.startswith(tuple(f"vcgym.{room}." for room in rooms))]
    types = [(name, value) for module in modules for name, value in vars(module).items() if isinstance(value, np.dtype)]
    assert {"PACKET", "ANSWER"} <= dict(types).keys()  # those of classes are refused by `record`
    assert [(name, field) for name, of in types for field in of.names or () if hasattr(np.recarray, field)] == []


def test_each_module_has_one_name_and_one_source() -> None:
    """A second name would compile its kernels twice, and a second source would leave their cache stale."""
    names = {".".join(("vcgym", *path.relative_to(HOME).with_suffix("").parts)) for room in ROOMS for path in (HOME / room).rglob("*.py")}
    assert {name.removesuffix(".__init__") for name in names} == {name for name in SOURCES if name.partition(".")[0] == "vcgym"}
    loaded = [
        Path(module.__file__).resolve() for name, module in sys.modules.items() if "vcgym" in name and getattr(module, "__file__", None)
    ]
    assert [path for path, count in Counter(loaded).items() if count > 1] == []


def test_an_editor_resolves_every_import_of_the_checkout(tmp_path: Path) -> None:
    lines = "import vcgym.network.kernels.jit", "from lab.papers.judge import judge", "from vcgym.baselines.systems import load_system"
    (tmp_path / "known.py").write_text("\n".join(lines) + "\n")
    (tmp_path / "unknown.py").write_text("from vcgym.baselines.systems import load_orchestra\nimport vcgym.cellar\n")
    known, unknown = (run(BIN / "pyright", tmp_path / name, cwd=HOME) for name in ("known.py", "unknown.py"))
    assert known.returncode == 0, known.stdout
    assert unknown.returncode == 1 and "2 errors" in unknown.stdout, unknown.stdout


def test_every_named_dependency_is_pinned_and_no_pin_is_an_address() -> None:
    lines = [line for line in (HOME / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pins = {Requirement(line).name.lower().replace("_", "-"): Requirement(line) for line in lines}
    assert all(pin.url is None and str(pin.specifier).startswith("==") for pin in pins.values())
    groups = [CONFIG["project"]["dependencies"], *CONFIG["project"]["optional-dependencies"].values()]
    for requirement in (Requirement(line) for group in groups for line in group):
        if requirement.name != "vcgym":
            pin = pins[requirement.name.lower().replace("_", "-")]
            assert str(pin.specifier).removeprefix("==") in requirement.specifier, f"{pin} is outside {requirement}"


def test_the_wheel_holds_what_the_folders_hold(tmp_path: Path) -> None:
    house = copy_of_the_house(tmp_path)
    built = run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "wheel", ".", cwd=house)
    assert built.returncode == 0, built.stderr
    (wheel,) = (house / "wheel").glob("vcgym-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"vcgym"}  # nothing of the laboratory
    held = {name for name in names if name.startswith("vcgym/")}
    files = {f"vcgym/{path.relative_to(HOME).as_posix()}" for room in ROOMS for path in (HOME / room).rglob("*") if path.is_file()}
    package = {"vcgym/__init__.py", "vcgym/gymnasium_ids.py"}  # besides the links
    assert held == package | {name for name in files if "__pycache__" not in name and not name.endswith(".md")}
    assert [name.partition(".data/")[2] for name in names if name.endswith(".pth")] == ["purelib/vcgym.pth"]
    asked = "import vcgym, vcgym.network; print(vcgym.__version__, len(vcgym.__doc__.splitlines()) > 5, vcgym.__file__)"
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    said = run(sys.executable, "-c", asked, cwd=tmp_path / "site", PYTHONPATH=str(tmp_path / "site"))
    assert said.stdout == f"{wheel.name.split('-')[1]} True {tmp_path / 'site' / 'vcgym' / '__init__.py'}\n", said.stderr


def test_the_citation_has_the_version() -> None:
    assert yaml.safe_load((HOME / "CITATION.cff").read_text())["version"] == vcgym.__version__


def test_a_planted_forbidden_import_is_reported(tmp_path: Path) -> None:
    house = copy_of_the_house(tmp_path)
    command = (BIN / "lint-imports", "--no-logo", "--no-cache")
    assert run(*command, cwd=house, PYTHONPATH=str(house)).returncode == 0
    (house / "network" / "planted.py").write_text("import torch\n\nimport vcgym.agents\n")
    report = run(*command, cwd=house, PYTHONPATH=str(house))
    assert report.returncode == 1
    assert "vcgym.network.planted -> torch" in report.stdout
    assert "vcgym.network.planted -> vcgym.agents" in report.stdout
    (house / "network" / "planted.py").write_text("import lab.papers.judge\n")
    report = run(*command, cwd=house, PYTHONPATH=str(house))
    assert report.returncode == 1
    assert "vcgym.network.planted -> lab.papers.judge" in report.stdout


@pytest.mark.parametrize("building", ["vcgym", LAB])
def test_no_two_modules_import_each_other(building: str) -> None:
    graph = grimp.build_graph(building, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert list(TopologicalSorter(imports).static_order())  # raises CycleError; imports within functions count


@pytest.mark.long
def test_a_planted_type_error_is_reported(tmp_path: Path) -> None:
    house = copy_of_the_house(tmp_path)
    (house / "network" / "planted.py").write_text("def halve(delay_ms: float) -> str:\n    return delay_ms / 2\n")
    report = run(BIN / "mypy", "--package", "vcgym.network", cwd=house, PYTHONPATH=str(house))
    assert report.returncode == 1
    assert "network/planted.py:2: error: Incompatible return value type" in report.stdout


def test_private_names_of_numba_stand_in_one_folder() -> None:
    """numba documents these modules for extensions; the others may change with any release."""
    public = "numba", "numba.extending", "numba.core.cgutils", "numba.core.errors", "numba.np.arrayobj"
    found = {
        path.relative_to(HOME).as_posix()
        for room in ROOMS
        for path in (HOME / room).rglob("*.py")
        for name in imported(ast.parse(path.read_text(encoding="utf-8")))
        if name.startswith("numba.") and name not in public and name.rpartition(".")[0] not in public
    }
    assert {name.rpartition("/")[0] for name in found} == {"network/kernels/compiling"}


def imported(tree: ast.Module) -> Iterator[str]:
    """Dotted names of what a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            yield from (f"{above}{alias.name}" for alias in node.names)


def public_kernels(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Compiled functions for other modules; a registered version of a generic function has that one's description."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            makers = (maker.func if isinstance(maker, ast.Call) else maker for maker in node.decorator_list)
            if {"kernel", "allocating_kernel", "generic"} & {maker.id for maker in makers if isinstance(maker, ast.Name)}:
                yield node


STANDING = set(re.findall(r"`(\w+)`", kernel.__doc__ or "")) | {"log"}
"""Arguments that mean the same in every kernel, as the docstring of the decorator says; that of `log` is a record's."""
UNITS = ("_us", "_ms", "_s", "_bps", "_kbps", "_bytes")


def record_names() -> set[str]:
    """Names of all classes and types of records as those of arguments, without State, one or several."""
    sources = [path.read_text(encoding="utf-8") for room in BUILDINGS for path in (HOME / room).rglob("*.py")]
    classes = {name.removesuffix("State") for source in sources for name in re.findall(r"^class (\w+)", source, re.MULTILINE)}
    one = {re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower() for name in classes}
    one |= {name.lower() for source in sources for name in re.findall(r"^([A-Z_]+) = np\.dtype", source, re.MULTILINE)}
    return one | {f"{name}s" for name in one} | {word for name in one for word in (name.partition("_")[2], f"{name.partition('_')[2]}s")}


def test_arguments_of_kernels_are_described_or_have_a_standing_name() -> None:
    known, kernels, undescribed = STANDING | record_names(), 0, []
    for path in sorted(path for room in BUILDINGS for path in (HOME / room).rglob("*.py")):
        for found in public_kernels(ast.parse(path.read_text(encoding="utf-8"))):
            names, docstring = [one.arg for one in found.args.args], ast.get_docstring(found) or ""
            if len(names) >= 4:
                kernels += 1
                missing = {name for name in names if not re.search(rf"\b{name.replace('_', '[_ ]')}", docstring)} - known
                missing -= {name for name in missing if name.endswith(UNITS) or name.removesuffix("_state") in known}
                undescribed += [f"{path.relative_to(HOME)}: {found.name}({name})" for name in sorted(missing)]
    assert kernels > 100 and undescribed == []


IMPORT = "import sys, vcgym.envs"
CALL = """import sys, gymnasium, vcgym.envs
env = gymnasium.make("vcgym/Call-v1", scenario="table1", packets=20)
env.reset(seed=1)
env.step(env.action_space.sample())"""
NETWORK = "import sys, vcgym.predictors.published as published; published.shipped_network()"


@pytest.mark.parametrize(
    ("done", "absent"),
    [
        (IMPORT, ("torch", "ray", "mlflow", "hydra")),
        (CALL, ("vcgym.baselines.rate", "vcgym.conference", "vcgym.live")),
        (NETWORK, ("torch", "sklearn", "mlflow", "hydra")),
    ],
    ids=["to import the environments", "to play a call without an uplink", "to read a network"],
)
def test_what_is_not_needed_is_not_loaded(tmp_path: Path, done: str, absent: tuple[str, ...]) -> None:
    answer = run(sys.executable, "-c", f"{done}\nprint([name for name in sys.modules if name.startswith({absent})])", cwd=tmp_path)
    assert answer.stdout.strip() == "[]", answer.stderr


def test_the_gym_works_without_a_stage_that_is_not_installed(tmp_path: Path) -> None:
    question = """
import sys
import vcgym.network.kernels.plugins as plugins
sys.modules["vcgym.conference"] = None
plugins.entry_points = lambda: plugins.EntryPoints()
from vcgym.baselines.controls.control import CONTROLS, Control
from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.evaluation.config import BoardConfig
from vcgym.leaderboard.evaluation.suites import KINDS, SUITES
from vcgym.scripts.leaderboard import draw_series, play_suite
assert list(CONTROLS) == list(Control) and len(load_systems(system_names())) > 50
assert "default" in SUITES and not {"conference", "conference-v0"} & {*KINDS, *SUITES}
try:
    BoardConfig(suite="conference-v0")
except ValueError:
    print("refused")
"""
    answer = run(sys.executable, "-c", question, cwd=tmp_path)
    assert answer.stdout.strip() == "refused", answer.stderr


def test_a_user_plays_trains_and_ranks_without_what_only_others_need(tmp_path: Path) -> None:
    extras = CONFIG["project"]["optional-dependencies"]
    named = [Requirement(line) for extra in ("user", *Requirement(extras["user"][0]).extras) for line in extras[extra]]
    absent = {"scikit-learn", "onnxruntime", "mlflow", "ray", "aiortc", "pettingzoo", "moviepy", "pytest"}
    assert not absent & {one.name for one in named}
    question = f"""
import sys
from pkgutil import resolve_name
from vcgym.scripts.console.program import VCGYM
sys.modules |= dict.fromkeys({sorted(absent - {"mlflow", "scikit-learn"})} + ["flask", "sklearn"])
for command in ("leaderboard", "train", "evaluate", "data"):
    resolve_name(VCGYM.commands[command].function)
"""
    answer = run(sys.executable, "-c", question, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
