"""The same seed gives the same bytes for any number and order of sessions, any number of threads, in any process, compiled or not."""

import hashlib
import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE, SENDERS
from gymnasium.vector import AutoresetMode
from typed import output_of

CALL = "vcgym/Call-v1"
SCRIPT = """
import json, runpy, sys
env_id, seeds, steps, digits, arguments = json.loads(sys.argv[2])
print(runpy.run_path(sys.argv[1])["play"](env_id, seeds, steps, digits=digits, **arguments))
"""


def _action(space, seed, step):
    """What session `seed` does at `step`, wherever it stands."""
    draws = np.random.Generator(np.random.Philox(key=[seed, step]))
    if isinstance(space, gymnasium.spaces.Box):
        return draws.uniform(-1.0, 1.0, space.shape).astype(np.float32)
    return draws.integers(0, space.nvec if isinstance(space, gymnasium.spaces.MultiDiscrete) else space.n)


def play(env_id, seeds, steps, threads=1, digits=None, **arguments):
    """Digest of all that each session shows, earns and logs, by seed; floats rounded to so many digits, or exact."""
    log = {"log_packets": 4000} if env_id in SENDERS else {"log": True}
    arguments = ABSOLUTE[env_id] | {**log, "threads": threads, "autoreset_mode": AutoresetMode.NEXT_STEP} | arguments
    env = gymnasium.make_vec(env_id, num_envs=len(seeds), **arguments).unwrapped
    observations, _ = env.reset(seed=list(seeds))
    rounded = (lambda values: values) if digits is None else (lambda values: np.round(values * 1.0, digits) + 0.0)
    digests = [hashlib.sha256(rounded(observations[row]).tobytes()) for row in range(len(seeds))]
    for step in range(steps):
        actions = np.array([_action(env.single_action_space, seed, step) for seed in seeds])
        observations, rewards, _, truncated, _ = env.step(actions)
        for row, digest in enumerate(digests):
            digest.update(rounded(observations[row]).tobytes() + rounded(rewards[row]).tobytes() + truncated[row].tobytes())
    for row, digest in enumerate(digests):
        if env_id in SENDERS:
            parts = [env.log(row), *(part[row] for part in env.batch.totals())]
        else:
            played = env.played()
            parts = played.path, played.arrived_us, played.emitted_us, played.flushed, played.played_us, played.windows, *played.totals
            parts = [rounded(part[row]) for part in parts]
        for part in parts:
            digest.update(part.tobytes())
    env.close()
    return {seed: digest.hexdigest() for seed, digest in zip(seeds, digests, strict=True)}


ORDERS = [  # more than one block of the world, and a second call after the first
    *(
        (env_id, {"packets": 530, "mode": mode, "scenario": "table1", "steps": 600 // ABSOLUTE[env_id]["interval"]})
        for env_id in ("vcgym/Relay-v1", "vcgym/Playout-v1", CALL) for mode in ("correlated", "paper")
    ),
    (CALL, {"packets": 130, "scenario": "table1", "uplink": "rate", "steps": 30}),
    *((env_id, {"seconds": 3.0, "steps": 60}) for env_id in SENDERS),
]  # fmt: skip


@pytest.mark.parametrize(("env_id", "settings"), ORDERS, ids=str)
def test_sessions_order_and_threads(env_id, settings):
    seeds = list(range(24))
    expected = play(env_id, seeds, **settings)
    assert len(set(expected.values())) == 24
    for alone in (0, 17, 23):
        assert play(env_id, [alone], **settings) == {alone: expected[alone]}
    shuffled = np.random.default_rng(0).permutation(24).tolist()
    assert play(env_id, shuffled, threads=2, **settings) == expected
    assert play(env_id, [14, 3, 22, 20, 8, 9, 1], threads=2, **settings).items() <= expected.items()


MANY = [pytest.param(128, 600, id="into a second block"), pytest.param(1024, 40, id="a thousand", marks=pytest.mark.long)]


@pytest.mark.parametrize(("sessions", "packets"), MANY)
def test_many_calls(sessions, packets):
    settings = {"packets": packets, "scenario": "table1", "steps": packets // 10 + 2}
    seeds = list(range(sessions))
    expected = play(CALL, seeds, **settings)
    assert play(CALL, seeds[::-1], threads=2, **settings) == expected
    for alone in (0, sessions // 2, sessions - 1):
        assert play(CALL, [alone], **settings) == {alone: expected[alone]}


def test_an_integer_seed_numbers_the_sessions():
    env = gymnasium.make_vec(CALL, num_envs=3, packets=40).unwrapped
    np.testing.assert_array_equal(env.reset(seed=5)[0], env.reset(seed=[5, 6, 7])[0])


def _elsewhere(python_path, *arguments, **variables):
    """What `play` returns in another process, as text."""
    return output_of(SCRIPT, __file__, json.dumps(arguments), PYTHONPATH=python_path(Path(__file__).parents[2]), **variables).strip()


@pytest.mark.long
def test_two_processes(path_env_id, python_path):
    expected = str(play(path_env_id, [21, 22], 40, packets=560))
    for _ in range(2):
        assert _elsewhere(python_path, path_env_id, [21, 22], 40, None, {"packets": 560}) == expected


@pytest.mark.long  # without the compiler, in a process of its own
@pytest.mark.parametrize(
    ("env_id", "steps", "arguments"),
    [
        (CALL, 7, {"packets": 60, "scenario": "table1", "uplink": "rate"}),
        (CALL, 7, {"packets": 60, "scenario": "table1", "protection": None, "loss_run_slots": 3.0}),
        *((env_id, 5, {"packets": 700, "scenario": "table1", "action": "relative_discrete"}) for env_id in (CALL, "vcgym/Relay-v1")),
        *((env_id, 12, {"seconds": 0.7}) for env_id in SENDERS),
    ],
)
def test_plain_python_does_the_same(env_id, steps, arguments, python_path):
    of_both = {_elsewhere(python_path, env_id, [3, 4], steps, 5, arguments, NUMBA_DISABLE_JIT=off) for off in ("0", "1")}
    assert len(of_both) == 1
