"""The same seed gives the same bytes for any number and order of sessions, any number of threads, in any process."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium.vector import AutoresetMode

SCRIPT = "import runpy, sys; print(runpy.run_path(sys.argv[1])['play'](sys.argv[2], [21, 22], 40, packets=560))"


def _action(space, seed, step):
    """What session `seed` does at `step`, wherever it stands."""
    draws = np.random.Generator(np.random.Philox(key=[seed, step]))
    return draws.integers(0, space.nvec if isinstance(space, gymnasium.spaces.MultiDiscrete) else space.n)


def play(env_id, seeds, steps, threads=1, **arguments):
    """Digest of all that each session shows, earns and logs, by seed."""
    arguments = ABSOLUTE[env_id] | {"log": True, "threads": threads, "autoreset_mode": AutoresetMode.NEXT_STEP} | arguments
    env = gymnasium.make_vec(env_id, num_envs=len(seeds), **arguments).unwrapped
    observations, _ = env.reset(seed=list(seeds))
    digests = [hashlib.sha256(observations[row].tobytes()) for row in range(len(seeds))]
    for step in range(steps):
        actions = np.array([_action(env.single_action_space, seed, step) for seed in seeds])
        observations, rewards, _, truncated, _ = env.step(actions)
        for row, digest in enumerate(digests):
            digest.update(observations[row].tobytes() + rewards[row].tobytes() + truncated[row].tobytes())
    played = env.played()
    for row, digest in enumerate(digests):
        for part in (played.path, played.arrived_us, played.emitted_us, played.flushed, played.played_us, played.windows, *played.totals):
            digest.update(part[row].tobytes())
    env.close()
    return {seed: digest.hexdigest() for seed, digest in zip(seeds, digests, strict=True)}


@pytest.mark.parametrize("mode", ["correlated", "paper"])
def test_sessions_order_and_threads(path_env_id, mode):
    """More than one block, and a second call after the first."""
    steps = 600 // ABSOLUTE[path_env_id]["interval"]
    settings = {"packets": 530, "mode": mode, "scenario": "table1", "steps": steps}
    seeds = list(range(24))
    expected = play(path_env_id, seeds, **settings)
    assert len(set(expected.values())) == 24
    for alone in (0, 17, 23):
        assert play(path_env_id, [alone], **settings) == {alone: expected[alone]}
    shuffled = np.random.default_rng(0).permutation(24).tolist()
    assert play(path_env_id, shuffled, threads=2, **settings) == expected
    assert play(path_env_id, [14, 3, 22, 20, 8, 9, 1], threads=2, **settings).items() <= expected.items()


MANY = [pytest.param(128, 600, id="into a second block"), pytest.param(1024, 40, id="a thousand", marks=pytest.mark.long)]


@pytest.mark.parametrize(("sessions", "packets"), MANY)
def test_many_calls(sessions, packets):
    settings = {"packets": packets, "scenario": "table1", "steps": packets // 10 + 2}
    seeds = list(range(sessions))
    expected = play("vcgym/Call-v1", seeds, **settings)
    assert play("vcgym/Call-v1", seeds[::-1], threads=2, **settings) == expected
    for alone in (0, sessions // 2, sessions - 1):
        assert play("vcgym/Call-v1", [alone], **settings) == {alone: expected[alone]}


def test_an_integer_seed_numbers_the_sessions():
    env = gymnasium.make_vec("vcgym/Call-v1", num_envs=3, packets=40).unwrapped
    np.testing.assert_array_equal(env.reset(seed=5)[0], env.reset(seed=[5, 6, 7])[0])


@pytest.mark.long
def test_two_processes(path_env_id, python_path):
    expected = str(play(path_env_id, [21, 22], 40, packets=560))
    for _ in range(2):
        command = [sys.executable, "-c", SCRIPT, __file__, path_env_id]
        environment = os.environ | {"PYTHONPATH": python_path(Path(__file__).parents[2])}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert done.stdout.strip() == expected
