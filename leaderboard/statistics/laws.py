"""Student's and the normal law, for any number of degrees of freedom from 1 on, whole or not.

The share of Student's law beyond t is half of the regularised incomplete beta function at v / (v + t^2) with v / 2 and 1 / 2 (Abramowitz
and Stegun, 26.7.1 and 26.5.27).
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.worlds.quantiles import beta_probability

NORMAL = NormalDist()
_CLOSE = 1e-9  # relative; the error after such a step is its square


def student_beyond(t: ArrayLike, freedom: ArrayLike) -> NDArray[np.float64]:
    """Return the share of Student's law above `t`."""
    size, v = np.broadcast_arrays(np.asarray(t, float), np.asarray(freedom, float))
    beyond = np.empty(size.size)
    _share_beyond(np.abs(size).ravel(), np.ascontiguousarray(v).ravel(), beyond)
    return np.where(size < 0.0, 1.0 - beyond.reshape(size.shape), beyond.reshape(size.shape))


@kernel
def _share_beyond(size, freedom, beyond):
    for i in range(size.size):
        v, square = freedom[i], size[i] * size[i]
        if square < 1.0:  # of 1 - v / (v + t^2) too few digits are left near 0
            beyond[i] = 0.5 - 0.5 * beta_probability(square / (v + square), 0.5, 0.5 * v)
        else:
            beyond[i] = 0.5 * beta_probability(v / (v + square), 0.5 * v, 0.5)


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
