"""Rate and SendOrder: meaning of actions and masks, and queues of any length."""

import math

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE, SENDERS

from twins.sender_records import WITH_RECORDS
from vcgym.baselines.order.sbpn import Overflow, Sbpn
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.envs.call.sender.batch import SendingBatch, worlds_of
from vcgym.envs.call.sender.laws import AIM
from vcgym.envs.environments.rate import STEPS
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario

RATE, ORDER, _ = SENDERS


def make(env_id, records=False, **arguments):
    arguments = ABSOLUTE[env_id] | {"num_envs": 2, "seconds": 3.0} | arguments
    return gymnasium.make_vec(WITH_RECORDS[env_id] if records else env_id, **arguments).unwrapped


def test_masks_show_the_slots_that_hold_a_packet():
    env = make(ORDER, num_envs=1)
    env.reset(seed=1)
    seen = set()
    for _ in range(30):
        waiting = int(env.batch.senders[0].queue.waiting)
        assert env.action_masks()[0].tolist() == [i < waiting for i in range(5)] * 2
        seen.add(waiting)
        env.step(np.array([waiting - 1]))
    assert len(seen) > 1


def test_an_empty_slot_means_the_newest():
    empty, last = make(ORDER), make(ORDER)
    seen, _ = empty.reset(seed=1)
    expected, _ = last.reset(seed=1)
    for _ in range(60):
        np.testing.assert_array_equal(seen, expected)
        waiting = last.batch.senders["queue"]["waiting"]
        seen = empty.step(np.full(2, 4))[0]
        expected = last.step(waiting - 1)[0]


def test_the_scalar_face_has_masks():
    env = gymnasium.make(ORDER, seconds=3.0, **ABSOLUTE[ORDER])
    env.reset(seed=1)
    while (mask := env.unwrapped.action_masks()).all():
        env.step(0)
    assert mask.shape == (10,) and mask.any()


@pytest.mark.parametrize("form", ["continuous", "discrete", "exact"])
def test_what_an_action_means_for_the_rate(form):
    env = make(RATE, num_envs=3, action=form)
    env.reset(seed=1, options={"kind": "cubic"})
    actions = {
        "continuous": np.array([[-1.0], [0.0], [1.0]], np.float32),
        "discrete": np.array([0, 4, 8]),
        "exact": np.array([[60_000, 0, 0], [0, 0, 0], [10**9, 0, 0]]),
    }
    env.step(actions[form])
    expected = {
        "continuous": [50e3, math.sqrt(50e3 * 4000e3), 4000e3],
        "discrete": [300e3 * STEPS[0], 300e3, 300e3 * STEPS[8]],
        "exact": [60e3, 300e3, 4000e3],
    }
    np.testing.assert_allclose(env.batch.senders["target_bps"], expected[form], rtol=1e-12)


def test_the_receiver_collects_as_long_as_it_is_told_and_the_agent_is_asked_again():
    env = make(RATE, records=True, num_envs=1, action="exact")
    env.reset(seed=1, options={"kind": "cubic"})
    times = []
    for _ in range(6):
        seen, *_ = env.step(np.array([[0, 300_000, 120_000]]))
        times.append((int(seen["now_us"][0]), int(seen["count"][0]) > 0))
    asked = np.diff([at_us for at_us, _ in times])
    assert (asked <= 120_000).all() and 120_000 in asked
    reports = [at_us for at_us, told in times if told]
    assert all(gap >= 290_000 for gap in np.diff(reports))
    assert {told for _, told in times} == {False, True}


def test_the_target_follows_the_aim():
    envs = gymnasium.make_vec(RATE, num_envs=6, seconds=6.0, interval=1).unwrapped
    envs.reset(seed=3)
    draws = np.random.default_rng(3)
    has_yielded, compared = False, 0
    for _ in range(50):
        senders, level = envs.batch.senders.copy(), draws.integers(3, size=6)
        envs.step(AIM + level)
        for sender, one, after in zip(senders, level, envs.batch.senders, strict=True):
            if after["stats"]["reports"] == sender["stats"]["reports"] + 1:  # others came so early that the decision held
                assert after["target_bps"] == pytest.approx(slow_target(sender, 12.0 * 5.0 ** (one / 2)))
                has_yielded |= after["target_bps"] < sender["target_bps"]
                compared += 1
    assert has_yielded and compared > 250


def slow_target(sender, aim_ms):
    """The target that follows from an aim, in plain Python."""
    stats, target = sender["stats"], float(sender["target_bps"])
    if stats["reports"] > 0 and stats["newest_us"] >= 0:
        queue_ms = (stats["newest_us"] - stats["floor_us"]) / 1000
        grown_ms = (stats["queueing_us"] - stats["before_us"]) / 1000 if stats["reports"] > 1 else 0.0
        if queue_ms > aim_ms and stats["reports"] > 1:
            target = min(target, stats["rate_bps"])
        lost = stats["lost"] / max(stats["packets"], 1)
        target *= np.exp(np.clip(0.075 * (1 - queue_ms / aim_ms) - 0.7 * grown_ms / aim_ms - 2 * lost, -0.25, 0.3))
    return np.clip(target, sender["min_bps"], sender["max_bps"])


@pytest.mark.long  # compiles a loop that no other quick test needs
@pytest.mark.parametrize("kind", ["rtt80-q5", "rtt150-q32"])
def test_the_first_order_is_sbpn2(kind):
    envs = gymnasium.make_vec(ORDER, num_envs=1, seconds=9.0).unwrapped
    envs.reset(seed=6, options={"kind": kind})
    while not envs.step(np.zeros(1, np.int64))[3][0]:
        pass
    world, scenario = envs.batch.links[0], envs.scenario
    rules = SendingBatch(1, Tfrc(), Sbpn(overflow=Overflow.EVICTS), worlds_of(scenario), pacing=0.0)
    rules.start(0, world)
    rules.play(np.arange(1))
    for ours, theirs in zip(envs.batch.totals(), rules.totals(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


class _Uneven(SendingScenario):
    """A scenario whose send queue is longer for some seeds than for seed 0."""

    def draw(self, split, seed, kind=None):
        link = super().draw(split, seed, kind)
        return link._replace(send_queue=6 if seed % 7 else 5)


@pytest.mark.parametrize("observation", ["features", "dict"])
def test_a_queue_longer_than_the_observation_is_refused(observation):
    envs = make(ORDER, scenario=_Uneven("order"), send_queue=None, observation=observation)
    envs.reset(seed=[0, 7])
    with pytest.raises(ValueError, match="send_queue of seed 1 in scenario order is 6; allowed: up to 5, the longest of seed 0"):
        envs.reset(seed=[0, 1])
    envs = make(ORDER, scenario=_Uneven("order"), send_queue=5, observation=observation)
    for step in range(200):
        shown = envs.step(envs.action_space.sample())[0] if step else envs.reset(seed=[1, 2])[0]
        assert envs.observation_space.contains(shown)
    gymnasium.make_vec(ORDER, num_envs=2, seconds=3.0, scenario=_Uneven("order")).reset(seed=[0, 1])
