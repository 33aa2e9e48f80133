"""Normal draws of which only the smallest is wanted: one that cannot be it is not worked out. Draws are counter-based: none is missed.

A draw is known to lie above a limit from mean and standard deviation alone, or else from the sixty-fourth of [0, 1) in which the uniform
number lies that it is made of, before the normal quantile of that number is worked out.
"""

import math
from statistics import NormalDist

import numpy as np

from vcgym.network.jit import kernel
from vcgym.network.rng import normal, uniform

FARTHEST_SD = 9.0  # no draw of `normal` lies as many standard deviations out: its smallest is -8.3

_CELLS = 64
_LOWEST_SD = np.array([-FARTHEST_SD] + [NormalDist().inv_cdf(i / _CELLS) - 1e-6 for i in range(1, _CELLS)])  # of the draws of a cell


@kernel
def draw_below(limit_ms, mean_ms, sd_ms, key, counter):
    """Draw number `counter` of stream `key` from N(mean, sd^2), or +inf if it is certain not to lie below `limit_ms`."""
    if mean_ms - FARTHEST_SD * sd_ms >= limit_ms:
        return math.inf
    if mean_ms + _LOWEST_SD[int(uniform(key, counter) * _CELLS)] * sd_ms >= limit_ms:
        return math.inf
    return mean_ms + sd_ms * normal(key, counter)
