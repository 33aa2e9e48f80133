"""The paired stratified bootstrap: the spread of a statistic over other worlds.

Every system has played the same worlds, so a resample draws worlds, not rows: within each kind with replacement, and the same worlds for
every system. The drawn worlds depend only on the kinds, so the interval of a system does not depend on the other systems of its board.
Of worlds near each other in measured time, which count as fewer independent calls (`paired`), so many are drawn, each several times.

Intervals are percentile intervals (BCa is undefined if all worlds agree, as in tied controls) with two corrections. First, the variance of
a resample of n values is too small by (n - 1) / n, so the ends are scaled away from the estimate by sqrt(W / (W - H)) for W worlds of H
kinds, which is sqrt(n / (n - 1)) if every kind has n. Second, they are scaled by the ratio of Student's quantile to the normal one, because
the spread of few worlds is itself an estimate. Its degrees of freedom are Satterthwaite's, (sum v)^2 / sum v^2 / (n - 1), with v the
variance within a kind times n, so that a suite in which few kinds cause the noise counts as a small one. Without both (`plain`), an
interval over 3 worlds of each kind contains the truth in seven of eight cases, see `coverage`.

Source: Agarwal et al. 2021 (arXiv 2108.13264), section 3, for the stratified percentile bootstrap; Efron and Tibshirani, An Introduction to
the Bootstrap (1993), section 12, for the factor; Satterthwaite, Biometrics Bulletin 2 (1946), for the degrees of freedom.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtr, stdtrit

NORMAL = NormalDist()
CONFIDENCE = 0.95
NORMAL_QUANTILE = NORMAL.inv_cdf(0.5 + 0.5 * CONFIDENCE)
RESAMPLES = 2000
ENTRIES = 8_000_000  # maximum number of values gathered at once, to bound memory


def student_quantile(beyond: float, freedom: ArrayLike) -> NDArray[np.float64]:
    """Return the value that Student's law exceeds with probability `beyond`."""
    return -np.asarray(stdtrit(freedom, beyond))


