"""Golden rollouts: one recorded call per environment; integers equal exactly, floats to 1e-9.

A change of dynamics fails here. If it is intended, ``python tests/golden/test_golden_rollouts.py`` regenerates the file, and the change log
states the reason.
"""

import hashlib
import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from vcgym.baselines.order.fifo import Fifo
from vcgym.envs import IDS
from vcgym.envs.environments.vector.sender import SenderVectorEnv
from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.paths import leo

GOLDEN = Path(__file__).with_name("rollouts.json")
WORLDS = [("wonderproxy", "correlated"), ("wonderproxy", "paper"), ("table1", "correlated"), ("table1", "paper"), ("leo", "replay")]
FORM = {"action": "discrete", "reward": "emodel"}
PATH_CASES = {
    f"{env_id} discrete {name} {mode}": (
        env_id, {"scenario": name, "mode": mode, "packets": 1100, "log": True, "interval": interval, **FORM}, {},
    )
    for env_id, interval in (("vcgym/Relay-v1", 10), ("vcgym/Playout-v1", 1), ("vcgym/Call-v1", 10))
    for name, mode in WORLDS
}  # fmt: skip
SENDER_CASES = {
    f"{env_id} discrete {kind}": (
        env_id,
        {"scenario": kind.split("/")[0], "seconds": 8.0, "log_packets": 4000, "action": "discrete", "interval": 1, **arguments},
        {"kind": kind.split("/")[1]},
    )
    for env_id, kinds, arguments in (
        ("vcgym/Rate-v1", ("rate/steps", "rate/cellular", "rate/cubic", "rate/wifi", "calls/mixed"), {}),
        (
            "vcgym/SendOrder-v1", ("order/rtt30-q5", "order/rtt150-q32", "order/loss2", "rate/wifi"),
            {"reward": "on_time", "send_queue": 5, "overflow": Fifo()},
        ),
    )
    for kind in kinds
}  # fmt: skip
UPLINK_CASES = {
    f"vcgym/Call-v1 discrete uplink {uplink}/{kind}": (
        "vcgym/Call-v1",
        {"uplink": uplink, "scenario": "table1", "mode": mode, "packets": 1100, "log": True, "interval": 10, **FORM},
        {"kind": kind},
    )
    for uplink, kind, mode in (
        ("rate", "steps", "correlated"), ("rate", "cubic", "paper"), ("rate", "wifi", "correlated"), ("order", "rtt80-q5", "correlated"),
        ("calls", "mixed", "correlated"),
    )
}  # fmt: skip
DEFAULT_CASES = {
    f"{env_id} {kind or 'wonderproxy'}": (env_id, arguments, {"kind": kind} if kind else {})
    for env_id, kind, arguments in (
        ("vcgym/Relay-v1", "", {"packets": 1100, "log": True}),
        ("vcgym/Playout-v1", "", {"packets": 1100, "log": True}),
        ("vcgym/Call-v1", "", {"packets": 1100, "log": True}),
        ("vcgym/Rate-v1", "cubic", {"seconds": 8.0, "log_packets": 4000, "interval": 10}),
        ("vcgym/Send-v1", "cubic", {"seconds": 8.0, "log_packets": 4000, "interval": 10}),
        ("vcgym/SendOrder-v1", "rtt80-q5", {"seconds": 8.0, "log_packets": 4000}),
    )
}
PROTECTED_CASES = {"vcgym/Call-v1 protection": ("vcgym/Call-v1", {"packets": 1100, "log": True, "protection": None}, {})}
CASES = PATH_CASES | SENDER_CASES | UPLINK_CASES | DEFAULT_CASES | PROTECTED_CASES


def series():
    """Five series by arithmetic alone: a level, a saw-tooth, spikes and missing replies."""
    slot, path = np.arange(9000), np.arange(5)[:, None]
    delays = 20_000 + 3_000 * path + 37 * (slot * (path + 3) % 211) + np.where(slot * (path + 7) % 401 < 3, 60_000, 0)
    return np.where(slot * (path + 5) % 97 == 0, LOST, delays).astype(np.int64)


def hash_of(*arrays):
    """SHA-256 of integers, whatever their width."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()


def rollout(env_id, arguments, options):
    """The outcome of one call under actions that depend on the step alone."""
    env = gymnasium.make_vec(env_id, num_envs=1, autoreset_mode=AutoresetMode.DISABLED, **arguments).unwrapped
    observation, _ = env.reset(seed=2024, options=options)
    space = env.single_action_space
    most = np.asarray(space.nvec if isinstance(space, gymnasium.spaces.MultiDiscrete) else space.n)
    truncated, step, observed, earned = np.array([False]), 0, 0.0, 0.0
    while not truncated.all():
        observed += float(observation.sum(dtype=np.float64))
        action = (step // 7 * np.array([5, 3, 7, 11])[: most.size] % most).reshape(env.action_space.shape)
        observation, reward, _, truncated, info = env.step(action)
        earned += reward[0]
        step += 1
    if isinstance(env, SenderVectorEnv):
        log = env.log(0)
        more = {"log": hash_of(*(log[name] for name in log.dtype.names))}
    else:
        played = env.played()
        parts = (played.path, played.arrived_us, played.emitted_us, played.flushed, played.played_us, played.windows)
        more = {"log": hash_of(*parts)} | {name: value[0].item() for name, value in played.totals._asdict().items()}
    outcomes = {f"outcome {name}": info[name][0].item() for name in sorted(info) if not name.startswith("_")}
    return {"steps": step, "observed": observed, "earned": earned} | more | outcomes


COMPILES_MUCH = tuple(case for case in CASES if case.endswith("calls/mixed"))  # all rules of background calls


@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.long] * (case in COMPILES_MUCH)) for case in CASES])
def test_rollouts_match_golden(case, monkeypatch):
    monkeypatch.setattr(leo, "measured", lambda data: (series(), "arithmetic"))
    expected = json.loads(GOLDEN.read_text())[case]
    seen = rollout(*CASES[case])
    assert {key: value for key, value in seen.items() if not isinstance(value, float)} == {
        key: value for key, value in expected.items() if not isinstance(value, float)
    }
    for key, value in expected.items():
        if isinstance(value, float):
            assert seen[key] == pytest.approx(value, rel=1e-5 if key == "observed" else 1e-9, abs=1e-9), key


def test_every_environment_has_a_golden_rollout():
    assert {case[0] for case in CASES.values()} == set(IDS.values())


if __name__ == "__main__":
    leo.measured = lambda data: (series(), "arithmetic")
    GOLDEN.write_text(json.dumps({case: rollout(*arguments) for case, arguments in CASES.items()}, indent=1) + "\n")
