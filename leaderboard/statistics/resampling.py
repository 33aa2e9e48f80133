"""The paired stratified bootstrap: the spread of a statistic over other worlds.

Every system has played the same worlds, so a resample draws worlds, not rows: within each kind as many as it has, with replacement, and
the same ones for every system. `scipy.stats.bootstrap` does exactly that when it is given one array of world indices per kind.

Intervals are percentile intervals (BCa is undefined where all worlds agree, and tied controls do) with two corrections: a resample of n
values has a variance that is too small by (n - 1) / n, so the ends are moved away from the estimate by sqrt(W / (W - H)), W worlds of H
kinds, which is sqrt(n / (n - 1)) where every kind has n; and by how much farther out the quantile of Student's law lies than the normal
one, since the spread within few worlds is itself a guess: its degrees of freedom are Satterthwaite's, (sum v)^2 / sum v^2 / (n - 1), v the
variance within a kind times n, so that a suite in which few kinds make the noise counts as a small one. Without both (`plain`) an interval
over 3 worlds of each kind contains the truth seven times in eight, see `coverage`.

Source: Agarwal et al. 2021 (arXiv 2108.13264), section 3, for the stratified percentile bootstrap; Efron and Tibshirani, An Introduction to
the Bootstrap (1993), section 12, for the factor; Satterthwaite, Biometrics Bulletin 2 (1946), for the degrees of freedom.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
RESAMPLES = 2000
ENTRIES = 8_000_000  # values looked up at once, to bound memory


class Estimate(NamedTuple):
    """A value and its 95 % interval; NaN where nothing can be said."""

    value: float
    low: float
    high: float


class Spread(NamedTuple):
    """A statistic of a sample and what it became in resamples.

    Attributes:
        centre: (...) the statistic.
        resampled: (..., RESAMPLES) the same of each resample; empty last axis where a lone world leaves nothing to resample.
        factor: by which resamples scatter too little.
        student: by which Student's 95 % lie farther out than the normal law's.
    """

    centre: np.ndarray
    resampled: np.ndarray
    factor: float
    student: float

    @property
    def error(self) -> np.ndarray:
        """(...) standard error; NaN where nothing can be resampled."""
        if not self.resampled.shape[-1]:
            return np.full(self.centre.shape, np.nan)
        return self.factor * self.resampled.std(axis=-1, ddof=1)

    def interval(self, plain: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the 95 % interval; `plain` leaves both factors out."""
        if not self.resampled.shape[-1]:
            return np.full(self.centre.shape, np.nan), np.full(self.centre.shape, np.nan)
        beyond = 0.5 * (1.0 - CONFIDENCE)
        with np.errstate(invalid="ignore"):
            low, high = np.quantile(self.resampled, [beyond, 1.0 - beyond], axis=-1)
        factor = 1.0 if plain else self.factor * self.student
        return self.centre + factor * (low - self.centre), self.centre + factor * (high - self.centre)

    def estimates(self) -> list[Estimate]:
        """Return one per entry of a one-dimensional statistic."""
        low, high = self.interval()
        return [Estimate(*map(float, three)) for three in zip(self.centre, low, high, strict=True)]


def resample(
    values: np.ndarray, sizes: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray], rng_seed: int = 0, resamples: int = RESAMPLES
) -> Spread:  # fmt: skip
    """Return a statistic and its resamples.

    Args:
        values: (..., W), worlds of one kind together.
        sizes: (H,) worlds of each kind.
        statistic: takes values (..., R, W) of R resamples and returns (..., R), or (x, R) of any first axes x.
        rng_seed: the same seed draws the same worlds.
        resamples: how many.
    """
    worlds = values.shape[-1]
    if not worlds:
        nothing = statistic(np.full((*values.shape[:-1], 1, 1), np.nan))[..., 0]
        return Spread(nothing, np.zeros((*nothing.shape, 0)), math.nan, math.nan)
    centre = statistic(values[..., None, :])[..., 0]
    if (sizes < 2).any():
        return Spread(centre, np.zeros((*centre.shape, 0)), math.nan, math.nan)
    ends = np.cumsum(sizes)
    found = stats.bootstrap(
        [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)],
        lambda *drawn, axis: statistic(values[..., np.concatenate(drawn, axis=axis)]),
        n_resamples=resamples,
        batch=max(1, min(resamples, ENTRIES // values.size)),
        vectorized=True,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(rng_seed),
    )
    return Spread(centre, found.bootstrap_distribution, math.sqrt(worlds / (worlds - len(sizes))), _student(values, sizes))


def _student(values: np.ndarray, sizes: np.ndarray) -> float:
    """Student's quantile over the normal one; variances within a kind are those of all systems on average."""
    ends = np.cumsum(sizes)
    kinds = [values[..., end - size : end] for end, size in zip(ends, sizes, strict=True)]
    spreads = np.array([len(kind.T) * kind.var(axis=-1, ddof=1).mean() for kind in kinds])
    if not spreads.any():
        return 1.0
    return student_quantile(spreads, sizes) / float(stats.norm.isf(0.5 * (1.0 - CONFIDENCE)))


def student_quantile(parts: np.ndarray, sizes: np.ndarray) -> float:
    """Student's 97.5 % quantile, with Satterthwaite's degrees of freedom.

    Args:
        parts: (H,) what each kind adds to the variance of the whole, in any unit; not all 0.
        sizes: (H,) values of each kind, at least 2.
    """
    freedom = parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum()
    return float(stats.t.isf(0.5 * (1.0 - CONFIDENCE), freedom))
