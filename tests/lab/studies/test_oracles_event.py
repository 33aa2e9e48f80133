"""Offline optimal playout in the event accounting, and path sequences, against exhaustive enumeration."""

from itertools import product

import numpy as np
import pytest

from lab.studies.oracles.event import NEVER_US, at_budget, at_price
from lab.studies.oracles.sequences import best_sequence, clairvoyant
from vcgym.network.kernels.slots import LOST


def every_schedule(sent_us, arrived_us):
    """(lost, summed delay) of every choice of packets to keep."""
    for keep in product((False, True), repeat=len(sent_us)):
        if not any(kept and arrived == NEVER_US for kept, arrived in zip(keep, arrived_us, strict=True)):
            latest, delay = -1, 0
            for kept, sent, arrived in zip(keep, sent_us, arrived_us, strict=True):
                if kept:
                    latest = max(latest, arrived)
                    delay += latest - sent
            yield len(keep) - sum(keep), delay


def arrivals(seed):
    draws = np.random.default_rng(seed)
    packets = int(draws.integers(1, 10))
    sent_us = 10_000 * np.arange(packets)
    arrived_us = sent_us + draws.integers(1, 8, packets) * draws.choice([1_000, 7_000, 15_000])
    arrived_us[draws.random(packets) < 0.15] = NEVER_US
    return sent_us, arrived_us


@pytest.mark.parametrize("seed", range(60))
def test_the_least_cost_of_every_schedule(seed):
    sent_us, arrived_us = arrivals(seed)
    for price_us in (0, 5_000, 20_000, 60_000, 1_000_000):
        found = at_price(sent_us, arrived_us, price_us)
        assert found.cost_us == min(delay + price_us * lost for lost, delay in every_schedule(sent_us, arrived_us))
        emitted = found.emitted_us >= 0
        assert (np.diff(found.emitted_us[emitted]) >= 0).all()
        assert (found.emitted_us[emitted] >= arrived_us[emitted]).all()
        assert found.lost == (~emitted).sum()
        assert found.cost_us == (found.emitted_us - sent_us)[emitted].sum() + price_us * found.lost


@pytest.mark.parametrize("seed", range(60))
def test_the_least_mean_within_a_budget_lies_between_bound_and_schedule(seed):
    sent_us, arrived_us = arrivals(seed)
    for max_lost in range(int((arrived_us == NEVER_US).sum()), len(sent_us)):
        possible = [(lost, delay) for lost, delay in every_schedule(sent_us, arrived_us) if lost <= max_lost]
        min_ms = min(delay / (len(sent_us) - lost) for lost, delay in possible) / 1000.0
        found = at_budget(sent_us, arrived_us, max_lost)
        assert found.playout.lost <= max_lost
        assert found.bound_ms <= min_ms + 1e-6
        assert found.playout.mean_ms >= min_ms - 1e-6


def test_a_budget_that_cannot_be_kept_and_times_out_of_order_are_refused():
    sent_us = np.array([0, 10_000])
    with pytest.raises(ValueError, match="never arrive"):
        at_budget(sent_us, np.array([50_000, NEVER_US]), 0)
    with pytest.raises(ValueError, match="allowed"):
        at_price(sent_us, np.array([50_000, 5_000]), 1e6)
    with pytest.raises(ValueError, match="price_us"):
        at_price(sent_us, sent_us, float("nan"))


@pytest.mark.parametrize("seed", range(12))
def test_the_cheapest_of_all_path_sequences(seed):
    draws = np.random.default_rng(seed)
    paths, packets = 2 + seed % 2, 7
    cost = draws.integers(0, 20, (paths, packets)).astype(float)
    every = np.array(list(product(range(paths), repeat=packets)))
    sums, changes = cost[every, np.arange(packets)].sum(axis=1), (np.diff(every, axis=1) != 0).sum(axis=1)
    for limit in (0, 1, 2, 4, None):
        path = best_sequence(cost, limit)
        allowed = changes <= (packets if limit is None else limit)
        assert cost[path, np.arange(packets)].sum() == sums[allowed].min()
        assert limit is None or (np.diff(path) != 0).sum() <= limit


def test_the_clairvoyant_takes_the_first_to_arrive():
    delay_us = np.array([[5, LOST, 9, LOST], [7, 8, LOST, LOST]], np.int32)
    assert clairvoyant(delay_us).tolist() == [0, 1, 0, 0]
