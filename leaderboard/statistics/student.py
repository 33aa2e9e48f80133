"""95 % intervals by Student's distribution over runs, as in S1: for one kind of world, and for the mean over several kinds.

The mean over K kinds has the standard error sqrt(sum v / n) / K, with v the variance within a kind of n runs, and Satterthwaite's degrees
of freedom; for one kind this is the ordinary interval. Differences are between paired runs.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.statistics.resampling import student_quantile


def interval(kinds: Sequence[ArrayLike]) -> Estimate:
    """Return the mean over kinds of the mean over runs, from values (runs,) of each kind. Ends are NaN if a kind has a single run."""
    values = [np.asarray(kind, np.float64) for kind in kinds]
    mean = float(np.mean([one.mean() for one in values]))
    if any(len(one) < 2 for one in values):
        return Estimate(mean, math.nan, math.nan)
    parts = np.array([one.var(ddof=1) / len(one) for one in values])
    if not parts.any():
        return Estimate(mean, mean, mean)
    half = float(student_quantile(parts, np.array([len(one) for one in values]))) * math.sqrt(parts.sum()) / len(values)
    return Estimate(mean, mean - half, mean + half)
