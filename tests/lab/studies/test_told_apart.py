"""A classifier tells what differs, names it, and is at a loss where nothing does."""

import numpy as np
import pytest

from lab.studies.fit.command import page
from lab.studies.fit.told_apart import FEATURES, likeness, told, windows
from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.paths.shipped_series import PINGS, read_series

PROBES = 50


def series(draws, persistence, probes=10_000):
    """Delays of an AR(1) process around 40 ms with a deviation of 3 ms, in microseconds."""
    noise, now, values = draws.normal(size=probes), 0.0, np.empty(probes)
    for i in range(probes):
        now = persistence * now + np.sqrt(1.0 - persistence**2) * noise[i]
        values[i] = now
    return np.rint(40_000.0 + 3000.0 * values).astype(np.int64)


def cut(draws, persistence):
    return windows(series(draws, persistence), PROBES, 0.05)


def test_windows_of_one_process_are_not_told_apart():
    draws = np.random.default_rng(1)
    assert told(cut(draws, 0.3), cut(draws, 0.3), 0).accuracy == pytest.approx(0.5, abs=0.1)


def test_another_correlation_is_told_and_named():
    draws = np.random.default_rng(2)
    found = told(cut(draws, 0.7), cut(draws, 0.1), 0)
    assert found.accuracy > 0.9
    assert found.feature in ("lag 1", "step") and found.alone > 0.9


def test_features_of_a_window_by_hand():
    delay_us = np.array([10_000, 12_000, LOST, LOST, 11_000, 15_000, LOST, 11_000])
    found = dict(zip(FEATURES, windows(delay_us, 8, 1.0)[0].tolist(), strict=True))
    values = np.array([10.0, 12.0, 11.0, 15.0, 11.0])
    assert found["deviation"] == pytest.approx(values.std(), abs=2e-3)
    assert found["step"] == pytest.approx((2 + 1 + 4 + 4) / 4) and found["largest step"] == 4.0
    assert found["peak"] == 4.0 and found["rise over fall"] == pytest.approx(3.0 / 2.5, abs=2e-3)
    assert found["loss"] == 3 / 8 and found["loss run"] == 1.5
    assert len(windows(np.full(100, LOST), PROBES, 1.0)) == 0


@pytest.mark.long
def test_a_series_that_ships_has_a_page_and_the_same_one_again():
    trace = next(iter(read_series(PINGS).values()))
    found = likeness(trace, PROBES, 3)
    assert all(0.4 < part.accuracy <= 1.0 for part in found[1:4])
    assert page([found]) == page([likeness(trace, PROBES, 3)])
    assert page([found]).count(trace.name) == 4
