"""95 % intervals by Student's law over runs, as S1 gives them: of one kind of world, and of the mean over several kinds.

The mean over kinds has the standard error sqrt(sum v / n) / K, v the variance within a kind of n runs, and Satterthwaite's degrees of
freedom; of one kind that is the ordinary interval. Differences are of paired runs.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from vcgym.leaderboard.statistics import CONFIDENCE, Estimate


def interval(kinds: Sequence[ArrayLike]) -> Estimate:
    """Mean over kinds of the mean over runs; (runs,) values of each kind. Ends are NaN where a kind has a single run."""
    values = [np.asarray(kind, np.float64) for kind in kinds]
    mean = float(np.mean([one.mean() for one in values]))
    if any(len(one) < 2 for one in values):
        return Estimate(mean, math.nan, math.nan)
    parts = [one.var(ddof=1) / len(one) for one in values]
    variance = sum(parts)
    if variance == 0.0:
        return Estimate(mean, mean, mean)
    freedom = variance**2 / sum(part**2 / (len(one) - 1) for part, one in zip(parts, values, strict=True))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2.0, freedom)) * math.sqrt(variance) / len(values)
    return Estimate(mean, mean - half, mean + half)
