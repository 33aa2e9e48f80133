"""The fit report: its measures on series of known structure, and the fit of the shipped parameters to the measurements."""

from pathlib import Path

import numpy as np
import pytest

from lab.studies.fit.page import SCENARIOS, fit_page
from lab.studies.fit.report import fit_report
from lab.studies.fit.time_structure import LAGS_MS, drawn_structure, measured_structure, time_structure
from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.cards import data_root


def test_structure_of_a_series_that_forgets_at_a_known_rate():
    draws, phi, x = np.random.default_rng(0), np.exp(-0.2), np.zeros(200_000)
    noise = draws.normal(size=len(x))
    for i in range(1, len(x)):
        x[i] = phi * x[i - 1] + np.sqrt(1.0 - phi * phi) * noise[i]
    found = time_structure(np.int64(100_000) + np.rint(1000.0 * x).astype(np.int64))
    np.testing.assert_allclose(found.autocorrelation, np.exp(-np.array(LAGS_MS) / 50.0), atol=0.03)
    assert found.overtaken == 0.0


def test_overtaking_and_spikes_are_counted():
    delay_us = np.full(10_000, 20_000)
    delay_us[::1000] = 45_000  # a packet every 10 s that the next two overtake: one arrival in 1000 goes back
    delay_us[500::1000] = LOST
    found = time_structure(delay_us)
    assert found.overtaken == pytest.approx(10 / 9990, rel=0.01)
    assert (found.spike_mean_ms, found.spike_p90_ms) == (10.0, 10.0)


def test_a_path_in_order_overtakes_nothing_and_mode_paper_does():
    assert drawn_structure("correlated", "quiet", 200.0, 2_000).overtaken == 0.0
    assert drawn_structure("paper", None, slots=2_000).overtaken > 0.2


@pytest.mark.data
@pytest.mark.parametrize("name", SCENARIOS)
def test_parameters_give_back_what_they_were_fitted_to(name):
    rows = {(row.law, row.statistic.split(" of ")[0]): row for row in fit_report(name, data_root())}
    assert rows["correlated, ordinary hour", "min"].error_median < 0.05
    assert rows["correlated, ordinary hour", "avg"].error_median < 0.15
    assert rows["correlated, ordinary hour", "max"].error_median < 0.5
    assert rows["paper, median burst", "avg"].error_median < 0.05
    if name != "cloud":
        assert rows["paper, worst burst", "mean"].error_median < 1.5
        assert rows["correlated, two days", "sd"].error_median < 3.0


@pytest.mark.data
def test_measured_series_are_in_order_and_forget_within_a_second():
    rows = measured_structure(data_root())
    assert all(row.overtaken < 0.0003 for row in rows)
    assert all(0.7 < row.autocorrelation[0] < 1.0 and row.autocorrelation[-1] < 0.3 for row in rows)


@pytest.mark.data
def test_the_page_in_the_docs_is_the_page_that_is_made():
    assert (Path(__file__).parents[3] / "lab" / "notes" / "fit.md").read_text(encoding="utf-8") == fit_page(data_root())
