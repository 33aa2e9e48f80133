"""Summaries of each system with intervals: centre of a metric, differences, the share of worlds won, and profiles."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vcgym.leaderboard.statistics.aggregates import (
    INTERQUARTILE,
    interquartile_mean,
    mean,
    median,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
    trimmed_mean,
)  # fmt: skip
from vcgym.leaderboard.statistics.paired import Paired, Sample, sample
from vcgym.leaderboard.statistics.resampling import Estimate, Spread, resample


class Profile(NamedTuple):
    """Share of worlds in which a system is above each threshold, (T,) each, with the ends of its interval."""

    share: np.ndarray
    low: np.ndarray
    high: np.ndarray


def means(paired: Paired, metric: str) -> dict[str, Estimate]:
    """Return the mean of `metric` over worlds for each system, with intervals.

    A world in which some system has no value (no packet came out) is left out for all of them; see `worlds_compared`.
    """
    return dict(zip(paired.systems, _estimates(sample(paired, metric), mean), strict=True))


def interquartile_means(paired: Paired, metric: str) -> dict[str, Estimate]:
    """Return the interquartile mean over the worlds of `means`."""
    return dict(zip(paired.systems, _estimates(sample(paired, metric), interquartile_mean), strict=True))


def differences(paired: Paired, metric: str, reference: str, trim: float = INTERQUARTILE) -> dict[str, Estimate]:
    """Return the trimmed mean of each system minus that of `reference`, on the same worlds; each interval is uncorrected.

    Raises:
        ValueError: `reference` is not among the systems.
    """
    if reference not in paired.systems:
        raise ValueError(f"reference {reference!r} is not one of the systems {list(paired.systems)}")
    place = paired.systems.index(reference)

    def apart(values: np.ndarray) -> np.ndarray:
        centres = trimmed_mean(values, trim)
        return centres - centres[place]

    return dict(zip(paired.systems, _estimates(sample(paired, metric), apart), strict=True))


def medians(paired: Paired, metric: str) -> dict[str, Estimate]:
    """Return the median over kinds of worlds of the mean within a kind."""
    found = sample(paired, metric)
    return dict(zip(paired.systems, _estimates(found, lambda values: median(values, found.starts)), strict=True))


def shortfalls(paired: Paired, metric: str, target: float) -> dict[str, Estimate]:
    """Return the optimality gap of each system: the mean shortfall of its worlds to `target`."""
    return dict(zip(paired.systems, _estimates(sample(paired, metric), lambda values: optimality_gap(values, target)), strict=True))


def worlds_won(paired: Paired, metric: str, reference: str, better: int) -> dict[str, Estimate]:
    """Return the probability of improvement on `reference`: share of the common worlds in which a system is better, a tie counting half.

    Args:
        paired: results of one mode.
        metric: name of a column.
        reference: the system that is improved upon.
        better: +1 if more is better, -1 if less is.
    """
    found, place = sample(paired, metric), paired.systems.index(reference)

    def won(values: np.ndarray) -> np.ndarray:
        return probability_of_improvement(better * values[..., None], better * values[place][None, ..., None])

    return dict(zip(paired.systems, map(_as_share, _estimates(found, won)), strict=True))


def profiles(paired: Paired, metric: str, thresholds: np.ndarray) -> dict[str, Profile]:
    """Return the performance profile of each system: where it lies above another's everywhere, it is better however worlds are weighed."""
    found = sample(paired, metric)
    spread = resample(*found, lambda values: performance_profile(values, thresholds))
    low, high = (np.clip(end, 0.0, 1.0) for end in spread.interval())
    return {system: Profile(spread.centre[:, s], low[:, s], high[:, s]) for s, system in enumerate(paired.systems)}


def profile_curves(paired: Paired, metric: str, thresholds: np.ndarray) -> dict[str, np.ndarray]:
    """Return the profiles alone, (T,) each, without intervals."""
    found = performance_profile(sample(paired, metric).values, thresholds)
    return {system: found[:, s] for s, system in enumerate(paired.systems)}


def difference(paired: Paired, metric: str, system: str, reference: str, relative: bool) -> Estimate:
    """Return the mean of `metric` of `system` minus that of `reference`, over the worlds in which both have a value.

    Args:
        paired: results of one mode.
        metric: name of a column of numbers.
        system: whose mean.
        reference: less whose mean.
        relative: as a share of the reference's mean; NaN where that is 0.
    """

    def change(values: np.ndarray) -> np.ndarray:
        of_system, of_reference = values.mean(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return ((of_system - of_reference) / (of_reference if relative else 1.0))[None]

    return _estimates(sample(paired.of(system, reference), metric), change)[0]


def _estimates(found: Sample, statistic: Callable[[np.ndarray], np.ndarray]) -> list[Estimate]:
    spread: Spread = resample(*found, statistic)
    return spread.estimates()


def _as_share(estimate: Estimate) -> Estimate:
    return Estimate(estimate.value, max(0.0, estimate.low), min(1.0, estimate.high))
