"""Gradient through the player: equal to finite differences, close to the real player, and useful for learning."""

import numpy as np
import pytest
import torch

from lab.learners.arrivals import record_arrivals
from lab.learners.lag_learner import LagNet, learn_lag, rating_of
from lab.learners.through_player import MIDDLE_MS, call_rating, ratings
from vcgym.agents.controllers.learned_router import START, LearnedRouter
from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.network.playout.player import (
    UNIT_US,
    allocate_player,
    expect_unit,
    set_target,
    start_player,
    tick,
    unit_there,
)
from vcgym.network.scenarios.scenario import Scenario

pytestmark = pytest.mark.long  # learns through the player, in a loop that no other quick test needs

PACKETS = 400


def rating(target_ms, delay_ms, passed_ms, overtaken, packets):
    count = len(target_ms)
    gradient, scratch = np.zeros(count), np.zeros((3, count))
    return call_rating(target_ms, delay_ms, passed_ms, overtaken, count, packets, *scratch, gradient), gradient


@pytest.fixture(scope="module")
def calls():
    return TrainingCalls.sample(Scenario("wonderproxy", "correlated", PACKETS), "train", 12)


@pytest.fixture(scope="module")
def arrivals(calls):
    return record_arrivals(calls, Direct(), FixedLag(60.0))


def test_gradient_equals_finite_differences():
    draws = np.random.default_rng(0)
    count = 60
    delay_ms = 150.0 + draws.gamma(1.0, 10.0, count)
    target_ms, passed_ms = delay_ms + draws.uniform(0.0, 30.0, count), np.full(count, 10.0)
    overtaken = draws.random(count) < 0.2
    _, gradient = rating(target_ms, delay_ms, passed_ms, overtaken, count + 2)
    for i in range(count):
        step = np.zeros(count)
        step[i] = 1e-4
        above, below = (rating(target_ms + sign * step, delay_ms, passed_ms, overtaken, count + 2)[0] for sign in (1.0, -1.0))
        assert gradient[i] == pytest.approx((above - below) / 2e-4, rel=1e-4, abs=1e-7)


def test_a_delay_far_above_its_target_is_given_up_at_once():
    delay_ms = np.concatenate([[2000.0], np.full(999, 100.0)])
    steady, _ = rating(np.full(1000, 115.0), np.full(1000, 100.0), np.full(1000, 10.0), np.zeros(1000, np.bool_), 1000)
    r, gradient = rating(np.full(1000, 115.0), delay_ms, np.full(1000, 10.0), np.zeros(1000, np.bool_), 1000)
    assert steady - 0.1 < r < steady
    assert gradient[0] != 0.0


def test_a_steady_call_scores_by_its_delay():
    delay_ms = np.full(1000, 100.0)
    r, _ = rating(np.full(1000, 115.0), delay_ms, np.full(1000, 10.0), np.zeros(1000, np.bool_), 1000)
    assert r == pytest.approx(93.2 - 0.024 * 120.0, abs=0.01)


def test_a_packet_that_never_came_is_concealed():
    delay_ms = np.full(900, 100.0)
    r, _ = rating(np.full(900, 115.0), delay_ms, np.full(900, 10.0), np.zeros(900, np.bool_), 1000)
    assert r == pytest.approx(93.2 - 0.024 * 120.0 - 95.0 * 10.0 / 35.1, abs=0.01)


def test_smooth_rating_is_close_to_that_of_the_player(calls, arrivals):
    torch.manual_seed(0)
    net = LagNet(8)
    with torch.no_grad():
        smooth = rating_of(net, arrivals, np.arange(len(calls))).numpy()
    played = calls.scores(Direct(), net.rule())
    assert np.abs(smooth - played).mean() < 1.0
    assert np.corrcoef(smooth, played)[0, 1] > 0.95


def test_learning_improves_calls_that_the_player_plays(calls, arrivals):
    torch.manual_seed(0)
    net = LagNet(8)
    before = calls.scores(Direct(), net.rule()).mean()
    learn_lag(net, [arrivals], np.ones(1), steps=60, calls=12, learning_rate=1e-2, seed=0)
    assert calls.scores(Direct(), net.rule()).mean() > before + 0.5


def test_same_seed_learns_the_same_weights(calls):
    sets = [record_arrivals(calls, router, FixedLag(60.0)) for router in (Direct(), LearnedRouter(START))]
    rules = []
    for _ in range(2):
        torch.manual_seed(1)
        net = LagNet(8)
        learn_lag(net, sets, np.full(2, 0.5), steps=5, calls=4, learning_rate=1e-3, seed=3)
        rules.append(net.rule())
    for one, other in zip(*rules, strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_call_of_which_nothing_arrived_teaches_nothing():
    shape = 2, 5
    gradient, r = np.zeros(shape), np.zeros(2)
    arrays = np.full(shape, 120.0), np.full(shape, 100.0), np.full(shape, 10.0), np.zeros(shape, np.bool_)
    ratings(*arrays, np.array([0, 5]), 5, gradient, r, np.zeros((3, 5)))
    assert r[0] == 0.0 < r[1]
    assert not gradient[0].any() and gradient[1].any()


def playout_after_arrivals_ms(delay_ms, target_ms):
    """Play packets of constant delay with the clocked player; return its playout delay at the last tick before each next arrival."""
    player, offsets_ms = allocate_player(1, 256), np.zeros(len(target_ms))
    start_player(player, 0, 0, len(target_ms))
    clock, delay_us, sent, offset_us = player.clock[0], round(1000.0 * delay_ms), 0, 0
    for unit, level_ms in enumerate(target_ms - delay_ms):
        now_us = unit * UNIT_US + delay_us
        while sent * UNIT_US <= now_us and sent < len(target_ms):
            assert expect_unit(player, 0, sent)
            sent += 1
        unit_there(player, 0, unit, now_us)
        set_target(player, 0, now_us, round(1000.0 * level_ms), delay_us)
        while clock.tick_us < now_us + UNIT_US:
            *_, offset_us = tick(player, 0)
        offsets_ms[unit] = offset_us / 1000.0
    return offsets_ms


def test_a_rise_of_the_target_is_followed_as_by_the_player_over_all_phases_of_its_ticks():
    """The player steps by 10 ms and the recursion slides, so that they differ by half a step at most, and hardly in the mean."""
    packets, delays_ms = 120, 100.5 + np.arange(10)
    above_ms = np.where(np.arange(packets) < 60, 15.0, 45.0)
    played_ms = np.mean([playout_after_arrivals_ms(one, one + above_ms) - one for one in delays_ms], axis=0)
    playout_ms, drawn_ms, reach_ms = np.zeros((3, packets))
    steady = np.full(packets, 100.0), np.full(packets, 10.0), np.zeros(packets, np.bool_)
    call_rating(100.0 + above_ms, *steady, packets, packets, playout_ms, drawn_ms, reach_ms, np.zeros(packets))
    ahead_ms = (playout_ms - 100.0 + MIDDLE_MS - played_ms)[40:]
    assert ahead_ms[:20] == pytest.approx(0.0, abs=0.1)
    assert np.abs(ahead_ms).max() < 6.0
    assert abs(ahead_ms[20:46].mean()) < 1.0
