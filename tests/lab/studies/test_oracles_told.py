"""Told controllers against obvious twins, and that more foresight does not hurt."""

import numpy as np
import pytest

from lab.shipped.zoo_references import TOLD_MS, _of_told
from lab.studies.oracles.told import FALL, MARGIN_MS, PACE, PRICE, SPARE_MS, Told, cheapest_lag, told_sequence
from vcgym.baselines.systems import load_system
from vcgym.network.kernels.record import records
from vcgym.network.kernels.slots import LOST


def path_by_definition(delay_us, chance, slots):
    paths, packets = delay_us.shape
    found, using = [], None
    for i in range(packets):
        until = min(i + slots, packets)
        costs = []
        for p in range(paths):
            each = [1e6 if delay_us[p, j] == LOST else delay_us[p, j] / 1000.0 + PRICE * chance[p, j] for j in range(i, until)]
            costs.append(sum(each) / len(each))
        if using is None or min(costs) < costs[using] - MARGIN_MS:
            using = costs.index(min(costs))
        found.append(using)
    return found


@pytest.mark.parametrize(("ahead_ms", "slots"), [(0, 1), (40, 4), (100, 10), (2000, 10)])
def test_the_told_path_has_the_least_mean_delay_ahead(ahead_ms, slots):
    draws = np.random.default_rng(3)
    delay_us = draws.integers(20_000, 250_000, (4, 60)).astype(np.int32)
    delay_us[1, 20:40] = LOST
    chance = draws.random((4, 60)) * 1e-4
    assert told_sequence(delay_us, chance, ahead_ms).tolist() == path_by_definition(delay_us, chance, slots)


def lag_by_definition(delay_us, told, lag_us, ahead_ms):
    low = max(0.0, lag_us / 1000 - FALL * ahead_ms)
    asked = []
    for packet in range(told.newest + 1, min(told.newest + 1 + ahead_ms // 10, len(delay_us))):
        if delay_us[packet] != LOST:
            in_ms = max(0.0, (10_000 * packet + told.smallest_us + told.lag_us - told.now_us) / 1000)
            asked.append((delay_us[packet] - told.smallest_us) / 1000 - PACE * in_ms + SPARE_MS)
    return min([low, *(one for one in asked if one > low)], key=lambda lag: (lag - low) ** 2 + PRICE * sum(one > lag for one in asked))


@pytest.mark.parametrize("ahead_ms", [10, 100, 500])
def test_the_told_lag_is_the_cheapest_of_those_asked_for(ahead_ms):
    draws = np.random.default_rng(7)
    for _ in range(20):
        delay_us = (30_000 + draws.exponential(40_000.0, 80)).astype(np.int32)
        delay_us[draws.integers(0, 80, 5)] = LOST
        delay_us[draws.integers(0, 80)] = 700_000
        told = records(Told, 1)[0]
        told.newest, told.now_us, told.smallest_us, told.lag_us = 30, 350_000, 30_000, 20_000
        found = cheapest_lag(delay_us, told, 60_000, ahead_ms)
        assert found == pytest.approx(1000 * lag_by_definition(delay_us, told, 60_000, ahead_ms), abs=1)


def test_a_lone_packet_that_comes_very_late_is_left():
    told = records(Told, 1)[0]
    told.newest, told.now_us, told.smallest_us = 0, 30_000, 30_000
    delay_us = np.full(60, 30_000, np.int32)
    delay_us[10] = 30_000 + 200_000
    assert cheapest_lag(delay_us, told, 0, 500) < 10_000
    delay_us[10:20] = 30_000 + 200_000
    assert cheapest_lag(delay_us, told, 0, 500) > 150_000


@pytest.mark.long  # compiles calls with the learned lag
def test_more_foresight_gives_more():
    learned = load_system("learned")
    means = [np.mean([_of_told("path and playout", learned, ahead_ms, seed) for seed in range(12)]) for ahead_ms in TOLD_MS]
    assert means == sorted(means)
