"""SharedRate: PettingZoo's checks; all calls with one law are calls with its rule; who is present; seeds; what is refused."""

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

import vcgym.envs
from vcgym.agents.sb3 import NativeVecEnv
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.systems import load_system
from vcgym.envs.call.sender.batch import SendingBatch, worlds_of
from vcgym.envs.environments.shared_rate import SharedRateVectorEnv
from vcgym.network.bottleneck.sharing import sharing
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.bottleneck.together import CallsTogether

LOG = 1 << 15


def stepped(envs, act, steps=10_000):
    """Return the steps of an environment, of its seed 5, until all bottlenecks are done."""
    envs.reset(seed=5)
    found = []
    while len(found) < steps:
        found.append(envs.step(act(len(found))))
        if found[-1][3].any():
            break
    return found


@pytest.mark.long
def test_pettingzoo_takes_it():
    """Warnings are errors, so agents that join and leave do so as PettingZoo wants it."""
    parallel_api_test(vcgym.envs.SharedRate(calls=3, seconds=24.0, interval=5), num_cycles=120)
    parallel_seed_test(lambda: vcgym.envs.SharedRate(calls=3, seconds=24.0, interval=5), num_cycles=15)


@pytest.mark.long  # the loops of both rules
@pytest.mark.parametrize(("action", "system"), [(0, "SCREAM-V2-rate-tuned"), (1, "NADA-rate-tuned")])
def test_one_law_in_all_calls_is_its_rule_in_all_calls(action, system):
    """Each packet of each call is sent and arrives at the same microsecond as where the rule plays all calls inside the loop."""
    envs = SharedRateVectorEnv(2, calls=3, seconds=24.0, log_packets=LOG, autoreset_mode="DISABLED")
    last = stepped(envs, lambda n: np.full(6, action))[-1]
    while not last[3].all():
        envs.step(np.full(6, action))
    rule = load_system(system)
    worlds = worlds_of(envs.scenario, 24.0)._replace(same=True)
    batch = SendingBatch(2, rule.rate, Fifo(), worlds, pacing=rule.pacing, log_packets=LOG)
    for row in range(2):
        batch.start(row, envs.batch.links[row])
    batch.play(np.arange(2))
    for row in range(2):
        ours, theirs = envs.batch.flows(row), batch.flows(row)
        assert len(ours) == 3
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one.log, other.log)
            assert len(one.log) > 500
        assert sharing(envs.batch.links[row], ours) == sharing(batch.links[row], theirs)


def test_who_joins_and_leaves():
    """An agent is present from its call's beginning to its end, and only then has a reward."""
    env = vcgym.envs.SharedRate(calls=3, seconds=24.0, interval=5)
    env.reset(seed=3)
    assert env.agents == ["call_0"]
    link = env.native.batch.links[0]
    seen: dict[str, list[float]] = {agent: [] for agent in env.possible_agents}
    while env.agents:
        observations, rewards, _, truncated, infos = env.step(dict.fromkeys(env.agents, 4))
        now_s = env.native.batch.senders["now_us"][0] / 1e6
        for agent in observations:
            seen[agent].append(now_s)
            assert np.isfinite(rewards[agent]) and truncated[agent] == (agent not in env.agents) == bool(infos[agent])
    for flow, agent in zip(link.flows, ("call_1", "call_2"), strict=False):
        assert flow.starts_s <= seen[agent][0] <= flow.starts_s + 0.5
        assert flow.stops_s <= seen[agent][-1] <= flow.stops_s + 0.5
    assert 0.0 < infos["call_0"]["used"] <= 1.0 and 1 / 3 <= infos["call_0"]["jain"] <= 1.0
    assert infos["call_0"]["delivered_kbps"] > 50.0


def test_rows_are_the_same_in_any_batch():
    """Bottleneck 1 of three is bottleneck 0 of one with the next seed, for the same actions of its calls."""
    draws = np.random.default_rng(0).integers(5, size=(40, 3, 2))  # by step, bottleneck, call
    three = SharedRateVectorEnv(3, calls=2, interval=5, autoreset_mode="SAME_STEP")
    one = SharedRateVectorEnv(1, calls=2, interval=5, autoreset_mode="SAME_STEP")
    in_three = three.reset(seed=7)[0], one.reset(seed=8)[0]
    np.testing.assert_array_equal(in_three[0][[1, 4]], in_three[1])
    for of_step in draws:
        many = three.step(np.concatenate([of_step[:, 0], of_step[:, 1]]))
        few = one.step(of_step[1])
        np.testing.assert_array_equal(many[0][[1, 4]], few[0])
        np.testing.assert_array_equal(many[1][[1, 4]], few[1])


def test_a_state_is_restored():
    envs = SharedRateVectorEnv(2, calls=2)
    envs.reset(seed=1)
    for _ in range(20):
        envs.step(envs.action_space.sample())
    state = envs.get_state()
    first = envs.step(np.full(4, 1))
    envs.set_state(state)
    again = envs.step(np.full(4, 1))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])


def test_stable_baselines_steps_it_over_the_end():
    envs = NativeVecEnv(SharedRateVectorEnv(2, calls=2, seconds=21.0, interval=5, log_packets=LOG, autoreset_mode="SAME_STEP"))
    assert envs.reset().shape[0] == 4
    ends = []
    for _ in range(100):
        _, _, done, infos = envs.step(np.zeros(4, np.int64))
        assert done[0] == done[2] and done[1] == done[3]
        ends += [infos[i] for i in np.flatnonzero(done)]
    assert len(ends) == 4 and all(0.5 < info["jain"] <= 1.0 for info in ends)


def test_worlds_have_as_many_times_the_capacity():
    of_one = SendingScenario("rate")
    together = CallsTogether(of_one, 4)
    for seed in range(8):
        alone, link = of_one.draw("validation", seed), together.draw("validation", seed)
        np.testing.assert_array_equal(link.trace.rates_bps, 4 * alone.trace.rates_bps)
        assert link.queue_bytes == 4 * alone.queue_bytes and link.flows[3:] == alone.flows
        assert all(0.0 <= flow.starts_s < 10.0 and link.seconds - 10.0 < flow.stops_s <= link.seconds for flow in link.flows[:3])
        assert link == together.draw("validation", seed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"calls": 1}, "calls = 1: allowed are integers from 2 to 32"),
        ({"scenario": "calls"}, "scenario = calls of calls together has 3 other calls"),
        ({"action": "discrete"}, "action"),
        ({"threads": 2}, "threads = 2 of SharedRate: allowed is 1"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SharedRateVectorEnv(1, **arguments)


def test_a_reset_of_half_a_bottleneck_and_an_absent_agent_are_refused():
    envs = SharedRateVectorEnv(2, calls=2)
    with pytest.raises(ValueError, match="some calls of a bottleneck"):
        envs.reset(options={"reset_mask": np.array([True, False, False, False])})
    env = vcgym.envs.SharedRate(calls=3)
    env.reset(seed=3)
    with pytest.raises(ValueError, match="agent = 'call_1'"):
        env.step({"call_1": 0})
