"""What a predictor is: a NamedTuple of parameters, and one function chosen by that class inside any compiled loop.

    predict_e2e(params, transmit_delay_ms, jitter_ms) -> end-to-end delay in ms

A predictor forecasts and never acts. numba picks the version while compiling, from the class of `params`, so that a loop holding a
predictor stays in the disk cache; without the JIT the same name dispatches in Python.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])

_PREDICTORS: dict[type, Callable[..., Any]] = {}


def predict_e2e(params: Any, transmit_delay_ms: float, jitter_ms: float) -> float:
    """End-to-end delay (ms) expected of the next packet.

    Args:
        params: the predictor, a NamedTuple whose class is registered with `predicts`.
        transmit_delay_ms: one-way delay of the newest packet of the path whose feedback has arrived.
        jitter_ms: lag that Algorithm 2 holds on what has been fed back so far.
    """
    forecast: float = _PREDICTORS[type(params)](params, transmit_delay_ms, jitter_ms)
    return forecast


def predicts(params_class: type) -> Callable[[F], F]:
    """Make the decorated function `predict_e2e` for predictors whose parameters are a `params_class`."""

    def register(function: F) -> F:
        _PREDICTORS[params_class] = function
        return function

    return register


@overload(predict_e2e)
def _choose(params, transmit_delay_ms, jitter_ms):
    return _PREDICTORS.get(getattr(params, "instance_class", type(None)))
