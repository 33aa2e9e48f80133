"""A predictor: a NamedTuple of parameters, and one function that compiled loops dispatch on its class.

    predict_e2e(params, transmit_delay_ms, jitter_ms) -> end-to-end delay in ms
    predict_row(params, transmit_delay_ms, jitter_ms, forecast_ms)           the same for each entry of rows, bit for bit

A predictor forecasts and never acts. A predictor that is faster on several inputs at once registers its own `predict_row`; one whose
parameters need a check registers `check_predictor`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel


@generic(abstract=True)
def predict_e2e(params: Any, transmit_delay_ms: float, jitter_ms: float) -> Any:
    """Return the expected end-to-end delay (ms) of the next packet.

    Args:
        params: the predictor, a NamedTuple whose class registers a version of this function.
        transmit_delay_ms: one-way delay of the path's newest packet with feedback.
        jitter_ms: lag of Algorithm 2 computed from the feedback so far.
    """


@generic()
def predict_row(params: Any, transmit_delay_ms: Any, jitter_ms: Any, forecast_ms: Any) -> None:
    """Write `predict_e2e` of each pair of entries of two rows, bit for bit.

    Args:
        params: the predictor, a NamedTuple whose class registers `predict_e2e`.
        transmit_delay_ms: float64 (n,), one-way delays.
        jitter_ms: float64 (n,), lags of Algorithm 2.
        forecast_ms: float64 (n,), overwritten.
    """
    for i in range(forecast_ms.size):
        forecast_ms[i] = predict_e2e(params, transmit_delay_ms[i], jitter_ms[i])


@generic()
def check_predictor(params: Any) -> None:
    """Raise an error for parameters that `predict_e2e` cannot use; by default, accept all.

    Raises:
        TypeError: a field has a wrong type.
        ValueError: a field has a wrong shape or value.
    """


def predict_each(params: Any, transmit_delay_ms: ArrayLike, jitter_ms: ArrayLike) -> NDArray[np.float64]:
    """Run the compiled `predict_e2e` on each pair of entries; arguments broadcast to the shape of the result."""
    require_predictor(params)
    transmits, jitters = np.broadcast_arrays(np.asarray(transmit_delay_ms, np.float64), np.asarray(jitter_ms, np.float64))
    forecasts = np.empty(transmits.size)
    _predict_row(params, transmits.ravel(), jitters.ravel(), forecasts)
    return forecasts.reshape(transmits.shape)


def require_predictor(params: Any) -> None:
    """Raise an error unless `params` is a valid predictor.

    Raises:
        TypeError: the class is not registered, or a field has a wrong type.
        ValueError: a field has a wrong shape or value.
    """
    if type(params) not in predict_e2e.versions:
        known = ", ".join(sorted(cls.__name__ for cls in predict_e2e.versions))
        raise TypeError(f"predictor is {params!r}, a {type(params).__name__}; allowed here: {known}")
    check_predictor(params)


@kernel
def _predict_row(params, transmit_delay_ms, jitter_ms, forecast_ms):
    predict_row(params, transmit_delay_ms, jitter_ms, forecast_ms)


class LastValue(NamedTuple):
    """Predictor of the path's newest fed-back one-way delay; it ignores the delay added at the receiver."""


@predict_e2e.register(LastValue)
def last_value(params, transmit_delay_ms, jitter_ms):
    return transmit_delay_ms
