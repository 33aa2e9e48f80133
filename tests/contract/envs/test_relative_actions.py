"""Relative actions, each of which is equivalent to an absolute one, and decisions that hold."""

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from vcgym.envs.call.features.path import PATH
from vcgym.envs.environments.vector.actions import HEADROOMS_US

WINDOW_US = 2_000_000
LEVELS = len(HEADROOMS_US)


def make(env_id, sessions=3, **arguments):
    settings = {"packets": 900, "autoreset_mode": AutoresetMode.SAME_STEP, "action": "relative"}
    return gymnasium.make_vec(env_id, num_envs=sessions, **ABSOLUTE[env_id] | settings | arguments).unwrapped


class SlowHeadroom:
    """Lag of one call from headrooms: all packets are kept, in plain Python."""

    def __init__(self):
        self.delays, self.newest, self.newest_delay = [], -1, 0
        self.arrived = self.target = self.playout = 0

    def lag_us(self, sent, arrived, headroom):
        delay = arrived - sent
        pace = (arrived - self.arrived) / 10
        drawn = min(max(self.target, self.playout - pace), self.playout + pace)
        self.arrived = arrived
        is_newest = sent > self.newest
        if is_newest:
            drawn = max(drawn, delay)
        if drawn > self.target + 1_000_000:
            drawn = max(self.target, delay)
        if is_newest:
            self.newest, self.newest_delay = sent, delay
        self.playout, self.target = drawn, self.newest_delay + headroom
        smallest = self._smallest(delay)
        return max(0, round(max(self.playout, self.target)) - smallest)

    def _smallest(self, delay):
        """Return the smallest delay of this packet and those before it, each entered when the next one came."""
        if self.delays:
            self.delays[-1][0] = self.newest
        kept = [before for entered, before in self.delays if entered >= self.newest - WINDOW_US]
        self.delays.append([self.newest, delay])
        return min([delay, *kept])


def test_behind_an_uplink_rate_and_order_stand_as_ever():
    env = make("vcgym/Call-v1", scenario="table1", uplink="rate")
    assert env.single_action_space.nvec[1:].tolist() == [len(HEADROOMS_US), 32, 3]
    assert list(env.layout.parts) == ["slots", "call", "sender"]


