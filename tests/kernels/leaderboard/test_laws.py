"""Student's and the normal law, near the middle and far out, for whole and broken degrees of freedom; trimmed means."""

import numpy as np
import pytest
from scipy import stats

from vcgym.leaderboard.statistics.aggregates import trimmed_mean
from vcgym.leaderboard.statistics.resampling import as_normal, student_quantile

DRAWS = np.random.default_rng(3)
FREEDOM = np.concatenate([[1.0, 2.0, 10.0], np.exp(DRAWS.uniform(0.0, np.log(5000.0), 500))])
T = np.concatenate([[0.0, 1.0, -2.0], DRAWS.normal(0.0, 3.0, 400), DRAWS.uniform(-40.0, 40.0, 100)])


def test_quantiles_are_those_of_the_upper_tail():
    for beyond in (0.025, 0.2, 0.4999):
        assert student_quantile(beyond, FREEDOM) == pytest.approx(stats.t.isf(beyond, FREEDOM), rel=1e-8)


def test_a_number_of_student_becomes_the_normal_one_of_its_share():
    is_near = stats.t.sf(np.abs(T), FREEDOM) > 1e-290
    wanted = np.sign(T) * stats.norm.isf(stats.t.sf(np.abs(T), FREEDOM))
    assert as_normal(T, FREEDOM)[is_near] == pytest.approx(wanted[is_near], rel=1e-9)
    ends = as_normal(np.array([np.inf, -np.inf, np.nan]), np.full(3, 4.0))
    assert ends[0] == np.inf and ends[1] == -np.inf and np.isnan(ends[2])


@pytest.mark.parametrize("trim", [0.0, 0.1, 0.25])
@pytest.mark.parametrize("count", [1, 3, 8, 41])
def test_the_trimmed_mean_is_that_of_scipy_and_nan_stays(trim, count):
    values = DRAWS.normal(size=(5, count))
    assert np.array_equal(trimmed_mean(values, trim), stats.trim_mean(values, trim, axis=-1) if trim else values.mean(axis=-1))
    values[2, 0] = np.nan
    assert np.isnan(trimmed_mean(values, trim)).tolist() == [False, False, True, False, False]
