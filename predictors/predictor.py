"""What a predictor is: a NamedTuple of parameters, and one function chosen by that class inside any compiled loop.

    predict_e2e(params, transmit_delay_ms, jitter_ms) -> end-to-end delay in ms
    predict_row(params, transmit_delay_ms, jitter_ms, forecast_ms)           the same of each entry of rows, to the bit

A predictor forecasts and never acts. One that is faster at several inputs than at each of them has a `predict_row` of its own. numba picks
the version while compiling, from the class of `params`, so that a loop holding a predictor stays in the disk cache; without the JIT the
same names dispatch in Python.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba.extending import overload
from numpy.typing import ArrayLike, NDArray

from vcgym.network.kernels.jit import kernel

F = TypeVar("F", bound=Callable[..., Any])

_PREDICTORS: dict[type, Callable[..., Any]] = {}
_CHECKS: dict[type, Callable[[Any], None]] = {}
_ROWS: dict[type, Callable[..., None]] = {}


def predict_e2e(params: Any, transmit_delay_ms: float, jitter_ms: float) -> float:
    """End-to-end delay (ms) expected of the next packet.

    Args:
        params: the predictor, a NamedTuple whose class is registered with `predicts`.
        transmit_delay_ms: one-way delay of the newest packet of the path whose feedback has arrived.
        jitter_ms: lag that Algorithm 2 holds on what has been fed back so far.
    """
    forecast: float = _PREDICTORS[type(params)](params, transmit_delay_ms, jitter_ms)
    return forecast


def predict_row(params: Any, transmit_delay_ms: Any, jitter_ms: Any, forecast_ms: Any) -> None:
    """Write `predict_e2e` of each pair of entries of two rows (n,) float64 into the row `forecast_ms` (n,) float64."""
    _ROWS.get(type(params), _one_by_one)(params, transmit_delay_ms, jitter_ms, forecast_ms)


def predict_each(params: Any, transmit_delay_ms: ArrayLike, jitter_ms: ArrayLike) -> NDArray[np.float64]:
    """`predict_e2e` of each pair of entries, compiled; arguments and result have the shape they broadcast to."""
    require_predictor(params)
    transmits, jitters = np.broadcast_arrays(np.asarray(transmit_delay_ms, np.float64), np.asarray(jitter_ms, np.float64))
    forecasts = np.empty(transmits.size)
    _predict_row(params, transmits.ravel(), jitters.ravel(), forecasts)
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


def predicts_rows(params_class: type) -> Callable[[F], F]:
    """Make the decorated function `predict_row` for predictors of a class; its forecasts are those of `predict_e2e` to the bit."""

    def register(function: F) -> F:
        _ROWS[params_class] = function
        return function

    return register


@overload(predict_e2e, jit_options={"_nrt": False})  # no reference counts, see `vcgym.network.kernels.jit.kernel`
def _choose(params, transmit_delay_ms, jitter_ms):
    return _PREDICTORS.get(getattr(params, "instance_class", type(None)))


@overload(predict_row, jit_options={"_nrt": False})
def _choose_row(params, transmit_delay_ms, jitter_ms, forecast_ms):
    params_class = getattr(params, "instance_class", type(None))
    return _ROWS.get(params_class, _one_by_one) if params_class in _PREDICTORS else None


def _one_by_one(params, transmit_delay_ms, jitter_ms, forecast_ms):
    for i in range(forecast_ms.size):
        forecast_ms[i] = predict_e2e(params, transmit_delay_ms[i], jitter_ms[i])


@kernel
def _predict_row(params, transmit_delay_ms, jitter_ms, forecast_ms):
    predict_row(params, transmit_delay_ms, jitter_ms, forecast_ms)
