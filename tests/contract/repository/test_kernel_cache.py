"""The disk cache of kernels: every relevant edit recompiles, including callers in other files, and no other edit does."""

import fcntl
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import lab
from vcgym.network.kernels.compiling.disk_cache import Turns
from vcgym.network.kernels.compiling.sources import SOURCES, cache_home, closure

pytestmark = pytest.mark.long  # starts processes, or compiles much that no other test needs

ROOMS = ("network", "predictors", "baselines", "envs")
HOME = Path(__file__).parents[3]

# The compiled caller, RulePolicy's loop, stands in baselines/policy.py; the rule is picked by type, the draw is called by the rule.
ASK = """
import json, sys
import numpy as np
from numba.core.event import install_recorder
from vcgym.baselines import policy
from {module} import RandomPath

seen = dict(records=np.zeros((1, 1, 8), np.int64), count=np.zeros(1, int), history=np.zeros((1, 9, 3)), key=np.ones(1, np.uint64))
acting, state, actions = policy.RulePolicy(RandomPath()), None, []
with install_recorder("numba:compile") as events:
    for slot in range(20):
        action, state = acting.predict(seen | {{"slot": np.array([slot])}}, state)
        actions.append(int(action[0]))
json.dump([policy.__file__, actions, sum(event.is_start for _, event in events.buffer)], sys.stdout)
"""
INSIDE, OUTSIDE = "vcgym.baselines.path.random_path", "my_rule"
CHOICE = "return int(uniform(call.key, slot_at(now_us)) * call.paths)"


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
        ((actions, _),) = self.ask_at_once(1, rule)
        return actions, len(self.compiled() - before)

    def ask_at_once(self, processes, rule=INSIDE):
        """For each of some processes at one time: the paths, and how many functions it compiled itself."""
        command = [sys.executable, "-c", ASK.format(module=rule)]
        asked = [
            subprocess.Popen(command, cwd=self.folder, env=self.variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(processes)
        ]
        answers = []
        for process in asked:
            answer, self.said = process.communicate()
            assert process.returncode == 0, self.said
            module, actions, compiled = json.loads(answer)
            assert Path(module).is_relative_to(self.folder)
            answers.append((actions, compiled))
        return answers

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


def test_processes_that_start_together_share_the_work(house):
    ((alone, all_of_it),) = house.ask_at_once(1)
    shutil.rmtree(house.cache)
    answers = house.ask_at_once(3)
    assert [actions for actions, _ in answers] == [alone] * 3
    assert sum(compiled for _, compiled in answers) < 1.5 * all_of_it, answers  # functions that no disk cache keeps are compiled by each
    assert not list(house.cache.rglob("*.lock"))
    assert house.ask() == (alone, 0) and not house.said


def test_docstrings_comments_and_other_rules_compile_nothing(house):
    before, _ = house.ask()
    for path in (house.folder / "vcgym").rglob("*.py"):
        path.write_text(f'"""Another docstring\n\nof other length."""\n\n# a comment\n{path.read_text()}')
    house.edit(
        "vcgym/baselines/path/random_path.py",
        f"        {CHOICE}",
        f'        """Return\n\n        a path."""\n        # at random\n        {CHOICE}',
    )
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


def test_a_turn_ends_with_an_error_and_is_not_waited_for_without_end(tmp_path, monkeypatch):
    path, turns = tmp_path / "kernels" / "one.lock", Turns()

    def fail(signature):
        turns.take(path)
        assert path.exists()
        raise TypeError(signature)

    for _ in range(2):  # the second would wait if the first still held the turn
        with pytest.raises(TypeError, match="int64"):
            turns.giving_back(fail)("int64")
    path.touch()
    monkeypatch.setattr("vcgym.network.kernels.compiling.disk_cache.MAX_WAIT_S", 0.2)
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        start = time.monotonic()
        assert turns.giving_back(turns.take)(path) is None
    assert 0.2 <= time.monotonic() - start < 30


def test_a_turn_that_cannot_be_taken_is_done_without(tmp_path):
    (tmp_path / "file").touch()
    assert Turns().giving_back(Turns().take)(tmp_path / "file" / "one.lock") is None


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


@pytest.mark.parametrize(
    ("variables", "at_start"),
    [
        ({"VCGYM_COMPILER": "numba"}, ""),
        ({}, "import numba\nnumba.__version__ = '9.1.0'\n"),
        # a class lacks names that the lean compiler needs
        ({}, "import numba, numba.core.codegen as gen\ngen.JITCodeLibrary = gen.CodeLibrary\n"),
    ],
)
def test_numbas_own_compiler_and_another_version_give_the_same_and_keep_it(house, variables, at_start):
    before, _ = house.ask()
    house.variables |= variables
    (house.folder / "sitecustomize.py").write_text(at_start)
    assert house.ask()[0] == before and house.said
    assert house.ask() == (before, 0) and house.said == ""


def test_every_version_stands_where_the_cache_looks():
    """A caller is compiled anew if the module of a class, or one that the caller imports, has changed: no version may stand elsewhere."""
    rooms = tuple(f"vcgym.{room}." for room in ROOMS)
    of_lab = [module.name for module in pkgutil.walk_packages(lab.__path__, "lab.") if not module.name.endswith("__main__")]
    modules = [importlib.import_module(name) for name in [*filter(lambda name: name.startswith(rooms), sorted(SOURCES)), *of_lab]]
    generics = {id(one): one for module in modules for one in vars(module).values() if hasattr(one, "versions")}
    assert len(generics) > 10 and any(cls.__module__.startswith("lab.") for one in generics.values() for cls in one.versions)
    for generic in generics.values():
        for cls, version in generic.versions.items():
            assert version.__module__ in closure([cls.__module__, generic.__module__]), (generic, cls)


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/vcgym"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/big"}, "/big/vcgym"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": ""}, "/home/me/.cache/vcgym"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "cache"}, "/home/me/.cache/vcgym"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "."}, "/home/me/.cache/vcgym"),
        ({"HOME": "/home/me", "NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": "/big"}, "/big/vcgym"),
        ({"NUMBA_CACHE_DIR": "/chosen", "XDG_CACHE_HOME": "/big"}, "/chosen"),
        ({}, "/account/.cache/vcgym"),
        ({"HOME": ""}, "/account/.cache/vcgym"),
        ({"HOME": "me", "XDG_CACHE_HOME": "~/cache"}, "/account/.cache/vcgym"),
    ],
)
def test_the_folder_of_the_cache_is_never_the_working_folder_by_an_empty_or_relative_value(monkeypatch, variables, wanted):
    for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda user: SimpleNamespace(pw_dir="/account"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_home() == Path(wanted)


def test_a_user_without_a_home_keeps_nothing_and_plays(tmp_path):
    start = "import os, pwd\nos.getuid = lambda: 4_000_000_000\n"
    variables = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")}
    play = "from vcgym.baselines.path.direct import Direct\nfrom vcgym.baselines.rule import allocate, init\nallocate(Direct(), 1, 2)\n"
    command = [sys.executable, "-c", f"{start}from vcgym.network.kernels.compiling.sources import cache_home\nprint(cache_home())\n{play}"]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "/dev/null/.cache/vcgym" and not list(tmp_path.iterdir())
