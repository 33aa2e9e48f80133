"""Rows of a forecast with known truth, and a check that every method passes."""

import numpy as np
import pyarrow as pa

from vcgym.predictors.rows import COLUMNS, Rows, partition
from vcgym.predictors.training import Site, fit_dnn

QUICK = {"epochs": 3, "batch_size": 256}


def made_rows(calls=30, each=100, noise_ms=0.0, seed=0):
    """Calls over paths of constant delay and lag, watermark playout: e2e = delay + lag rounded up to the packet's 10 ms, plus noise."""
    draws = np.random.default_rng(seed)
    n = calls * each
    transmit = np.repeat(draws.uniform(40.0, 700.0, calls), each)
    lag = np.repeat(draws.uniform(10.0, 300.0, calls), each)
    columns = {field.name: np.zeros(n) for field in COLUMNS if field.type == pa.float64()}
    columns |= {field.name: np.full(n, "x", object) for field in COLUMNS if field.type == pa.string()}
    columns |= {"session": np.repeat(np.arange(calls), each), "packet": np.tile(np.arange(each), calls), "path": np.zeros(n, np.int64)}
    columns["pair"] = np.char.add("pair", columns["session"].astype(str)).astype(object)
    noise = noise_ms * draws.standard_exponential(n)
    columns |= {"transmit_ms": transmit, "lag_ms": lag, "end_to_end_ms": transmit + np.ceil(lag / 10.0) * 10.0 + noise}
    return Rows(columns, np.column_stack([transmit, lag]), np.arange(n))


def fitted(method, rows, holdout="random", seed=0):
    parts = partition(rows, holdout, seed)
    return fit_dnn(method, parts.fit, parts.check, seed, Site()), parts


def assert_same_seed_same_forecasts_and_no_target_is_read(method):
    rows = made_rows(noise_ms=20.0)
    first, parts = fitted(method, rows, seed=1)
    forecasts = first.predict(parts.test)
    again, _ = fitted(method, rows, seed=1)
    assert (again.predict(parts.test) == forecasts).all()
    other, _ = fitted(method, rows, seed=2)
    assert (other.predict(parts.test) != forecasts).any()
    assert np.isfinite(forecasts).all() and len(forecasts) == len(parts.test)
    blind = Rows({**rows.columns, "end_to_end_ms": np.full(len(rows), np.nan)}, rows.inputs_ms, parts.test.at)
    assert (first.predict(blind) == forecasts).all()
