"""A state saved at any step and restored in a fresh environment continues identically."""

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE, SENDERS
from gymnasium.vector import AutoresetMode
from untrained import random_network

from vcgym.baselines.order.fifo import Fifo
from vcgym.envs import IDS

CALL, RATE, ORDER, _ = "vcgym/Call-v1", *SENDERS
PATHS = [env_id for env_id in IDS.values() if env_id not in SENDERS]
MODES = [("wonderproxy", "correlated"), ("table1", "paper")]
UPLINK = {"uplink": "rate", "num_envs": 2, "packets": 130, "scenario": "table1"}
NETWORK, OTHER_NETWORK = ({"predictor": random_network(seed)} for seed in (3, 4))
STOPS = (0, 7, 31, 95)  # before the first step, in the first block, in a following call, in another block


def _make(env_id, absolute=True, **arguments):
    length = {"seconds": 1.5} if env_id in SENDERS else {"packets": 550, "log": True}
    settings = {"num_envs": 3, "autoreset_mode": AutoresetMode.SAME_STEP} | length
    return gymnasium.make_vec(env_id, **(ABSOLUTE[env_id] if absolute else {}) | settings | arguments).unwrapped


def _play(env, actions):
    shown = []
    for action in actions:
        observations, rewards, _, truncated, infos = env.step(action)
        parts = observations.values() if isinstance(observations, dict) else [observations]
        shown.append((*(part.tobytes() for part in parts), rewards.tobytes(), truncated.tobytes(), repr(infos)))
    return shown


@pytest.mark.parametrize(
    ("env_id", "arguments"),
    [
        *(
            (env_id, {"scenario": scenario, "mode": mode, "observation": observation, "reward": "event" if mode == "paper" else "emodel"})
            for env_id in PATHS for scenario, mode in MODES for observation in ("features", "records")
        ),
        *((env_id, {"absolute": False} | ({"seconds": 7.5} if env_id in SENDERS else {"packets": 1650})) for env_id in IDS.values()),
        *((env_id, {"action": "relative", "packets": 900}) for env_id in PATHS),
        (CALL, UPLINK), pytest.param(CALL, NETWORK, id="forecast"),
        pytest.param(CALL, UPLINK | {"uplink": "calls", "observation": "records"}, marks=pytest.mark.long),
        (CALL, {"absolute": False, "scenario": "table1", "loss_run_slots": 3.0, "protection": None, "packets": 1500}),
        *(
            pytest.param(
                env_id, {"observation": observation, "scenario": scenario} | ({"seconds": 2.5} if scenario == "calls" else {}),
                marks=[pytest.mark.long] * (scenario == "calls"),
            )
            for env_id in SENDERS for observation in ("features", "dict") for scenario in ("order", "rate", "calls")
        ),
        (RATE, {"features": "intervals"}),
    ],
    ids=str,
)  # fmt: skip
def test_stop_and_go_on(env_id, arguments):
    whole = _make(env_id, **arguments)
    whole.reset(seed=9)
    whole.action_space.seed(4)
    actions = [whole.action_space.sample() for _ in range(120)]
    states, shown = {}, []
    for step, action in enumerate(actions):
        if step in STOPS:
            states[step] = whole.get_state()
        shown += _play(whole, [action])
    for step, state in states.items():
        assert all(isinstance(value, np.ndarray) and value.dtype.kind in "biuf" for value in state.values())  # plain: goes into any file
        other = _make(env_id, **arguments)
        other.set_state(state)
        assert _play(other, actions[step:]) == shown[step:]
        assert all(a.tobytes() == b.tobytes() for a, b in zip(other.batch.totals(), whole.batch.totals(), strict=True))
    if env_id == RATE and arguments.get("scenario") == "calls":
        assert sum(whole.batch.tables.others.senders["packets"]) > 100


def test_a_state_is_a_copy():
    env = _make("vcgym/Call-v1")
    env.reset(seed=9)
    state = env.get_state()
    kept = {name: value.copy() for name, value in state.items()}
    env.action_space.seed(4)
    _play(env, [env.action_space.sample() for _ in range(10)])
    assert all(state[name].tobytes() == kept[name].tobytes() for name in state)


def test_before_the_first_reset():
    env, other = _make("vcgym/Call-v1"), _make("vcgym/Call-v1")
    other.reset(seed=1)
    other.set_state(env.get_state())
    assert not other.has_begun


def test_a_masked_reset_after_going_on():
    env = _make("vcgym/Playout-v1", autoreset_mode=AutoresetMode.DISABLED)
    other = _make("vcgym/Playout-v1", autoreset_mode=AutoresetMode.DISABLED)
    observations, _ = env.reset(seed=2)
    other.set_state(env.get_state())
    again, _ = other.reset(seed=[5, None, None], options={"reset_mask": np.array([True, False, False])})
    np.testing.assert_array_equal(again[1:], observations[1:])


