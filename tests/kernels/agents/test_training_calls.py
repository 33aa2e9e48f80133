"""Training calls over longer distances."""

import numpy as np

from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.network.scenarios.scenario import Scenario

PACKETS = 300


def arrived_us(calls):
    return calls.play(Direct(), FixedLag(60.0), log=True).tables.log["arrived_us"].copy()


def test_every_packet_of_half_of_the_calls_arrives_later_by_the_same_time():
    calls, other = (TrainingCalls.sample(Scenario("wonderproxy", "correlated", PACKETS), "train", 40) for _ in range(2))
    other.add_delay(100.0, np.random.default_rng(0))
    before, after = arrived_us(calls), arrived_us(other)
    np.testing.assert_array_equal(before < 0, after < 0)
    added_us = np.where(before < 0, -1, after - before).max(1)
    np.testing.assert_array_equal(np.where(before < 0, before, before + added_us[:, None]), after)
    assert 10 < np.count_nonzero(added_us) < 30
    assert added_us.min() == 0 and 50_000 < added_us.max() < 100_000
    np.testing.assert_allclose(
        other.world.history[:, :, 1] - calls.world.history[:, :, 1],
        np.repeat(added_us[:, None] / 1000.0, calls.scenario.paths, 1),
        atol=1e-6,
    )


def test_no_added_delay_changes_nothing():
    calls, other = (TrainingCalls.sample(Scenario("wonderproxy", "paper", PACKETS), "train", 4) for _ in range(2))
    other.add_delay(0.0, np.random.default_rng(0))
    np.testing.assert_array_equal(calls.world.loaded, other.world.loaded)
    np.testing.assert_array_equal(calls.world.history, other.world.history)
