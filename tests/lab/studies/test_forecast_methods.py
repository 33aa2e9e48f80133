"""Methods of forecasting on rows with known truth: what each says of itself, determinism, quantiles."""

import numpy as np
import pytest
from forecast_rows import QUICK, assert_same_seed_same_forecasts_and_no_target_is_read, fitted, made_rows
from scipy import stats

from lab.studies.forecasts.methods.boosting import Boosting
from lab.studies.forecasts.methods.lstm import Lstm
from lab.studies.forecasts.methods.quantile import QuantileDnn
from lab.studies.forecasts.methods.simple import DelayPlusJitter, Ewma, LastDelay, LeastSquares
from vcgym.predictors.training import Site


def test_simple_methods_are_what_they_say():
    rows = made_rows(noise_ms=5.0)
    transmit, lag = rows.inputs.T
    assert (LastDelay().fit(rows, rows, 0, Site()).predict(rows) == transmit).all()
    assert (DelayPlusJitter().fit(rows, rows, 0, Site()).predict(rows) == transmit + lag).all()
    linear = LeastSquares().fit(rows, rows, 0, Site())
    slopes = stats.linregress(linear.predict(rows), rows.target_ms)
    assert slopes.slope == pytest.approx(1.0) and slopes.intercept == pytest.approx(0.0, abs=1e-6)


def test_smoothing_begins_anew_with_each_path_of_each_call():
    rows = made_rows(calls=2, each=4)
    rows.inputs_ms[:, 0] = [100, 200, 100, 200, 50, 50, 90, 50]
    rows.columns["path"][:] = [0, 1, 0, 0, 0, 0, 0, 0]
    smoothed = Ewma(weights=(0.5,)).fit(rows, rows, 0, Site()).predict(rows) - rows.inputs[:, 1]
    assert smoothed.tolist() == [100.0, 200.0, 100.0, 150.0, 50.0, 50.0, 70.0, 60.0]


@pytest.mark.parametrize("method", [QuantileDnn(**QUICK), Lstm(**QUICK), Boosting(max_iter=20)])
def test_same_seed_same_forecasts_and_no_target_is_read(method):
    assert_same_seed_same_forecasts_and_no_target_is_read(method)


def test_quantiles_hold_what_they_promise():
    predictor, parts = fitted(QuantileDnn(epochs=20, batch_size=128), made_rows(calls=100, noise_ms=60.0))
    low, median, high = predictor.quantiles(parts.test).T
    assert (low <= median).all() and (median <= high).all()
    assert np.mean(parts.test.target_ms <= high) == pytest.approx(0.9, abs=0.06)
    assert (predictor.predict(parts.test) == median).all()
