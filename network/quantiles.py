"""Quantile tables: a distribution as its values at equally spaced probabilities, so that one draw costs one look-up.

The Beta distribution function is the regularised incomplete beta function by its continued fraction (Abramowitz and Stegun 26.5.8,
evaluated by Lentz's method).
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.network.jit import kernel
from vcgym.network.rng import normal_quantile

TABLE_POINTS = 1025
_MAX_TERMS = 500
_TINY = 1e-300


@kernel
def beta_probability(x, a, b):
    """P(X <= x) for X ~ Beta(a, b), 0 <= x <= 1, a, b > 0."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - beta_probability(1.0 - x, b, a)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)) / a
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        change = 1.0
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + term / c
            c = c if abs(c) > _TINY else _TINY
            change = c * d
            value *= change
        if abs(change - 1.0) < 1e-14:
            break
    return front * value


@kernel
def draw_from_table(table, link, u):
    """Value of row `link` of `table` (links, TABLE_POINTS) at probability `u` in [0, 1), linear between the points."""
    place = u * (TABLE_POINTS - 1)
    i = int(place)
    low = table[link, i]
    return low + (table[link, i + 1] - low) * (place - i)


@kernel
def _bisect_beta(p, a, b):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if beta_probability(middle, a, b) < p:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@kernel
def _fill_beta(table, low, high, a, b):
    for i in range(TABLE_POINTS):
        table[i] = low + (high - low) * _bisect_beta(i / (TABLE_POINTS - 1), a, b)
    table[0], table[TABLE_POINTS - 1] = low, high


def beta_table(low: float, high: float, a: float, b: float) -> NDArray[np.float64]:
    """Quantiles of a Beta(a, b) stretched to [low, high], at TABLE_POINTS equally spaced probabilities from 0 to 1."""
    table = np.empty(TABLE_POINTS)
    _fill_beta(table, low, high, a, b)
    return table


def lognormal_table(base: float, log_mean: float, log_sd: float) -> NDArray[np.float64]:
    """Quantiles of base + lognormal; the two ends stand for probabilities half a step inside, since the upper one has no bound."""
    step = 1.0 / (TABLE_POINTS - 1)
    p = np.clip(np.arange(TABLE_POINTS) * step, 0.5 * step, 1.0 - 0.5 * step)
    return base + np.exp(log_mean + log_sd * np.array([normal_quantile(x) for x in p]))
