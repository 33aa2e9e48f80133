"""Regret: the metric of an oracle minus that of a system on the same worlds, as a mean over worlds."""

from vcgym.leaderboard.statistics.aggregates import mean
from vcgym.leaderboard.statistics.paired import Paired, sample
from vcgym.leaderboard.statistics.resampling import Estimate, resample


def regrets(paired: Paired, metric: str, oracle: str) -> dict[str, Estimate]:
    """Return the mean of the oracle's `metric` minus each system's, with intervals of the paired difference.

    Raises:
        ValueError: the oracle has no rows.
    """
    if oracle not in paired.systems:
        raise ValueError(f"oracle {oracle!r} not among the systems {list(paired.systems)}")
    index = paired.systems.index(oracle)
    found = sample(paired, metric)
    spread = resample(*found, lambda values: mean(values[index] - values), noise=found.values[index] - found.values)
    return dict(zip(paired.systems, spread.estimates(), strict=True))