def test_worlds_drawn_after_going_on_are_the_same():
    env, other = _make("vcgym/Call-v1"), _make("vcgym/Call-v1")
    env.reset(seed=2)
    other.set_state(env.get_state())
    np.testing.assert_array_equal(env.reset()[0], other.reset()[0])


@pytest.mark.parametrize(
    ("env_id", "arguments", "other_id", "others"),
    [
        (CALL, {}, "vcgym/Relay-v1", {}),
        (CALL, {}, "vcgym/Playout-v1", {}),
        *(
            (CALL, {}, CALL, others)
            for others in (
                {"packets": 500}, {"num_envs": 2}, {"scenario": "table1"}, {"mode": "paper"}, {"observation": "records"},
                {"split": "validation"}, {"reward": "event"}, {"location": "sender"}, {"interval": 5},
            )
        ),
        *((CALL, UPLINK, CALL, UPLINK | others) for others in ({"uplink": "order"}, {"uplink": None}, {"pacing": 0.0}, {"order": Fifo()})),
        pytest.param(CALL, NETWORK, CALL, OTHER_NETWORK, id="forecast"),
        (RATE, {}, RATE, {"seconds": 2.0}),
        (ORDER, {}, ORDER, {"seconds": 2.0}),
    ],
    ids=str,
)  # fmt: skip
def test_the_state_of_another_env_is_refused(env_id, arguments, other_id, others):
    env, other = _make(env_id, **arguments), _make(other_id, **others)
    env.reset(seed=1)
    other.reset(seed=1)
    before = other.get_state()
    networks = r".*Network [0-9a-f]{64}, .*; allowed: .*Network [0-9a-f]{64}" if "predictor" in arguments else ""
    with pytest.raises(ValueError, match=f"state of another env: {networks}"):
        other.set_state(env.get_state())
    damaged = env.get_state()
    del damaged["steps"]
    with pytest.raises(ValueError, match=r"state of another env: arrays \['steps'\] do not match"):
        env.set_state(damaged)
    after = other.get_state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


@pytest.mark.parametrize(
    ("name", "at", "value", "message"),
    [
        ("steps", 1, -1, "steps is -1; allowed: 0 to 5"),
        ("steps", 1, 6, "steps is 6; allowed: 0 to 5"),
        ("episodes", 1, -2, "episodes is -2; allowed: -1 to"),
        ("episodes", 1, -1, "steps is 5; allowed: 0 to 0"),
        ("episodes", 1, 2**63 - 1, "episodes is 9223372036854775807; allowed"),
        ("decisions", (3, 1), 10**9, r"(?s)action .*: allowed are values of"),
        ("generator", 0, ord("-"), "generator is .*; allowed: two whole numbers of 128 bits"),
        ("options", 0, ord("x"), "options is 'x.*'; allowed: pair, stratum, kind, with tabs between"),
        ("options", 0, ord("\n"), "options has 4 lines; allowed: 3"),
    ],
)  # fmt: skip
def test_a_forged_state_is_refused(name, at, value, message):
    env = _make("vcgym/Call-v1")
    env.reset(seed=1)
    env.action_space.seed(4)
    _play(env, [env.action_space.sample() for _ in range(5)])
    state = env.get_state()
    state[name][at] = value
    with pytest.raises(ValueError, match=message):
        env.set_state(state)


def test_more_decisions_than_a_call_has_are_refused_and_the_env_must_be_reset():
    env = _make("vcgym/Relay-v1", packets=100, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=1)
    _play(env, [env.action_space.sample() for _ in range(5)])
    state = env.get_state()
    state["decisions"] = np.repeat(state["decisions"], 5, axis=0)
    state["steps"][2] = 25
    with pytest.raises(ValueError, match=r"steps\[2\] is 25; allowed: 0 to 1[0-9], when the call is done"):
        env.set_state(state)
    assert not env.has_begun


def test_options_of_a_reset_are_restored():
    env, other = _make("vcgym/Call-v1"), _make("vcgym/Call-v1")
    _, infos = env.reset(seed=2)
    env.reset(seed=8, options={"pair": infos["pair"][0], "reset_mask": np.array([False, True, False])})
    env.action_space.seed(4)
    actions = [env.action_space.sample() for _ in range(20)]
    _play(env, actions[:10])
    other.set_state(env.get_state())
    assert _play(other, actions[10:]) == _play(env, actions[10:])
    assert [draw.pair for draw in other.batch.draws] == [draw.pair for draw in env.batch.draws]
