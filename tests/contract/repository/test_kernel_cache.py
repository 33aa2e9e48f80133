"""The disk cache of kernels: every relevant edit recompiles, including callers in other files, and no other edit does."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vcgym.network.kernels.compiling.sources import SOURCES, closure

pytestmark = pytest.mark.long  # starts processes, or compiles much that no other test needs

ROOMS = ("network", "predictors", "baselines", "envs")
HOME = Path(__file__).parents[3]

# The compiled caller, RulePolicy's loop, stands in baselines/policy.py; the rule is picked by type, the draw is called by the rule.
ASK = """
import json, sys
import numpy as np
from vcgym.baselines import policy
from {module} import RandomPath

seen = dict(records=np.zeros((1, 1, 8), np.int64), count=np.zeros(1, int), history=np.zeros((1, 9, 3)), key=np.ones(1, np.uint64))
acting, state, actions = policy.RulePolicy(RandomPath()), None, []
for slot in range(20):
    action, state = acting.predict(seen | {{"slot": np.array([slot])}}, state)
    actions.append(int(action[0]))
json.dump([policy.__file__, actions], sys.stdout)
"""
INSIDE, OUTSIDE = "vcgym.baselines.path.random_path", "my_rule"
CHOICE = "return int(uniform(state.key[s], slot_at(now_us)) * state.paths[s])"


class House:
    """A copy of the rooms that hold kernels, as one folder to import from, with a rule of its own outside them."""

    def __init__(self, folder, python_path):
        self.folder, self.cache = folder, folder / "cache"
        self.variables = os.environ | {"PYTHONPATH": python_path(folder), "NUMBA_CACHE_DIR": str(self.cache)}
        self.variables.pop("VCGYM_COMPILING", None)  # set where these tests have compiled something themselves
        for room in ROOMS:
            shutil.copytree(HOME / room, folder / "vcgym" / room, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(folder / "vcgym" / "baselines" / "path" / "random_path.py", folder / "my_rule.py")

    def ask(self, rule=INSIDE):
        """Paths that a random router takes, in a process of its own, and how many kernels that compiled."""
        before = self.compiled()
        command = [sys.executable, "-c", ASK.format(module=rule)]
        done = subprocess.run(command, cwd=self.folder, env=self.variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        self.said = done.stderr
        module, actions = json.loads(done.stdout)
        assert Path(module).is_relative_to(self.folder)
        return actions, len(self.compiled() - before)

    def compiled(self):
        return {path.relative_to(self.cache) for path in self.cache.rglob("*.nbc")}

    def edit(self, file, old, new):
        path = self.folder / file
        source = path.read_text()
        assert source.count(old) == 1, f"{file} no longer holds {old!r} once"
        path.write_text(source.replace(old, new))


@pytest.fixture
def house(tmp_path, python_path):
    return House(tmp_path, python_path)


def test_an_edit_shows_in_callers_of_other_files(house):
    before, compiled = house.ask()
    assert len(set(before)) > 1 and compiled > 0
    assert house.said.startswith("vcgym: compiling kernels, once") and house.said.count("\n") == 1
    assert house.ask() == (before, 0) and not house.said
    house.edit("vcgym/network/kernels/rng.py", "np.float64(bits >> _S11) * _TO_UNIT", "0.5")
    assert set(house.ask()[0]) == {4}  # of nine paths
    house.edit("vcgym/baselines/path/random_path.py", CHOICE, "return 7")
    assert set(house.ask()[0]) == {7}


def test_docstrings_comments_and_other_rules_compile_nothing(house):
    before, _ = house.ask()
    for path in (house.folder / "vcgym").rglob("*.py"):
        path.write_text(f'"""Another docstring\n\nof other length."""\n\n# a comment\n{path.read_text()}')
    house.edit("vcgym/baselines/path/random_path.py", f"    {CHOICE}", f'    """Return\n\n    a path."""\n    # at random\n    {CHOICE}')
    assert house.ask() == (before, 0)
    for rule in ("path/greedy.py", "playout/fixed_lag.py", "path/via.py"):
        path = house.folder / "vcgym" / "baselines" / rule
        path.write_text(path.read_text() + "\nEDITED = 1\n")
    assert house.ask() == (before, 0)


def test_an_edited_rule_from_outside_shows(house):
    before, _ = house.ask(OUTSIDE)
    assert house.ask(OUTSIDE) == (before, 0)
    house.edit("my_rule.py", CHOICE, "return 7")
    assert set(house.ask(OUTSIDE)[0]) == {7}


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b""), halve, flip_a_bit])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_spoiled_cache_is_compiled_anew_and_named_once(house, spoil, ending):
    before, _ = house.ask()
    for path in house.cache.rglob(f"*.{ending}"):
        spoil(path)
    assert house.ask()[0] == before
    assert house.said.count(f"compiled code in {house.cache / 'kernels'} is broken") == (spoil is not Path.unlink)
    assert house.ask() == (before, 0) and house.said == ""


def test_a_cache_that_cannot_be_kept_is_named_once(house):
    house.cache.write_text("a file where the folder should be")
    before, compiled = house.ask()
    assert len(set(before)) > 1 and compiled == 0
    assert house.said.count(f"compiled code in {house.cache / 'kernels'} ") == 1 and "Not a directory; work goes on" in house.said


def test_numbas_own_compiler_gives_the_same_and_keeps_nothing(house):
    before, _ = house.ask()
    house.variables |= {"NUMBA_CACHE_DIR": str(house.folder / "unused"), "VCGYM_COMPILER": "numba"}
    assert house.ask() == (before, 0) and house.said == ""
    assert not list((house.folder / "unused" / "kernels").glob("*"))


def test_another_version_of_numba_is_named_once_and_gives_the_same(house):
    before, _ = house.ask()
    (house.folder / "sitecustomize.py").write_text("import numba\nnumba.__version__ = '9.1.0'\n")
    house.variables["NUMBA_CACHE_DIR"] = str(house.folder / "unused")
    assert house.ask() == (before, 0)
    assert house.said.startswith("vcgym: numba 9.1.0: kernels are compiled anew") and house.said.count("\n") == 1


def test_every_version_stands_where_the_cache_looks():
    """A caller is compiled anew if the module of a class, or one that the caller imports, has changed: no version may stand elsewhere."""
    rooms = tuple(f"vcgym.{room}." for room in ROOMS)
    modules = [importlib.import_module(name) for name in sorted(SOURCES) if name.startswith(rooms)]
    generics = {id(one): one for module in modules for one in vars(module).values() if hasattr(one, "versions")}
    assert len(generics) > 10
    for generic in generics.values():
        for cls, version in generic.versions.items():
            assert version.__module__ in closure([cls.__module__, generic.__module__]), (generic, cls)
