"""Normal draws for a minimum: draws that cannot be the minimum are not computed. Skipping is safe, since draws are counter-based.

A draw certainly exceeds a limit if its mean and standard deviation say so, or if its underlying uniform number is not below
P(N(mean, sd^2) < limit), up to the step of a table. That is an integer comparison, made before computing the normal quantile.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.rng import bits64, normal

FARTHEST_SD = 9.0  # bound on draws of `normal` in standard deviations; the smallest is -8.3

_PER_SD = 64.0  # table steps per standard deviation
_SLACK = 2  # extra steps, so that rounding cannot make a bound too low


def _upper_bound_table() -> NDArray[np.uint64]:
    steps = np.arange(int(2 * FARTHEST_SD * _PER_SD) + 1) + _SLACK
    shares = [0.5 * math.erfc((FARTHEST_SD - step / _PER_SD) / math.sqrt(2.0)) for step in steps]
    return np.array([min(int(share * 2.0**64) + 2**11, 2**64 - 1) for share in shares], np.uint64)


_UPPER_BOUNDS = _upper_bound_table()


@kernel
def upper_bound(limit_ms, mean_ms, sd_ms):
    """Return an upper bound on the 64 random bits of a draw from N(mean, sd^2) below `limit_ms`; sd > 0."""
    # Clipped, since the table ends there; no draw lies beyond.
    limit_sd = min(max((limit_ms - mean_ms) / sd_ms, -FARTHEST_SD), FARTHEST_SD)
    return _UPPER_BOUNDS[np.uint64((limit_sd + FARTHEST_SD) * _PER_SD)]


@kernel
def draw_below(limit_ms, mean_ms, sd_ms, key, counter):
    """Return a draw from N(mean, sd^2), or +inf if it is certainly not below a limit.

    Args:
        limit_ms: float64, limit; +inf: the draw is always returned.
        mean_ms: float64, mean.
        sd_ms: float64, standard deviation, above 0.
        key: uint64, random stream.
        counter: int64, number of the draw in the stream.
    """
    if mean_ms - FARTHEST_SD * sd_ms >= limit_ms or bits64(key, counter) > upper_bound(limit_ms, mean_ms, sd_ms):
        return math.inf
    return mean_ms + sd_ms * normal(key, counter)
