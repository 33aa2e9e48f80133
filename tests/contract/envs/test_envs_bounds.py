"""A state whose indices lie outside their arrays is refused before compiled code sees it."""

import gymnasium
import numpy as np
import pytest

import vcgym.envs  # noqa: F401


@pytest.fixture(scope="module")
def env():
    env = gymnasium.make_vec("vcgym/Call-v0", num_envs=2, packets=300)
    env.reset(seed=3)
    env.action_space.seed(1)
    for _ in range(10):
        env.step(env.action_space.sample())
    return env.unwrapped


def place(calls, name):
    for part in name.split("."):
        calls = calls[part]
    return calls


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("in_flight.next_node", 8192), ("in_flight.head", -2), ("in_flight.path", 17), ("waiting_node", 10**9), ("probe_turn", -1),
        ("block", 10**6), ("counters.window", 10**6), ("counters.last_path", 17), ("to_sender.in_force", 17), ("to_sender.value", -1),
        ("packets", 301), ("slot", -1), ("feed.read", -(10**9)), ("phase", 4), ("interval", 0),
    ],
)  # fmt: skip
def test_an_index_out_of_range_is_refused_by_name(env, name, value):
    state = env.get_state()
    calls = state["calls"].view(env.batch.calls.dtype).copy()
    place(calls, name)[...] = value
    with pytest.raises(ValueError, match=rf"{name.replace('.', '[.]')} is -?[0-9]+; allowed: "):
        env.set_state(state | {"calls": calls.view(np.uint8).reshape(state["calls"].shape)})


def test_packets_that_follow_each_other_in_a_ring_are_refused(env):
    state = env.get_state()
    calls = state["calls"].view(env.batch.calls.dtype).copy()
    calls["in_flight"]["head"][0, 5], calls["in_flight"]["next_node"][0, 7], calls["in_flight"]["next_node"][0, 8] = 7, 8, 7
    with pytest.raises(ValueError, match="follow each other in a ring"):
        env.set_state(state | {"calls": calls.view(np.uint8).reshape(state["calls"].shape)})
    env.set_state(state)
