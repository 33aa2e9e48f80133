"""Rewards and worlds from outside the package: objects behave like the named ones, and bad ones are rejected."""

from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium.vector import AutoresetMode

from vcgym.envs.call.rewards.emodel import EModel
from vcgym.envs.call.rewards.on_time import OnTime
from vcgym.envs.call.rewards.reward import PATHS, earned, reward
from vcgym.envs.call.rewards.utility import Utility
from vcgym.network.scenarios.paths.linked import Table1
from vcgym.network.scenarios.scenario import Scenario


@reward(PATHS, changes=0)
class Steady(NamedTuple):
    """A price per change of path."""

    price: float = 0.1


@earned.register(Steady)
def _earned(reward, state, accounts, s):
    changes = accounts.calls[s].counters.path_changes
    new = changes - state[s].changes
    state[s].changes = changes
    return -reward.price * new


def make(env_id, **arguments):
    return gymnasium.make_vec(env_id, num_envs=2, autoreset_mode=AutoresetMode.DISABLED, **ABSOLUTE[env_id] | arguments).unwrapped


def rewards_of(env):
    """Rewards of two calls (steps, 2) under actions that depend on the step alone."""
    env.reset(seed=5)
    env.action_space.seed(1)
    rewards, is_done = [], False
    while not is_done:
        _, reward, _, truncated, _ = env.step(env.action_space.sample())
        rewards.append(reward)
        is_done = truncated.any()
    return np.array(rewards)


def test_a_reward_from_outside_is_summed_over_the_call():
    env = make("vcgym/Relay-v1", scenario="table1", packets=200, reward=Steady(price=2.0))
    total = rewards_of(env).sum(axis=0)
    changes = env.batch.totals().path_changes
    assert changes.min() >= 5
    np.testing.assert_allclose(total, -2.0 * changes)
    np.testing.assert_allclose(rewards_of(env).sum(axis=0), total)  # a new call begins from nothing


@pytest.mark.parametrize(
    ("env_id", "name", "given", "short"),
    [
        ("vcgym/Relay-v1", "emodel", EModel(), {"scenario": "table1", "packets": 100}),
        ("vcgym/Rate-v1", "utility", Utility(), {"seconds": 1.5}),
        ("vcgym/SendOrder-v1", "on_time", OnTime(), {"seconds": 1.5}),
    ],
)
def test_a_reward_is_given_by_name_or_as_an_object(env_id, name, given, short):
    by_name, by_object = (rewards_of(make(env_id, reward=one, **short)) for one in (name, given))
    assert np.abs(by_name).sum() > 0
    np.testing.assert_array_equal(by_name, by_object)


def test_a_scenario_is_given_by_name_as_a_recipe_or_made():
    made = Scenario(Table1, "paper", 100)
    assert (made.name, made.paths) == ("Table1", 5)
    alike = [
        {"scenario": "table1", "mode": "paper", "packets": 100},
        {"scenario": Table1, "mode": "paper", "packets": 100},
        {"scenario": made},
    ]
    first, *others = (rewards_of(make("vcgym/Relay-v1", **arguments)) for arguments in alike)
    for other in others:
        np.testing.assert_array_equal(first, other)