def as_normal(t: NDArray[np.float64], freedom: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal number that is exceeded with the same probability as `t` of Student's law; NaN stays NaN."""
    return -np.asarray(ndtri(stdtr(freedom, -np.abs(t)))) * np.sign(t)


class Estimate(NamedTuple):
    """Value with its 95 % interval; NaN if undefined."""

    value: float
    low: float
    high: float


class Spread(NamedTuple):
    """Statistic of a sample and of its resamples.

    Attributes:
        centre: (...) the statistic.
        resampled: (..., RESAMPLES) the statistic of each resample; the last axis is empty for a single world.
        factor: correction of the too small spread of resamples.
        student: (...) ratio of Student's to the normal 97.5 % quantile, or one number for all.
    """

    centre: np.ndarray
    resampled: np.ndarray
    factor: float
    student: np.ndarray | float

    @property
    def error(self) -> np.ndarray:
        """Standard error (...); NaN if nothing can be resampled."""
        if not self.resampled.shape[-1]:
            return np.full(self.centre.shape, np.nan)
        return self.factor * self.resampled.std(axis=-1, ddof=1)

    def interval(self, plain: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the 95 % interval; `plain` omits both factors."""
        if not self.resampled.shape[-1]:
            return np.full(self.centre.shape, np.nan), np.full(self.centre.shape, np.nan)
        beyond = 0.5 * (1.0 - CONFIDENCE)
        with np.errstate(invalid="ignore"):
            low, high = np.quantile(self.resampled, [beyond, 1.0 - beyond], axis=-1)
        factor = 1.0 if plain else self.factor * self.student
        return self.centre + factor * (low - self.centre), self.centre + factor * (high - self.centre)

    def estimates(self) -> list[Estimate]:
        """Return one estimate per entry of a one-dimensional statistic."""
        low, high = self.interval()
        return [Estimate(*map(float, three)) for three in zip(self.centre, low, high, strict=True)]


def resample(
    values: np.ndarray, sizes: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray], rng_seed: int = 0, resamples: int = RESAMPLES,
    noise: np.ndarray | None = None, calls: np.ndarray | None = None,
) -> Spread:  # fmt: skip
    """Return a statistic and its resamples.

    Args:
        values: (..., W) values, with worlds of the same kind adjacent.
        sizes: (H,) number of worlds of each kind.
        statistic: takes values (..., R, W) of R resamples and returns (..., R), or (x, R) with any first axes x.
        rng_seed: seed of the resampling.
        resamples: number of resamples.
        noise: (x, W) values whose spread determines that of each entry of the statistic, for Student's quantile; for differences the paired
            differences. None: `values`.
        calls: (H,) whole number of independent calls that each kind counts as; None: `sizes`.
    """
    worlds = values.shape[-1]
    if not worlds:
        nothing = statistic(np.full((*values.shape[:-1], 1, 1), np.nan))[..., 0]
        return Spread(nothing, np.zeros((*nothing.shape, 0)), math.nan, math.nan)
    centre = statistic(values[..., None, :])[..., 0]
    calls = sizes if calls is None else calls
    if (calls < 2).any():
        return Spread(centre, np.zeros((*centre.shape, 0)), math.nan, math.nan)
    draws = np.random.default_rng(rng_seed)
    starts = np.cumsum(sizes) - sizes
    drawn = np.concatenate(
        [
            start + np.repeat(draws.integers(size, size=(resamples, count)), _times(size, count), axis=1)
            for start, size, count in zip(starts, sizes.tolist(), calls.tolist(), strict=True)
        ],
        axis=1,
    )
    at_once = max(1, ENTRIES // values.size)
    found = np.concatenate([statistic(values[..., drawn[cut : cut + at_once]]) for cut in range(0, resamples, at_once)], axis=-1)
    factor = math.sqrt(calls.sum() / (calls.sum() - len(calls)))
    return Spread(centre, found, factor, _student(values if noise is None else noise, sizes, calls))


def _times(size: int, count: int) -> np.ndarray:
    """Return how often each of `count` drawn worlds stands for one of `size`: as equal as whole numbers can be."""
    return np.diff(np.arange(count + 1) * size // count)


def _student(noise: np.ndarray, sizes: np.ndarray, calls: np.ndarray) -> np.ndarray:
    """Return the ratio of Student's quantile to the normal one, from the variances within kinds; 1 if nothing varies."""
    kinds = np.split(noise, np.cumsum(sizes)[:-1], axis=-1)
    spreads = np.stack([kind.shape[-1] * kind.var(axis=-1, ddof=1) for kind in kinds], axis=-1) * (sizes / calls)
    varies = np.asarray(spreads.any(axis=-1))
    quantile = quantile_of_parts(np.where(varies[..., None], spreads, 1.0), calls)
    return np.where(varies, quantile / NORMAL_QUANTILE, 1.0)


def quantile_of_parts(parts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return Student's 97.5 % quantile, with Satterthwaite's degrees of freedom.

    Args:
        parts: (..., H) contribution of each kind to the total variance, in any unit; not all 0.
        sizes: (H,) number of values of each kind, at least 2.
    """
    freedom = parts.sum(axis=-1) ** 2 / (parts**2 / (sizes - 1)).sum(axis=-1)
    return student_quantile(0.5 * (1.0 - CONFIDENCE), freedom)


def interval(kinds: Sequence[ArrayLike], calls: Sequence[int] | None = None) -> Estimate:
    """Return the mean over kinds of the mean over runs, with its 95 % interval by Student's distribution over runs, as in S1.

    The mean over K kinds has the standard error sqrt(sum v / n) / K, with v the variance within a kind of n runs, and Satterthwaite's
    degrees of freedom; for one kind this is the ordinary interval. Differences are between paired runs.

    Args:
        kinds: values (runs,) of each kind; the ends are NaN if a kind has a single run.
        calls: number of independent runs that those of each kind count as; None: all of them.
    """
    values = [np.asarray(kind, np.float64) for kind in kinds]
    mean = float(np.mean([one.mean() for one in values]))
    counts = np.array([len(one) for one in values] if calls is None else calls)
    if (counts < 2).any():
        return Estimate(mean, math.nan, math.nan)
    parts = np.array([one.var(ddof=1) for one in values]) / counts
    if not parts.any():
        return Estimate(mean, mean, mean)
    half = float(quantile_of_parts(parts, counts)) * math.sqrt(parts.sum()) / len(values)
    return Estimate(mean, mean - half, mean + half)