def assert_alike(one, other, draw, steps=30):
    """Two environments earn and, where their observations are alike, show the same for pairs of actions; `draw` makes a pair."""
    one.reset(seed=5), other.reset(seed=5)
    is_shown = one.single_observation_space == other.single_observation_space
    for _ in range(steps):
        played = [env.step(action) for env, action in zip((one, other), draw(), strict=True)]
        for mine, theirs in zip(*(step[0 if is_shown else 1 : 4] for step in played), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_one_number_stands_for_path_and_headroom():
    joint, columns = make("vcgym/Call-v1", action="relative_discrete"), make("vcgym/Call-v1")
    assert joint.single_action_space == spaces.Discrete(columns.single_action_space.nvec.prod())
    joint.action_space.seed(5)

    def draw():
        action = joint.action_space.sample()
        return action, np.stack([action // LEVELS, action % LEVELS], axis=1)

    assert_alike(joint, columns, draw)


def test_the_ends_of_a_box_are_the_ends_of_the_levels():
    draws = np.random.default_rng(5)

    def draw():
        ends = draws.integers(2, size=(3, 2))
        return np.where(ends, 1.0, -1.0).astype(np.float32), ends * [1, LEVELS - 1]

    assert_alike(make("vcgym/Call-v1", action="relative_continuous"), make("vcgym/Call-v1"), draw)


@pytest.mark.parametrize("mode", ["correlated", "paper"])
def test_a_slot_stands_for_its_path(mode):
    relative, absolute = make("vcgym/Relay-v1", mode=mode), make("vcgym/Relay-v1", mode=mode, action="discrete")
    relative.action_space.seed(2)
    taken = set()

    def draw():
        slots = relative.action_space.sample()
        paths = relative.slots.order[np.arange(3), slots]
        taken.update(paths.tolist())
        return slots, paths

    assert_alike(relative, absolute, draw, 200)
    assert len(taken) > 3


def test_slots_hold_the_path_in_use_and_then_the_best_others():
    env = make("vcgym/Relay-v1")
    env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(60):
        for rows, order in zip(env.slots.paths.astype(np.float64), env.slots.order, strict=True):
            mean, newest, age = (rows[:, column] for column in (PATH.history_mean, PATH.newest_delay, PATH.newest_age))
            expected = mean + (newest - mean) * 0.5 ** (age / 20.0)
            used = int(np.argmax(rows[:, PATH.commanded]))
            others = np.delete(np.argsort(expected, kind="stable"), np.flatnonzero(np.argsort(expected, kind="stable") == used))
            assert order[0] == used
            np.testing.assert_allclose(expected[order[1:]], expected[others[: len(order) - 1]], rtol=1e-5)
        env.step(env.action_space.sample())


@pytest.mark.parametrize("mode", ["correlated", "paper"])
def test_a_headroom_stands_for_the_lag_of_a_slow_twin(mode):
    arguments = {"sessions": 1, "scenario": "table1", "mode": mode, "packets": 500}
    relative, exact = make("vcgym/Playout-v1", **arguments), make("vcgym/Playout-v1", action="exact", observation="records", **arguments)
    relative.reset(seed=3)
    shown, _ = exact.reset(seed=3)
    relative.action_space.seed(0)
    slow = SlowHeadroom()
    while True:
        action = relative.action_space.sample()
        _, _, _, sent, arrived, *_ = shown["records"][0, 0].tolist()
        lag_us = slow.lag_us(sent, arrived, int(HEADROOMS_US[action[0]]))
        shown, expected, _, over, _ = exact.step(np.array([lag_us]))
        _, rewards, _, relative_over, _ = relative.step(action)
        assert rewards[0] == expected[0]
        assert over[0] == relative_over[0]
        if over[0]:
            break


def test_a_command_that_never_changes_is_decided_as_well_at_the_receiver():
    level = 3
    called, played = make("vcgym/Call-v1", sessions=4), make("vcgym/Playout-v1", sessions=4)
    called.reset(seed=8), played.reset(seed=8)
    results = [_result(called, np.array([[0, level]] * 4)), _result(played, np.array([level] * 4))]
    np.testing.assert_array_equal(*results)


def _result(env, action):
    found = np.full(env.num_envs, np.nan)
    while np.isnan(found).any():
        _, _, _, over, infos = env.step(action)
        first = over & np.isnan(found)
        if first.any():
            found[first] = infos["final_info"]["rating"][first]
    return found


HELD = [("vcgym/Playout-v1", {"packets": 600, "interval": 7}), ("vcgym/SendOrder-v1", {"seconds": 6.0})]


@pytest.mark.parametrize(("env_id", "arguments"), HELD)
def test_a_decision_holds_for_its_arrivals_or_opportunities(env_id, arguments):
    held, each = (gymnasium.make_vec(env_id, num_envs=1, **arguments | more).unwrapped for more in ({}, {"interval": 1}))
    held.reset(seed=2), each.reset(seed=2)
    held.action_space.seed(2)
    over = np.zeros(1, bool)
    while not over[0]:
        action, total = held.action_space.sample(), 0.0
        observation, reward, _, over, _ = held.step(action)
        for _ in range(held.holds):
            expected, of_one, _, each_over, _ = each.step(action)
            total += of_one[0]
            if each_over[0]:
                break
        np.testing.assert_array_equal(observation, expected)
        assert (reward[0], over[0]) == (pytest.approx(total), each_over[0])


@pytest.mark.long  # compiles features that no other quick test needs
def test_added_features_stand_behind_those_of_slots():
    env, plain = (make("vcgym/Relay-v1", observation="dict", predictor=predictor) for predictor in ("shipped", None))
    shown, expected = env.reset(seed=1)[0], plain.reset(seed=1)[0]
    assert env.layout.parts["slots"].features[-1].name == "predicted_e2e"
    np.testing.assert_array_equal(shown["slots"][:, :, :-1], expected["slots"])
    rows = np.arange(3)[:, None]
    np.testing.assert_array_equal(shown["slots"][:, :, -1], env.slots.paths[rows, env.slots.order, -1])
    np.testing.assert_array_equal(shown["call"], expected["call"])
