"""Settings of worlds: declared once, they reach recipes whole, the identity of saved states, and the arguments of environments."""

import pickle
from dataclasses import FrozenInstanceError, fields, replace
from functools import partial

import gymnasium
import pytest

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.envs.environments.call import CallVectorEnv
from vcgym.envs.environments.vector.settings import arguments_of
from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.evaluation.part import Part
from vcgym.network.scenarios.paths.linked import Table1
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.settings import WorldSettings

CHANGED = {"mode": "paper", "packets": 50, "burst": "median", "tau_ms": 50.0}


class Kept(Table1):
    """Recipe that keeps the settings it was given."""

    def __init__(self, settings, given):
        given.append(settings)
        super().__init__(settings)


def test_every_setting_is_an_argument_of_environments_with_its_default():
    known = arguments_of(CallVectorEnv)
    assert {one.name: one.default for one in fields(WorldSettings)} == {one.name: known[one.name].default for one in fields(WorldSettings)}


def test_a_recipe_gets_the_settings_whole():
    given = []
    env = gymnasium.make("vcgym/Relay-v1", scenario=partial(Kept, given=given), **CHANGED)
    assert given == [replace(given[0], **CHANGED)]
    assert env.unwrapped.native.batch.scenario.settings is given[0]
    with pytest.raises(FrozenInstanceError):
        given[0].tau_ms = 1.0


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_setting_is_another_identity_and_refuses_a_saved_state(name):
    settings = WorldSettings("table1", "correlated", 60)
    one, other = Scenario(settings), Scenario(replace(settings, **{name: CHANGED[name]}))
    assert one.identity != other.identity
    envs = [gymnasium.make_vec("vcgym/Relay-v1", num_envs=1, scenario=scenario).unwrapped for scenario in (one, other)]
    envs[0].reset(seed=1)
    with pytest.raises(ValueError, match="state of another env"):
        envs[1].set_state(envs[0].get_state())


def test_the_identity_has_no_places_of_files():
    assert Scenario("table1", "paper", data="/here").identity == Scenario("table1", "paper", data="/there").identity
    assert pickle.loads(pickle.dumps(WorldSettings("replay", traces="."))).traces != (".",)


def test_a_part_of_a_suite_may_set_any():
    part = Part("table1", "correlated", 1, settings=(("tau_ms", 50.0),))
    assert PATHS.open(part, 100).settings == WorldSettings("table1", "correlated", 100, tau_ms=50.0)
