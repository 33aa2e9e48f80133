"""Normal draws of which only the smallest is wanted: one that cannot be it is not worked out. Draws are counter-based: none is missed."""

import math

from vcgym.network.jit import kernel
from vcgym.network.rng import normal

FARTHEST_SD = 9.0  # no draw of `normal` lies as many standard deviations out: its smallest is -8.3


@kernel
def draw_below(limit_ms, mean_ms, sd_ms, key, counter):
    """Draw number `counter` of stream `key` from N(mean, sd^2), or +inf if it is certain not to lie below `limit_ms`."""
    if mean_ms - FARTHEST_SD * sd_ms >= limit_ms:
        return math.inf
    return mean_ms + sd_ms * normal(key, counter)
