"""Forecast of each path: the end-to-end delay that a predictor expects, from the records that have reached the location.

Written as a rule, so that the record loop dispatches on its type: `update` runs a copy of Algorithm 2 of the VCRoute paper, `decide`
forecasts all paths of the call in lockstep.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.receivers.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import allocate, decide, init, update
from vcgym.envs.call.features.layout import Feature
from vcgym.envs.call.features.scales import LIMIT, PER_100_MS, within
from vcgym.network.kernels.jit import kernel
from vcgym.predictors.predictor import predict_row, require_predictor
from vcgym.predictors.published import shipped_network

SHIPPED = "shipped"
# The last one of a path, where the environment is given a predictor.
FORECAST_FEATURE = Feature("predicted_e2e", "100 ms, end-to-end delay expected of a packet", 0, LIMIT, "newest_age, record_age")


class Forecast(NamedTuple):
    """Parameters: the predictor, and the rule whose lag is its second input."""

    predictor: Any
    jitter: WMJitter = WMJitter()


class NoForecast(NamedTuple):
    """Nothing is expected of any path."""

    nothing: int = 0


class ForecastState(NamedTuple):
    """First axis the session; a row is a path's, or empty without a predictor."""

    jitter: Any  # state of the rule that computes the lag
    transmit_ms: NDArray[np.float64]
    jitter_ms: NDArray[np.float64]
    e2e_ms: NDArray[np.float64]


def forecaster(predictor: Any) -> Forecast | NoForecast:
    """Who forecasts for an observation.

    Args:
        predictor: None for nobody; "shipped" for the network that comes with vcgym; or the parameters of a predictor.

    Raises:
        TypeError: it is no predictor.
        ValueError: it holds values that it cannot work with, or the shipped network is broken.
    """
    if predictor is None:
        return NoForecast()
    chosen = shipped_network() if isinstance(predictor, str) and predictor == SHIPPED else predictor
    require_predictor(chosen)
    return Forecast(chosen)


def named(forecast: Forecast | NoForecast) -> str:
    """The predictor by its class and the hash of its numbers, for whoever must know one from another."""
    if isinstance(forecast, NoForecast):
        return "no predictor"
    content = b"".join(np.asarray(value).tobytes() for value in forecast.predictor)
    return f"{type(forecast.predictor).__name__} {hashlib.sha256(content).hexdigest()}"


@kernel
def write_forecasts(forecast, state, path_states, s, now_us, out):
    """Write the last feature of each path of session `s` into `out` (sessions, paths, features), if there is a forecaster."""
    paths = state.e2e_ms.shape[1]
    for p in range(paths):
        state.transmit_ms[s, p] = path_states[s, p].newest_ms
    decide(forecast, state, s, now_us)
    for p in range(paths):
        out[s, p, out.shape[2] - 1] = within(state.e2e_ms[s, p] * PER_100_MS, 0.0, LIMIT)


@allocate.register(Forecast)
def _allocate(params, sessions, paths):
    rows = (np.zeros((sessions, paths)) for _ in range(3))
    return ForecastState(allocate(params.jitter, sessions, paths), *rows)


@init.register(Forecast)
def _init(params, state, s, start, key):
    init(params.jitter, state.jitter, s, start, key)


@update.register(Forecast)
def _update(params, state, s, record):
    if record.kind == MEDIA:
        update(params.jitter, state.jitter, s, record)


@decide.register(Forecast)
def _decide(params, state, s, now_us):
    jitter_ms = decide(params.jitter, state.jitter, s, now_us) / 1000.0
    for path in range(state.jitter_ms.shape[1]):
        state.jitter_ms[s, path] = jitter_ms
    predict_row(params.predictor, state.transmit_ms[s], state.jitter_ms[s], state.e2e_ms[s])
    return 0


@allocate.register(NoForecast)
def _allocate_nothing(params, sessions, paths):
    return ForecastState(np.zeros(sessions, np.int8), *(np.zeros((sessions, 0)) for _ in range(3)))


@init.register(NoForecast)
def _init_nothing(params, state, s, start, key):
    pass


@update.register(NoForecast)
def _update_nothing(params, state, s, record):
    pass


@decide.register(NoForecast)
def _decide_nothing(params, state, s, now_us):
    return 0
