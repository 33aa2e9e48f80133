"""Student's and the normal law, for any number of degrees of freedom from 1 on, whole or not.

Source: NIST Digital Library of Mathematical Functions, section 8.17: equation 22, evaluated by Lentz's method (Numerical Recipes, section
5.2), for the incomplete beta function, whose half at v / (v + t^2) is the share of Student's law beyond t.
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

NORMAL = NormalDist()
_PRECISION, _TINY = 1e-14, 1e-300
_CLOSE = 1e-9  # relative; the error after such a step is its square


def student_beyond(t: ArrayLike, freedom: ArrayLike) -> NDArray[np.float64]:
    """Return the share of Student's law above `t`."""
    size, v = np.broadcast_arrays(np.abs(np.asarray(t, float)), np.asarray(freedom, float))
    with np.errstate(divide="ignore", over="ignore"):  # at 0 and far out the limits are right
        x, rest = 1.0 / (1.0 + size**2 / v), 1.0 / (1.0 + v / size**2)
    is_near = x > (v + 2.0) / (v + 5.0)  # the fraction converges fast on one side of this alone
    half, other = np.where(is_near, 0.5, 0.5 * v), np.where(is_near, 0.5 * v, 0.5)
    share = _beta_share(np.where(is_near, rest, x), np.where(is_near, x, rest), half, other)
    beyond = 0.5 * np.where(is_near, 1.0 - share, share)
    return np.where(np.asarray(t) < 0.0, 1.0 - beyond, beyond)


def student_quantile(beyond: float, freedom: ArrayLike) -> NDArray[np.float64]:
    """Return the value that Student's law exceeds with probability `beyond`, below one half.

    Newton's method from the normal quantile: the tail is convex and heavier than the normal one, so no step leads beyond the solution.
    """
    v = np.asarray(freedom, float)
    log_peak = _log_gamma(0.5 * (v + 1.0)) - _log_gamma(0.5 * v) - 0.5 * np.log(math.pi * v)
    t = np.full(v.shape, NORMAL.inv_cdf(1.0 - beyond))
    is_open = np.ones(v.shape, bool)
    while is_open.any():
        density = np.exp(log_peak - 0.5 * (v + 1.0) * np.log1p(t**2 / v))
        step = (student_beyond(t, v) - beyond) / density
        t = np.where(is_open, t + step, t)  # what has converged stays, so a value does not depend on those next to it
        is_open &= step > _CLOSE * t
    return t


def as_normal(t: NDArray[np.float64], freedom: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal number that is exceeded with the same probability as `t` of Student's law; NaN stays NaN."""
    return np.vectorize(_normal_beyond, otypes=[float])(student_beyond(np.abs(t), freedom)) * np.sign(t)


def _normal_beyond(share: float) -> float:
    if math.isnan(share):
        return share
    return -NORMAL.inv_cdf(share) if share else math.inf


def _log_gamma(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.vectorize(math.lgamma, otypes=[float])(values)


def _beta_share(x: NDArray[np.float64], rest: NDArray[np.float64], a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return the regularised incomplete beta function of x = 1 - rest; it is precise for x < (a + 1) / (a + b + 2)."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    with np.errstate(divide="ignore"):
        log_front = _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b) + a * np.log(x) + b * np.log(rest)
    upper, lower = np.ones(x.shape), 1.0 / _no_zero(1.0 - (a + b) / (a + 1.0) * x)
    fraction, is_open, m = lower, ~np.isnan(x), 0
    while is_open.any():
        m += 1
        before = fraction
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            upper, lower = _no_zero(1.0 + factor / upper), 1.0 / _no_zero(1.0 + factor * lower)
            fraction = np.where(is_open, fraction * upper * lower, fraction)
        is_open &= np.abs(fraction - before) > _PRECISION * np.abs(before)
    return np.exp(log_front) / a * fraction


def _no_zero(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.abs(values) < _TINY, _TINY, values)
