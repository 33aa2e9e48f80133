"""The simplest forecast: the next packet has the delay of the last packet with feedback."""

from typing import NamedTuple

from vcgym.predictors.predictor import predict_e2e


class LastValue(NamedTuple):
    """Predictor of the path's newest fed-back one-way delay; it ignores the delay added at the receiver."""


@predict_e2e.register(LastValue)
def last_value(params, transmit_delay_ms, jitter_ms):
    """Return `transmit_delay_ms` unchanged."""
    return transmit_delay_ms
