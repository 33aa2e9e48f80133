"""One call per environment and mode, as it came out once: integers exactly, floats to 1e-9.

A change of dynamics shows here. If it is meant, ``python tests/golden/test_golden_rollouts.py`` writes the file anew, and the change log
says why.
"""

import hashlib
import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.network.scenarios import leo
from vcgym.network.world import LOST

GOLDEN = Path(__file__).with_name("rollouts.json")
WORLDS = [("wonderproxy", "correlated"), ("wonderproxy", "paper"), ("table1", "correlated"), ("table1", "paper"), ("leo", "replay")]


def series():
    """Five series by arithmetic alone: a level, a saw-tooth, spikes and missing replies."""
    slot, path = np.arange(9000), np.arange(5)[:, None]
    delays = 20_000 + 3_000 * path + 37 * (slot * (path + 3) % 211) + np.where(slot * (path + 7) % 401 < 3, 60_000, 0)
    return np.where(slot * (path + 5) % 97 == 0, LOST, delays).astype(np.int64)


def rollout(env_id, name, mode):
    """The outcome of one call under actions that depend on the step alone."""
    env = gymnasium.make_vec(
        env_id, num_envs=1, scenario=name, mode=mode, packets=1100, log=True, autoreset_mode=AutoresetMode.DISABLED
    ).unwrapped  # fmt: skip
    env.reset(seed=2024)
    most = np.asarray(env.single_action_space.nvec if env_id == "vcgym/Call-v0" else env.single_action_space.n)
    truncated, step = np.array([False]), 0
    while not truncated.all():
        _, _, _, truncated, _ = env.step((step // 7 * np.array([5, 3])[: most.size] % most).reshape(env.action_space.shape))
        step += 1
    played = env.played()
    log = hashlib.sha256()
    for part in (played.path, played.arrived_us, played.emitted_us, played.flushed, played.played_us, played.windows):
        log.update(part.astype("<i8").tobytes())
    totals = {name: value[0].item() for name, value in played.totals._asdict().items()}
    return {"steps": step, "log": log.hexdigest()} | totals


@pytest.mark.parametrize(("name", "mode"), WORLDS)
def test_nothing_has_moved(path_env_id, name, mode, monkeypatch):
    monkeypatch.setattr(leo, "measured", lambda data: (series(), "arithmetic"))
    expected = json.loads(GOLDEN.read_text())[f"{path_env_id} {name} {mode}"]
    seen = rollout(path_env_id, name, mode)
    assert {key: value for key, value in seen.items() if not isinstance(value, float)} == {
        key: value for key, value in expected.items() if not isinstance(value, float)
    }
    for key, value in expected.items():
        if isinstance(value, float):
            assert seen[key] == pytest.approx(value, rel=1e-9, abs=1e-9), key


if __name__ == "__main__":
    leo.measured = lambda data: (series(), "arithmetic")
    ids = [name for name in gymnasium.registry if name.startswith("vcgym/")]
    outcomes = {f"{env_id} {name} {mode}": rollout(env_id, name, mode) for env_id in ids for name, mode in WORLDS}
    GOLDEN.write_text(json.dumps(outcomes, indent=1) + "\n")
