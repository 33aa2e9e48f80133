"""Offline optimal playout in the clocked accounting: by hand, and against every level held fixed."""

import numpy as np
import pytest

from lab.studies.oracles.clocked import at_budget, at_price

SENT_US = 10_000 * np.arange(2000)
PRICE_MS = 15_771.0


def fixed_level(arrived_us, level_ms):
    """(mean offset, concealed share) of a player that never moves."""
    return level_ms, float(((arrived_us < 0) | (arrived_us - SENT_US[: len(arrived_us)] > 1000 * level_ms)).mean())


def jittery(seed):
    draws = np.random.default_rng(seed)
    arrived_us = SENT_US + 40_000 + draws.exponential(25_000, len(SENT_US)).astype(np.int64)
    return np.where(draws.random(len(SENT_US)) < 0.01, -1, arrived_us)


@pytest.mark.long
def test_a_spike_is_heard_through_if_that_is_cheap_and_given_up_if_it_is_dear():
    arrived_us = SENT_US + 50_000
    arrived_us[1000:1003] += 100_000
    dear, cheap = at_price(arrived_us, 1e6), at_price(arrived_us, 1000.0)
    assert dear.share == 0.0 and 54.0 < dear.delay_ms < 56.0  # 100 ticks up by ten levels, 100 down again
    assert cheap.share == pytest.approx(3 / 2000, abs=1e-5) and cheap.delay_ms == pytest.approx(50.0, abs=0.2)


@pytest.mark.parametrize("seed", range(3))
def test_no_level_held_fixed_is_better(seed):
    arrived_us = jittery(seed)
    plan = at_price(arrived_us, PRICE_MS)
    levels = [fixed_level(arrived_us, 10.0 * level) for level in range(4, 40)]
    assert plan.delay_ms + PRICE_MS * plan.share <= min(delay + PRICE_MS * share for delay, share in levels) + 0.01
    for most in (0.02, 0.05, 0.2):
        found = at_budget(arrived_us, most)
        assert found.plan.share <= most
        assert found.bound_ms <= found.plan.delay_ms
        assert found.bound_ms <= min(delay for delay, share in levels if share <= most) + 0.01


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="never arrives"):
        at_budget(jittery(0), 0.001)
    with pytest.raises(ValueError, match="before it is sent"):
        at_price(SENT_US - 1 + 20_000 * (SENT_US == 0), PRICE_MS)
    with pytest.raises(ValueError, match="nothing arrives"):
        at_price(np.full(10, -1), PRICE_MS)
