"""The parallel face of Call: PettingZoo takes it, a pair of rules plays it as inside the loop, and each agent sees what it sees alone."""

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.test import parallel_api_test, parallel_seed_test

from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.policy import RulePolicy
from vcgym.baselines.systems import load_system
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.faces.parallel import AGENTS, ParallelCall
from vcgym.network.scenarios.scenario import Scenario

SEED, PACKETS, LAG_US = 5, 700, 60_000
WORLD = {"mode": "paper", "packets": PACKETS}  # overtaking, and more than one block of the world


def test_pettingzoo_takes_it():
    parallel_api_test(ParallelCall(packets=150), num_cycles=400)
    parallel_seed_test(lambda: ParallelCall(packets=150), num_cycles=100)


def played(env, act):
    """One call: of each step the agent that acts, its observation before and its action; the shared reward; at the end the infos."""
    observations, infos = env.reset(seed=SEED)
    steps = []
    while env.agents:
        (agent,) = [one for one in AGENTS if infos[one]["acts"]]
        shown, action = observations[agent], act[agent](observations[agent])
        observations, rewards, _, truncated, infos = env.step({agent: action})
        assert rewards["router"] == rewards["receiver"]
        steps.append((agent, shown, action, rewards["router"]))
    assert truncated == dict.fromkeys(AGENTS, True)
    with pytest.raises(ResetNeeded):
        env.step({})
    return steps, infos["router"]


def acting(policy):
    """A rule as a function of one observation, with its state."""
    state = None

    def act(observation):
        nonlocal state
        actions, state = policy.predict({name: np.asarray(value)[None] for name, value in observation.items()}, state)
        return actions[0]

    return act


@pytest.mark.parametrize("name", [pytest.param("learned", marks=pytest.mark.long), "GRD-WM"])
def test_a_pair_plays_as_inside_the_loop(name):
    router, receiver = load_system(name).chosen
    inside = CallBatch(Scenario("wonderproxy", "paper", PACKETS), 1, router, receiver, log=True)
    inside.start(0, inside.scenario.draw("train", SEED))
    inside.play(np.arange(1))
    env = ParallelCall(interval=1, observation="records", action="exact", log=True, **WORLD)
    steps, infos = played(env, {"router": acting(RulePolicy(router)), "receiver": acting(RulePolicy(receiver))})
    for field in ("path", "arrived_us", "emitted_us", "played_us", "windows"):
        np.testing.assert_array_equal(getattr(env.native.played(), field), getattr(inside.played(), field))
    for found, expected in zip(env.native.played().totals, inside.totals(), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert sum(reward for *_, reward in steps) == pytest.approx(infos["rating"] - 93.2)


@pytest.mark.parametrize("observation", ["features", "records"])
def test_each_agent_sees_what_it_sees_alone(observation):
    env = ParallelCall(observation=observation, action="exact", **WORLD)
    steps, infos = played(env, {"router": lambda shown: 0, "receiver": lambda shown: LAG_US})
    for agent, alone, action in (
        ("router", gymnasium.make("vcgym/Relay-v0", playout=FixedLag(LAG_US / 1000), observation=observation, action="exact", **WORLD), 0),
        ("receiver", gymnasium.make("vcgym/Playout-v0", path=Direct(), observation=observation, action="exact", **WORLD), LAG_US),
    ):
        assert env.observation_space(agent) == alone.observation_space
        assert env.action_space(agent) == alone.action_space
        seen, done = [alone.reset(seed=SEED)[0]], False
        while not done:
            shown, _, _, done, end = alone.step(action)
            seen.append(shown)
        own = [shown for one, shown, *_ in steps if one == agent]
        for found, expected in zip(own, seen[:-1], strict=True):  # the router's probes may outlive the call
            np.testing.assert_equal(found, expected)
        assert infos["rating"] == end["rating"]
