"""What a predictor is: a NamedTuple of parameters, and one function chosen by that class inside any compiled loop.

    predict_e2e(params, transmit_delay_ms, jitter_ms) -> end-to-end delay in ms

A predictor forecasts and never acts. numba picks the version while compiling, from the class of `params`, so that a loop holding a
predictor stays in the disk cache; without the JIT the same name dispatches in Python.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba.extending import overload
from numpy.typing import ArrayLike, NDArray

from vcgym.network.jit import kernel

F = TypeVar("F", bound=Callable[..., Any])

_PREDICTORS: dict[type, Callable[..., Any]] = {}
_CHECKS: dict[type, Callable[[Any], None]] = {}


def predict_e2e(params: Any, transmit_delay_ms: float, jitter_ms: float) -> float:
    """End-to-end delay (ms) expected of the next packet.

    Args:
        params: the predictor, a NamedTuple whose class is registered with `predicts`.
        transmit_delay_ms: one-way delay of the newest packet of the path whose feedback has arrived.
        jitter_ms: lag that Algorithm 2 holds on what has been fed back so far.
    """
    forecast: float = _PREDICTORS[type(params)](params, transmit_delay_ms, jitter_ms)
    return forecast


def predict_each(params: Any, transmit_delay_ms: ArrayLike, jitter_ms: ArrayLike) -> NDArray[np.float64]:
    """`predict_e2e` of each pair of entries, compiled; arguments and result have the shape they broadcast to."""
    require_predictor(params)
    transmits, jitters = np.broadcast_arrays(np.asarray(transmit_delay_ms, np.float64), np.asarray(jitter_ms, np.float64))
    forecasts = np.empty(transmits.size)
    _predict_each(params, transmits.ravel(), jitters.ravel(), forecasts)
    return forecasts.reshape(transmits.shape)


def require_predictor(params: Any) -> None:
    """Refuse what is no predictor, or holds values that its function cannot work with.

    Raises:
        TypeError: the class is not registered, or a field has a wrong type.
        ValueError: a field has a wrong shape or value.
    """
    if type(params) not in _PREDICTORS:
        known = ", ".join(sorted(kind.__name__ for kind in _PREDICTORS))
        raise TypeError(f"predictor is {params!r}, a {type(params).__name__}; allowed here: {known}")
    _CHECKS[type(params)](params)


def predicts(params_class: type, check: Callable[[Any], None] = lambda params: None) -> Callable[[F], F]:
    """Make the decorated function `predict_e2e` for predictors whose parameters are a `params_class`.

    Args:
        params_class: a NamedTuple.
        check: refuses parameters of that class, with TypeError or ValueError, that the function cannot work with.
    """

    def register(function: F) -> F:
        _PREDICTORS[params_class], _CHECKS[params_class] = function, check
        return function

    return register


@overload(predict_e2e, jit_options={"_nrt": False})  # no reference counts, see `vcgym.network.jit.kernel`
def _choose(params, transmit_delay_ms, jitter_ms):
    return _PREDICTORS.get(getattr(params, "instance_class", type(None)))


@kernel
def _predict_each(params, transmit_delay_ms, jitter_ms, forecast_ms):
    for i in range(forecast_ms.size):
        forecast_ms[i] = predict_e2e(params, transmit_delay_ms[i], jitter_ms[i])
