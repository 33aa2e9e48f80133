"""The smallest difference that a suite detects with a power of 80 %.

A difference is detected if it exceeds c standard errors. A difference d is detected with probability 80 % if d = (c + z) standard errors,
with z the 80 % quantile of the error's distribution (Bloom, Minimum detectable effects, Evaluation Review 19, 1995). The standard error is
the median over all pairs of differing systems of that of their paired difference. The distribution is Student's, with the number of worlds
minus the number of kinds as degrees of freedom. With fewer than `MIN_FREEDOM` the result is NaN, because standard error, quantile and the
bound of `ranking` are then too uncertain. Alone: c for one comparison chosen in advance, two-sided at 5 %. Together: the c of `ranking`
for all comparisons of a board.
"""

from typing import NamedTuple

import numpy as np

from vcgym.leaderboard.statistics.aggregates import INTERQUARTILE
from vcgym.leaderboard.statistics.laws import student_quantile
from vcgym.leaderboard.statistics.paired import Paired, sample
from vcgym.leaderboard.statistics.ranking import separated
from vcgym.leaderboard.statistics.resampling import CONFIDENCE
from vcgym.leaderboard.statistics.seeds import entries

POWER = 0.8
MIN_FREEDOM = 10  # with so many, a standard error is within a quarter of the truth in two of three cases


class Detectable(NamedTuple):
    """Detectable differences in the metric's unit; NaN if systems cannot be compared or worlds are too few.

    Attributes:
        alone: for two systems chosen in advance.
        together: for any two systems of a board, corrected for all comparisons.
        comparisons: number of pairs of systems.
    """

    alone: float
    together: float
    comparisons: int


def detectable(paired: Paired, metric: str, trim: float = INTERQUARTILE) -> Detectable:
    """Return the smallest detectable difference of trimmed means of `metric`."""
    found = sample(paired, metric)
    _, error, bound = separated(found, 1, trim=trim, ranked=entries(paired.systems))
    differing = error[error > 0.0]  # excludes NaN
    freedom = int(found.calls.sum()) - len(found.calls)
    if not differing.size or freedom < MIN_FREEDOM:
        return Detectable(np.nan, np.nan, len(error))
    alone, power = float(student_quantile(0.5 * (1.0 - CONFIDENCE), freedom)), float(student_quantile(1.0 - POWER, freedom))
    typical = float(np.median(differing))
    return Detectable((alone + power) * typical, (max(alone, bound) + power) * typical, len(error))
