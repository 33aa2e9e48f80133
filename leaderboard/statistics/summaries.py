"""Summaries of each system with intervals: centre of a metric, differences, share of worlds won, and profiles."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from vcgym.leaderboard.statistics.aggregates import (
    INTERQUARTILE,
    median,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
    trimmed_mean,
)  # fmt: skip
from vcgym.leaderboard.statistics.paired import Paired, sample
from vcgym.leaderboard.statistics.resampling import Estimate, Spread, resample
from vcgym.leaderboard.statistics.seeds import Entries, entries, methods, pooled, runs_of


class PerformanceProfile(NamedTuple):
    """Share of worlds in which a system exceeds each threshold, (T,), with the ends of its interval, (T,) each."""

    share: np.ndarray
    low: np.ndarray
    high: np.ndarray


def trimmed_means(paired: Paired, metric: str, trim: float) -> dict[str, Estimate]:
    """Return the trimmed mean of `metric` of each system with intervals, over the worlds in which it has a value."""
    return _each(paired, metric, lambda values, _: trimmed_mean(values, trim))


def means(paired: Paired, metric: str) -> dict[str, Estimate]:
    """Return `trimmed_means` of all worlds."""
    return trimmed_means(paired, metric, 0.0)


def interquartile_means(paired: Paired, metric: str) -> dict[str, Estimate]:
    """Return `trimmed_means` of the middle half of the worlds."""
    return trimmed_means(paired, metric, INTERQUARTILE)


def centres(paired: Paired, metric: str, trim: float) -> dict[str, Estimate]:
    """Return the trimmed mean of each system and method over the worlds in which it has a value, without intervals."""
    values = paired.results[metric].to_numpy().astype(np.float64)[paired.row]
    finite = {name: of_system[np.isfinite(of_system)] for name, of_system in zip(paired.systems, values, strict=True)}
    found = {name: float(trimmed_mean(of_system, trim)) if of_system.size else np.nan for name, of_system in finite.items()}
    return {name: Estimate(float(np.mean([found[run] for run in runs])), np.nan, np.nan) for name, runs in runs_of(found).items()}


def differences(paired: Paired, metric: str, reference: str, trim: float = INTERQUARTILE) -> dict[str, Estimate]:
    """Return the trimmed mean of each system minus that of `reference`, on the same worlds; the intervals are uncorrected.

    Raises:
        ValueError: `reference` is not among the systems.
    """

    def apart(values: np.ndarray, _: np.ndarray) -> np.ndarray:
        centres = trimmed_mean(values, trim)
        return centres - centres[-1]

    return _each(paired, metric, apart, reference)


def shares(paired: Paired, metric: str, zero: str, hundred: str, trim: float = INTERQUARTILE) -> dict[str, Estimate]:
    """Return the difference of `differences` of each system to `zero` in percent of that of `hundred`, on the same worlds.

    Raises:
        ValueError: `zero` or `hundred` is not among the systems.
    """

    def share(values: np.ndarray, _: np.ndarray) -> np.ndarray:
        centres = trimmed_mean(values, trim)
        with np.errstate(divide="ignore", invalid="ignore"):
            return 100.0 * (centres - centres[-1]) / (centres[-2] - centres[-1])

    return _each(paired, metric, share, hundred, zero)


def medians(paired: Paired, metric: str) -> dict[str, Estimate]:
    """Return the median over kinds of worlds of the mean within a kind."""
    return _each(paired, metric, median)


def shortfalls(paired: Paired, metric: str, target: float) -> dict[str, Estimate]:
    """Return the optimality gap of each system: the mean shortfall of its worlds to `target`."""
    return _each(paired, metric, lambda values, _: optimality_gap(values, target))


def worlds_won(paired: Paired, metric: str, reference: str, better: int) -> dict[str, Estimate]:
    """Return the probability of improvement on `reference`: share of common worlds in which a system is better; ties count half.

    Args:
        paired: results of one mode.
        metric: name of a column.
        reference: reference system.
        better: +1 if more is better, -1 if less is better.
    """

    def won(values: np.ndarray, _: np.ndarray) -> np.ndarray:
        return probability_of_improvement(better * values[..., None], better * values[-1][None, ..., None])

    return {name: _as_share(found) for name, found in _each(paired, metric, won, reference).items()}


def profiles(paired: Paired, metric: str, thresholds: np.ndarray) -> dict[str, PerformanceProfile]:
    """Return the performance profiles; a system with a profile above another's everywhere is better for any weights of worlds."""
    found, ranked = sample(paired, metric), entries(paired.systems)
    spread = resample(found.values, found.sizes, lambda values: performance_profile(values, thresholds), calls=found.calls)
    student = np.broadcast_to(spread.student, spread.centre.shape).T
    turned = Spread(spread.centre.T, spread.resampled.swapaxes(0, 1), spread.factor, student)
    spread = pooled(turned, ranked, found.values, found.sizes, found.calls)
    low, high = (np.clip(end, 0.0, 1.0) for end in spread.interval())
    return {system: PerformanceProfile(spread.centre[s], low[s], high[s]) for s, system in enumerate(ranked.names)}


