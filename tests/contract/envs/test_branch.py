"""`branch` returns what playing its actions would return, and leaves an environment where it is."""

from zlib import crc32

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE, SENDERS
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from vcgym.envs import IDS

CALL = IDS["Call"]
TABLE1 = {"scenario": "table1", "packets": 1000}
CASES = [
    *((env_id, {"seconds": 4.0, "interval": 5} if env_id in SENDERS else {"packets": 1000}) for env_id in IDS.values()),
    *((env_id, ABSOLUTE[env_id] | ({"seconds": 1.0} if env_id in SENDERS else TABLE1 | {"packets": 200})) for env_id in IDS.values()),
    (CALL, TABLE1 | {"uplink": "rate"}),
    (CALL, TABLE1 | {"protection": None, "loss_run_slots": 3.0}),
    (IDS["Rate"], {"scenario": "order", "seconds": 4.0, "max_episode_steps": 6}),
]
SEED, BEFORE, SESSIONS, GAMMA = 9, 4, 3, 0.97
cases = pytest.mark.parametrize(("env_id", "arguments"), CASES, ids=str)


def made(env_id, arguments, mode=AutoresetMode.NEXT_STEP, **others):
    """A batch, reset, and BEFORE actions of its space."""
    env = gymnasium.make_vec(env_id, num_envs=SESSIONS, autoreset_mode=mode, **arguments, **others).unwrapped
    env.action_space.seed(4)
    actions = [env.action_space.sample() for _ in range(BEFORE)]
    return env, env.reset(seed=SEED)[0], actions


def under_way(*of_made, **others):
    """A batch after BEFORE decisions."""
    env, observations, actions = made(*of_made, **others)
    for action in actions:
        observations, *_ = env.step(action)
    return env, observations


def alternatives(env, number=4):
    return np.stack([env.action_space.sample() for _ in range(number)])


def bytes_of(env):
    """The state of a batch, its totals and counters, and what is observed."""
    arrays = *env.get_state().values(), *env.batch.totals(), *env._shown.values(), env.accounts.calls, env.accounts.senders
    return [array.tobytes() for array in arrays]


def choice_of(env):
    """A function from observations to actions, which depend on all that is observed."""
    choices = [env.single_action_space.sample() for _ in range(50)]
    return lambda observations: np.stack([choices[crc32(row.tobytes()) % 50] for row in observations])


def played(env, action, act, gamma):
    """The discounted sums of rewards of stepping a batch to the end of the episodes that run in it."""
    returns, running, weight = np.zeros(SESSIONS), np.ones(SESSIONS, bool), 1.0
    while running.any():
        observations, rewards, _, truncated, _ = env.step(action)
        returns[running] += weight * rewards[running]
        running, weight, action = running & ~truncated, weight * gamma, action if act is None else act(observations)
    return returns


@cases
@pytest.mark.parametrize("follows", [False, True], ids=["held", "policy"])
def test_a_branch_returns_what_an_episode_of_the_same_seed_does(env_id, arguments, follows):
    env, _ = under_way(env_id, arguments)
    act, gamma = (choice_of(env), GAMMA) if follows else (None, 1.0)
    actions, before = alternatives(env), bytes_of(env)
    returns = env.branch(actions, act, gamma)
    assert bytes_of(env) == before
    assert returns.dtype == np.float64
    assert follows or len(np.unique(returns, axis=0)) > 1
    for action, expected in zip(actions, returns, strict=True):
        np.testing.assert_array_equal(played(under_way(env_id, arguments)[0], action, act, gamma), expected)
    np.testing.assert_array_equal(played(env, actions[0], act, gamma), returns[0])  # and the batch itself goes on from there


@cases
def test_the_action_of_the_policy_has_the_return_of_the_policy(env_id, arguments):
    env, observations = under_way(env_id, arguments)
    act = choice_of(env)
    own = env.branch(act(observations)[None], act)[0]
    np.testing.assert_array_equal(own, played(env, act(observations), act, 1.0))


