"""The simplest forecast: the next packet takes as long as the last one that is known about."""

from typing import NamedTuple

from vcgym.predictors.predictor import predict_e2e


class LastValue(NamedTuple):
    """Forecasts the newest fed-back one-way delay of the path; the receiver's share of the delay is left out."""


@predict_e2e.register(LastValue)
def last_value(params, transmit_delay_ms, jitter_ms):
    """Return `transmit_delay_ms`, unchanged."""
    return transmit_delay_ms
