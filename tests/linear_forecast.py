"""A forecast linear in both inputs. By default it is delay plus jitter, which is exact if both are constant."""

import math
from typing import NamedTuple

from vcgym.predictors.predictor import check_predictor, predict_e2e


class Linear(NamedTuple):
    """Parameters: transmit delay * per_transmit + jitter * per_jitter + offset_ms."""

    per_transmit: float = 1.0
    per_jitter: float = 1.0
    offset_ms: float = 0.0


@check_predictor.register(Linear)
def require_linear(params: Linear) -> None:
    """Raise an error unless all coefficients are finite numbers.

    Raises:
        TypeError: a coefficient is not a number.
        ValueError: a coefficient is not finite.
    """
    for name, value in params._asdict().items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"Linear.{name} is {value!r}, a {type(value).__name__}; allowed is a number")
        if not math.isfinite(value):
            raise ValueError(f"Linear.{name} is {value}; allowed are finite numbers")


@predict_e2e.register(Linear)
def linear_e2e(params, transmit_delay_ms, jitter_ms):
    """Return the weighted sum of the inputs."""
    return params.per_transmit * transmit_delay_ms + params.per_jitter * jitter_ms + params.offset_ms