@pytest.mark.parametrize(("env_id", "arguments"), CASES[:-1], ids=str)
def test_a_call_alone_branches_as_in_a_batch_on_any_number_of_threads(env_id, arguments, monkeypatch):
    monkeypatch.setattr("vcgym.envs.call.shards.WORTH_CUTTING_S", 0.0)
    env, _, before = made(env_id, arguments)
    act, actions = choice_of(env), alternatives(env)
    returns = under_way(env_id, arguments)[0].branch(actions, act, GAMMA)
    np.testing.assert_array_equal(under_way(env_id, arguments, threads=2)[0].branch(actions, act, GAMMA), returns)
    for row in range(SESSIONS):
        alone = gymnasium.make(env_id, **arguments).unwrapped
        alone.reset(seed=SEED + row)
        for action in before:
            alone.step(action[row])
        np.testing.assert_array_equal(alone.branch(actions[:, row], act, GAMMA), returns[:, row])


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_session_counts_to_the_end_of_its_episode_in_each_mode(mode):
    arguments = TABLE1 | {"packets": 300}  # sessions end after different numbers of arrivals
    expected = under_way(IDS["Playout"], arguments)[0]
    env, _ = under_way(IDS["Playout"], arguments, mode)
    actions = alternatives(env)
    np.testing.assert_array_equal(env.branch(actions), expected.branch(actions))


def test_a_policy_with_a_memory_begins_anew_in_each_alternative():
    class Alternating:
        def predict(self, observation, state=None, episode_start=None, deterministic=False):
            assert deterministic and episode_start.all() == (state is None)
            state = 0 if state is None else state + 1
            return np.full(SESSIONS, state % 2), state

    env, _ = under_way(IDS["Relay"], TABLE1)
    twice = env.branch(np.ones((2, SESSIONS), np.int64), Alternating())
    np.testing.assert_array_equal(twice[0], twice[1])
    decisions = iter([0, 1] * 10)
    np.testing.assert_array_equal(twice[0], played(env, np.ones(SESSIONS, np.int64), lambda _: np.full(SESSIONS, next(decisions)), 1.0))


def test_a_policy_may_ask_the_environment():
    env, _ = under_way(IDS["SendOrder"], ABSOLUTE[IDS["SendOrder"]] | {"seconds": 1.0})
    actions = alternatives(env)
    returns = env.branch(actions, lambda _: np.argmin(env.action_masks(), axis=1))
    np.testing.assert_array_equal(played(env, actions[0], lambda _: np.argmin(env.action_masks(), axis=1), 1.0), returns[0])


def test_a_policy_that_fails_leaves_the_environment_where_it_was():
    env, _ = under_way(CALL, TABLE1)
    before = bytes_of(env)
    with pytest.raises(ValueError, match=r"action .*99.*: allowed are values of"):
        env.branch(alternatives(env), lambda _: np.full(SESSIONS, 99))
    assert bytes_of(env) == before


def test_errors():
    env = gymnasium.make_vec(CALL, num_envs=2, packets=100).unwrapped
    one = gymnasium.make(CALL, packets=100).unwrapped
    for batch, actions in ((env, [[0, 0]]), (one, [0])):
        with pytest.raises(ResetNeeded, match=r"sessions .* must be reset before they branch"):
            batch.branch(actions)
        batch.reset(seed=1)
    for wrong in (0, [0, 1], [[0, 1, 2]], np.zeros((0, 2), np.int64)):
        with pytest.raises(ValueError, match=r"actions of branch have shape .*: allowed is \(alternatives, 2\)"):
            env.branch(wrong)
    with pytest.raises(ValueError, match=r"actions of branch have shape \(1, 1\): allowed is \(alternatives\)"):
        one.branch([[0]])
    with pytest.raises(ValueError, match=r"action .*99.*: allowed are values of"):
        one.branch([0, 99])
    with pytest.raises(ValueError, match=r"gamma = 1.5: allowed are numbers from 0 to 1"):
        one.branch([0], gamma=1.5)
    one.branch([0])
    while not one.step(0)[3]:
        pass
    with pytest.raises(ResetNeeded, match=r"sessions \[0\] must be reset before they branch"):
        one.branch([0])