def profile_curves(paired: Paired, metric: str, thresholds: np.ndarray) -> dict[str, np.ndarray]:
    """Return the profiles, (T,) each, without intervals."""
    ranked = entries(paired.systems)
    found = ranked.means @ performance_profile(sample(paired, metric).values, thresholds).T
    return dict(zip(ranked.names, found, strict=True))


def difference(paired: Paired, metric: str, system: str, reference: str, relative: bool) -> Estimate:
    """Return the mean of `metric` of `system` minus that of `reference`, over the worlds in which both have a value.

    Args:
        paired: results of one mode.
        metric: name of a column of numbers.
        system: system whose mean is taken.
        reference: system whose mean is subtracted.
        relative: return a share of the reference's mean; NaN if that is 0.
    """

    def change(values: np.ndarray) -> np.ndarray:
        of_system, of_reference = values.mean(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return ((of_system - of_reference) / (of_reference if relative else 1.0))[None]

    found = sample(paired.of(system, reference), metric)
    noise = found.values[:1] - found.values[1:]
    return resample(found.values, found.sizes, change, noise=noise, calls=found.calls).estimates()[0]


def _each(
    paired: Paired, metric: str, statistic: Callable[[np.ndarray, np.ndarray], np.ndarray], *references: str
) -> dict[str, Estimate]:  # fmt: skip
    """Return a statistic of each system and method (`seeds`) over the worlds in which it and each of `references` has a value.

    Args:
        paired: results of one mode.
        metric: name of a column.
        statistic: takes values (S, R, W), those of the references last, and the first index of each kind.
        references: systems with which each system is compared; the differences to the last one are the noise.

    Raises:
        ValueError: a reference is not among the systems.
    """
    values = paired.results[metric].to_numpy().astype(np.float64)[paired.row]
    alike: dict[bytes, list[str]] = {}  # systems with values in the same worlds are processed together
    for name, finite in zip(paired.systems, np.isfinite(values), strict=True):
        alike.setdefault(finite.tobytes(), []).append(name)
    estimates: dict[str, Estimate] = {}
    for names in alike.values():
        found = sample(paired.of(*names, *references), metric)
        noise = found.values - found.values[-1] if references else None
        spread = resample(found.values, found.sizes, partial(_with_starts, statistic, found.starts), noise=noise, calls=found.calls)
        estimates |= zip(names, spread.estimates(), strict=False)
    for name, runs in methods(paired.systems).items():
        found = sample(paired.of(*runs, *references), metric)
        noise = found.values - found.values[-1] if references else found.values
        spread = resample(found.values, found.sizes, partial(_with_starts, statistic, found.starts), noise=noise, calls=found.calls)
        one = Entries((name,), (tuple(range(len(runs))),))
        cut = Spread(spread.centre[: len(runs)], spread.resampled[: len(runs)], spread.factor, 1.0)
        estimates |= {name: pooled(cut, one, noise[: len(runs)], found.sizes, found.calls).estimates()[0]}
    return estimates


def _with_starts(statistic: Callable[[np.ndarray, np.ndarray], np.ndarray], starts: np.ndarray, values: np.ndarray) -> np.ndarray:
    return statistic(values, starts)


def _as_share(estimate: Estimate) -> Estimate:
    return Estimate(estimate.value, max(0.0, estimate.low), min(1.0, estimate.high))
