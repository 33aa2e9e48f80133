"""A batch that plays on several threads is copied, and goes on in a forked process, as one without."""

import copy
import os

import gymnasium
import numpy as np
import pytest


@pytest.fixture
def under_way(monkeypatch):
    """A batch whose threads have worked, however short the work."""
    monkeypatch.setattr("vcgym.envs.call.shards.WORTH_CUTTING_S", 0.0)
    envs = gymnasium.make_vec("vcgym/Call-v1", num_envs=4, threads=2, packets=2000)
    envs.reset(seed=1)
    played(envs)
    assert envs.unwrapped.batch.shards._pool is not None
    return envs


def played(envs):
    return [envs.step(np.full(4, 3))[0].tobytes() for _ in range(12)]


def test_a_copy_goes_on_alike(under_way):
    copied = copy.deepcopy(under_way)
    assert played(copied) == played(under_way)
    assert copied.unwrapped.batch.shards._pool is not under_way.unwrapped.batch.shards._pool


@pytest.mark.parametrize("env_id", ["vcgym/Rate-v1", "vcgym/SendOrder-v1"])
def test_a_copy_of_senders_starts_new_calls_alike(env_id):
    """The worlds of a copy are copies too."""
    envs = gymnasium.make_vec(env_id, num_envs=2, scenario="calls", seconds=4.0)
    envs.reset(seed=1)
    copied = copy.deepcopy(envs)
    for one in (envs, copied):
        one.action_space.seed(0)
    found = [
        [one.reset(seed=2)[0].tobytes(), *(one.step(one.action_space.sample())[0].tobytes() for _ in range(3))] for one in (copied, envs)
    ]
    assert found[0] == found[1]


def test_a_forked_process_goes_on_alike(under_way):
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.write(writes, b"".join(played(under_way)))
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as said:
        assert said.read() == b"".join(played(under_way))
    assert os.waitpid(child, 0)[1] == 0
