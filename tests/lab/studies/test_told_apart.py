"""A classifier tells what differs, names it, and is at a loss where nothing does."""

import numpy as np
import pytest

from lab.studies.fit.command import ToldApartConfig, judged, page
from lab.studies.fit.ranked_alike import ranked_alike
from lab.studies.fit.told_apart import FEATURES, told, windows
from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.paths.shipped_series import PINGS, read_series
from vcgym.network.traces.cards import Card
from vcgym.network.traces.trace import Trace

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


@pytest.mark.long
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
def test_a_series_that_ships_has_its_tables_and_the_same_ones_again(tmp_path):
    """Drawn and measured pings are told apart in less than four of five cases, and the page has a row of each."""
    trace = next(iter(read_series(PINGS).values()))
    config = ToldApartConfig(folder=tmp_path, probes=PROBES, calls=0, seed=3)
    found = judged("pings", [trace], config)
    assert page([found], config) == page([judged("pings", [trace], config)], config)
    assert page([found], config).count(f"| {trace.name} |") == 1 + 3 + 5
    assert 0.4 < float(found["Windows told apart"][0][2]) < 0.8


@pytest.mark.long
def test_a_ranking_on_a_series_is_that_on_its_other_half():
    """Paths of 20, 50 and 90 ms of one process: drawn worlds and replays rank systems as each other."""
    draws = np.random.default_rng(5)
    card = Card(name="k", description="", source="", licence="", sha256="0" * 64, kind="synthesised", units="ms")
    sent_us = np.arange(12_000) * 10_000
    paths = [Trace(f"{ms} ms", sent_us, series(draws, 0.5, 12_000) // 4 + 1000 * ms, card, round_trip=False) for ms in (50, 20, 90)]
    for alike in ranked_alike(paths, 8, 500, ("DRT-WM", "GRD-WM", "RND-WM")):
        assert alike.replay > 0.9 and min(alike.drawn) > 0.9
