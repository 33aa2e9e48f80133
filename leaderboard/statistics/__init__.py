"""Statistics of a leaderboard: the uncertainty of its numbers and ranks, one question per file.

    paired          which rows are compared: every system on the same worlds, worlds grouped by kind,
                    and how many independent calls those count as that are near each other in measured time
    aggregates      one number from many: mean, interquartile mean, median, optimality gap, probability of improvement, profiles
    resampling      variation of that number with other worlds of the same kinds: 95 % intervals, by Student's law
    summaries       these numbers for each system
    seeds           several trainings of one agent as one system, whose intervals cover other seeds too
    ranking         comparisons of systems and resulting ranks, corrected for their number, and the smallest difference that worlds detect
    coverage        how often such intervals contain the truth, by simulation; printed beside the intervals

docs/rank.md explains each number.
"""

from vcgym.leaderboard.statistics.paired import Paired, pair_worlds
from vcgym.leaderboard.statistics.ranking import Standing, rank
from vcgym.leaderboard.statistics.resampling import CONFIDENCE, Estimate
from vcgym.leaderboard.statistics.summaries import difference, differences, interquartile_means, means, trimmed_means

__all__ = [
    "CONFIDENCE", "Estimate", "Paired", "Standing", "difference", "differences", "interquartile_means", "means", "pair_worlds", "rank",
    "trimmed_means",
]  # fmt: skip
