"""Forecast of each path: the end-to-end delay predicted from the records that have reached the location.

The predictor's inputs are the newest delay of the path and the lag of Algorithm 2 of the VCRoute paper, run at the location on its media
records. The forecasts of all paths of a call are updated together.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import allocate, decide, init, update
from vcgym.envs.call.features.added import PATHS, added_feature, measure
from vcgym.envs.call.features.layout import LIMIT, PER_100_MS, Feature, within
from vcgym.predictors.predictor import predict_row, require_predictor
from vcgym.predictors.published import shipped_network

SHIPPED = "shipped"
FORECAST_FEATURE = Feature("predicted_e2e", "100 ms, end-to-end delay expected of a packet", 0, LIMIT, "newest_age, record_age")
_BEFORE_ALL_US = -(2**62)


@added_feature(PATHS, FORECAST_FEATURE)
class Forecast(NamedTuple):
    """A predictor and the rule whose lag is its second input."""

    predictor: Any
    jitter: WMJitter = WMJitter()


class ForecastState(NamedTuple):
    """State; first axis: session, second: path."""

    jitter: Any  # state of the rule that computes the lag
    newest_sent_us: NDArray[np.int64]
    transmit_ms: NDArray[np.float64]  # delay of the newest packet; the historical mean before the first
    jitter_ms: NDArray[np.float64]
    e2e_ms: NDArray[np.float64]


def forecast_by(predictor: Any) -> Forecast:
    """Return the forecast of a predictor: "shipped" for the network shipped with vcgym, or parameters.

    Raises:
        TypeError: `predictor` is not a predictor.
        ValueError: it has invalid values, or the shipped network is broken.
    """
    chosen = shipped_network() if isinstance(predictor, str) and predictor == SHIPPED else predictor
    require_predictor(chosen)
    return Forecast(chosen)


@allocate.register(Forecast)
def _allocate(params, sessions, paths):
    rows = (np.zeros((sessions, paths)) for _ in range(3))
    return ForecastState(allocate(params.jitter, sessions, paths), np.zeros((sessions, paths), np.int64), *rows)


@init.register(Forecast)
def _init(params, state, s, start, key):
    init(params.jitter, state.jitter, s, start, key)
    for path in range(state.transmit_ms.shape[1]):
        state.newest_sent_us[s, path] = _BEFORE_ALL_US
        state.transmit_ms[s, path] = start.mean_ms[path]


@update.register(Forecast)
def _update(params, state, s, record):
    if record.sent_us >= state.newest_sent_us[s, record.path]:
        state.newest_sent_us[s, record.path] = record.sent_us
        state.transmit_ms[s, record.path] = (record.arrived_us - record.sent_us) * 0.001
    if record.kind == MEDIA:
        update(params.jitter, state.jitter, s, record)


@measure.register(Forecast)
def _measure(params, state, s, now_us, out):
    lag_ms = decide(params.jitter, state.jitter, s, now_us) / 1000.0
    for path in range(out.size):
        state.jitter_ms[s, path] = lag_ms
    predict_row(params.predictor, state.transmit_ms[s], state.jitter_ms[s], state.e2e_ms[s])
    for path in range(out.size):
        out[path] = within(state.e2e_ms[s, path] * PER_100_MS, 0.0, LIMIT)
