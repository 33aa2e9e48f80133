"""The disk cache of kernels cannot go stale: an edited callee shows in callers of other files, which numba alone would not notice."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOMS = ("network", "predictors", "baselines", "envs", "leaderboard/oracles")
HOME = Path(__file__).parents[2]

# The compiled caller, RulePolicy's loop, stands in baselines/policy.py; the rule is picked by type, the draw is called by the rule.
ASK = """
import json, sys
import numpy as np
from vcgym.baselines import policy
from vcgym.baselines.routers.random_path import RandomPath

seen = dict(records=np.zeros((1, 1, 8), np.int64), count=np.zeros(1, int), history=np.zeros((1, 9, 3)), key=np.ones(1, np.uint64))
acting, state, actions = policy.RulePolicy(RandomPath()), None, []
for slot in range(20):
    action, state = acting.predict(seen | {"slot": np.array([slot])}, state)
    actions.append(int(action[0]))
json.dump([policy.__file__, actions], sys.stdout)
"""


@pytest.fixture
def house(tmp_path):
    """The rooms that hold kernels, as one folder to import from."""
    for room in ROOMS:
        shutil.copytree(HOME / room, tmp_path / "vcgym" / room, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def ask(house, python_path):
    """Paths that a random router of the copied house takes, in a process of its own."""
    variables = os.environ | {"PYTHONPATH": python_path(house), "NUMBA_CACHE_DIR": str(house / "cache")}
    done = subprocess.run([sys.executable, "-c", ASK], cwd=house, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    module, actions = json.loads(done.stdout)
    assert Path(module).is_relative_to(house)
    return actions


def edit(path, old, new):
    source = path.read_text()
    assert source.count(old) == 1, f"{path.name} no longer holds {old!r} once"
    path.write_text(source.replace(old, new))


def test_an_edited_callee_shows_in_its_callers(house, python_path):
    before = ask(house, python_path)
    assert len(set(before)) > 1
    edit(house / "vcgym" / "network" / "rng.py", "np.float64(bits >> _S11) * _TO_UNIT", "0.5")
    assert set(ask(house, python_path)) == {4}  # of nine paths
    edit(house / "vcgym" / "baselines" / "random_path.py", "return int(uniform(state.key[s], slot) * state.paths[s])", "return 7")
    assert set(ask(house, python_path)) == {7}
