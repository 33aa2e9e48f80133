"""The smallest difference that a suite could have shown: what would have been found with 80 % probability, had it been there.

A difference is found if it exceeds c standard errors; one of size d is found with probability 80 % if d = (c + z) standard errors, z the 80
% quantile of the law of its error (Bloom, Minimum detectable effects, Evaluation Review 19, 1995). The standard error is that of the paired
difference of two systems, taken at the median over all pairs of systems that differ at all; the law is Student's with as many degrees of
freedom as there are worlds less kinds; below `MIN_FREEDOM` of them nothing is said, because the standard error, the quantile and the
bound of `ranking` are then guesses themselves. Alone: c for one comparison chosen beforehand, two-sided at 5 %. Together: c as `ranking`
asks of all comparisons of a board.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from vcgym.leaderboard.statistics.aggregates import INTERQUARTILE
from vcgym.leaderboard.statistics.paired import Paired, sample
from vcgym.leaderboard.statistics.ranking import separated
from vcgym.leaderboard.statistics.resampling import CONFIDENCE

POWER = 0.8
MIN_FREEDOM = 10  # a standard error from so many is itself within a quarter of the truth in two cases of three


class Detectable(NamedTuple):
    """Detectable differences in the metric's unit; NaN where systems cannot be compared, or the worlds are too few to say.

    Attributes:
        alone: for two systems named beforehand.
        together: for any two of a board, corrected for all comparisons.
        comparisons: how many pairs of systems there are.
    """

    alone: float
    together: float
    comparisons: int


def detectable(paired: Paired, metric: str, trim: float = INTERQUARTILE) -> Detectable:
    """Return the smallest detectable difference of trimmed means of `metric`."""
    found = sample(paired, metric)
    _, error, bound = separated(found, 1, trim=trim)
    differing = error[error > 0.0]  # NaN is not
    freedom = found.values.shape[1] - len(found.sizes)
    if not differing.size or freedom < MIN_FREEDOM:
        return Detectable(np.nan, np.nan, len(error))
    law = stats.t(freedom)
    alone, power = float(law.ppf(0.5 + 0.5 * CONFIDENCE)), float(law.ppf(POWER))
    typical = float(np.median(differing))
    return Detectable((alone + power) * typical, (max(alone, bound) + power) * typical, len(error))
