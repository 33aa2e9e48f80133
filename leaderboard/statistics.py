"""How sure a leaderboard is: means and interquartile means with paired stratified bootstrap intervals, and ranks with ties.

Every system has played the same worlds, so a resample draws worlds, not rows: within each stratum (scenario and stratum) as many worlds as
it has, with replacement, and the same ones for every system. `scipy.stats.bootstrap` does exactly that when it is given one array of world
indices per stratum, which it resamples independently; the statistic then looks up the values. Intervals are percentile intervals (BCa is
undefined where all worlds agree, and tied controls do), at 95 %, not corrected for the number of pairs compared. Strata of a single world
cannot be resampled alone and are pooled; one left over joins the first stratum.

Interquartile mean: Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice (NeurIPS 2021), section 4.
Stratified percentile bootstrap: ibid., section 3. Left out: optimality gap and performance profiles.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy import stats

from vcgym.leaderboard.columns import METRIC, WORLD

CONFIDENCE = 0.95
RESAMPLES = 2000
BATCH = 250  # resamples evaluated at once, to bound memory


class Paired(NamedTuple):
    """Results of one mode with systems and worlds aligned.

    Attributes:
        results: the rows.
        systems: S names, sorted.
        row: (S, W) int64, the row of each system in each world.
        stratum: (W,) int64, the stratum of each world.
    """

    results: pa.Table
    systems: tuple[str, ...]
    row: np.ndarray
    stratum: np.ndarray


class Estimate(NamedTuple):
    """A value and its 95 % interval; NaN where nothing can be said."""

    value: float
    low: float
    high: float


class Summary(NamedTuple):
    """Mean and interquartile mean of one system over the worlds."""

    mean: Estimate
    iqm: Estimate


class Standing(NamedTuple):
    """Place of one system.

    Attributes:
        system: its name.
        rank_low: best rank that the data allow: 1 + systems significantly better.
        rank_high: worst rank that they allow: all systems - systems significantly worse.
        difference: interquartile mean minus that of the reference, on the same worlds.
    """

    system: str
    rank_low: int
    rank_high: int
    difference: Estimate

    @property
    def ranks(self) -> str:
        """The ranks that the data allow: "2", or "1-3"."""
        return str(self.rank_low) if self.rank_low == self.rank_high else f"{self.rank_low}-{self.rank_high}"


def pair_worlds(results: pa.Table) -> Paired:
    """Align the rows of one mode so that every system has one row in every world.

    Raises:
        ValueError: more than one mode, no rows, two rows of a system in one world, or a system that lacks a world another one has.
    """
    modes = results["mode"].unique().to_pylist()
    if len(modes) != 1:
        raise ValueError(f"statistics compare systems within one mode, got {modes}")
    keys = list(zip(*(results[name].to_pylist() for name in WORLD), strict=True))
    worlds = {world: place for place, world in enumerate(sorted(set(keys)))}
    names = results["system"].to_pylist()
    systems = {system: place for place, system in enumerate(sorted(set(names)))}
    row = np.full((len(systems), len(worlds)), -1, dtype=np.int64)
    for number, (system, world) in enumerate(zip(names, keys, strict=True)):
        if row[systems[system], worlds[world]] >= 0:
            raise ValueError(f"system {system!r} has two rows for world {dict(zip(WORLD, world, strict=True))}")
        row[systems[system], worlds[world]] = number
    for system, place in systems.items():
        missing = [world for world, column in worlds.items() if row[place, column] < 0]
        if missing:
            first = dict(zip(WORLD, missing[0], strict=True))
            raise ValueError(f"system {system!r} has no row for {len(missing)} of {len(worlds)} worlds, the first of them {first}")
    strata = {stratum: place for place, stratum in enumerate(sorted({world[1:3] for world in worlds}))}
    return Paired(results, tuple(systems), row, np.array([strata[world[1:3]] for world in worlds], dtype=np.int64))


def summarise(paired: Paired, metric: str, rng_seed: int = 0) -> dict[str, Summary]:
    """Mean and interquartile mean of `metric` for each system, with intervals.

    A world in which some system has no value (no packet came out) is left out for all of them; see `worlds_compared`.
    """
    values, strata = _values(paired, metric)
    centre = np.full((2, len(values)), np.nan) if not strata else _centres(values)
    low, high = _bootstrap(strata, lambda worlds: _centres(values[:, worlds]), centre, rng_seed)
    return {
        system: Summary(*(Estimate(*map(float, (centre[k, s], low[k, s], high[k, s]))) for k in range(2)))
        for s, system in enumerate(paired.systems)
    }


def rank(paired: Paired, metric: str, reference: str | None = None, rng_seed: int = 0) -> list[Standing]:
    """Systems by interquartile mean of `metric`, best first, with rank intervals.

    One system is significantly better than another if the bootstrap interval of the difference of their interquartile means, on the same
    resampled worlds, excludes 0.

    Args:
        paired: results of one mode.
        metric: name of a column that has a better end.
        reference: system that `difference` is taken to; by default the first in the ranking.
        rng_seed: seed of the resampling; the same seed gives the same worlds to every metric.

    Raises:
        ValueError: `metric` has no better end, or `reference` is not among the systems.
    """
    better = METRIC[metric].better
    if not better:
        raise ValueError(f"metric {metric!r} has no better end to rank by")
    values, strata = _values(paired, metric)
    size = len(paired.systems)
    centre = _centres(values)[1] if strata else np.full(size, np.nan)
    order = sorted(range(size), key=lambda s: (-better * np.nan_to_num(centre[s]), paired.systems[s]))
    if reference is not None and reference not in paired.systems:
        raise ValueError(f"reference {reference!r} is not one of the systems {list(paired.systems)}")
    anchor = order[0] if reference is None else paired.systems.index(reference)

    def differences(worlds: np.ndarray) -> np.ndarray:
        iqm = _centres(values[:, worlds])[1]
        return iqm[:, None] - iqm[None, :]

    difference = centre[:, None] - centre[None, :]
    low, high = _bootstrap(strata, differences, difference, rng_seed)
    beats = low > 0.0 if better > 0 else high < 0.0
    return [
        Standing(
            paired.systems[s],
            1 + int(beats[:, s].sum()),
            size - int(beats[s].sum()),
            Estimate(float(difference[s, anchor]), float(low[s, anchor]), float(high[s, anchor])),
        )
        for s in order
    ]


def difference(paired: Paired, metric: str, system: str, reference: str, relative: bool, rng_seed: int = 0) -> Estimate:
    """Mean of `metric` of `system` minus that of `reference`, over the worlds in which both have a value.

    Args:
        paired: results of one mode.
        metric: name of a column of numbers.
        system: whose mean.
        reference: less whose mean.
        relative: as a share of the reference's mean; NaN where that is 0.
        rng_seed: seed of the resampling.
    """
    both = [paired.systems.index(name) for name in (system, reference)]
    values, strata = _values(paired._replace(systems=(system, reference), row=paired.row[both]), metric)

    def change(worlds: np.ndarray) -> np.ndarray:
        mean, of_reference = values[:, worlds].mean(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (mean - of_reference) / (of_reference if relative else 1.0)

    centre = change(np.arange(values.shape[1])) if strata else np.array(np.nan)
    low, high = _bootstrap(strata, change, centre, rng_seed)
    return Estimate(float(centre), float(low), float(high))


def worlds_compared(paired: Paired, metric: str) -> int:
    """Number of worlds in which every system has a value of `metric`."""
    return _values(paired, metric)[0].shape[1]


def _values(paired: Paired, metric: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """(S, W) values in the worlds where all are finite, and the world indices of each stratum."""
    values = paired.results[metric].to_numpy().astype(np.float64)[paired.row]
    finite = np.isfinite(values).all(axis=0)
    stratum = paired.stratum[finite]
    groups = [np.flatnonzero(stratum == one) for one in np.unique(stratum)]
    strata = [group for group in groups if len(group) > 1]
    single = np.array([group[0] for group in groups if len(group) == 1], dtype=np.int64)
    if len(single) == 1 and strata:
        strata[0] = np.concatenate([strata[0], single])
    elif len(single):
        strata.append(single)
    return values[:, finite], strata


def _centres(values: np.ndarray) -> np.ndarray:
    """(2, ...) mean and interquartile mean over the last axis."""
    return np.stack([values.mean(axis=-1), stats.trim_mean(values, 0.25, axis=-1)])


def _bootstrap(
    strata: list[np.ndarray], statistic: Callable[[np.ndarray], np.ndarray], centre: np.ndarray, rng_seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Percentile interval of `statistic(worlds)`; NaN where a lone world leaves nothing to resample."""
    if not strata or any(len(group) < 2 for group in strata):
        return np.full(centre.shape, np.nan), np.full(centre.shape, np.nan)
    interval = stats.bootstrap(
        strata,
        lambda *worlds, axis: statistic(np.concatenate(worlds, axis=axis)),
        n_resamples=RESAMPLES,
        batch=BATCH,
        vectorized=True,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(rng_seed),
    ).confidence_interval
    return interval.low, interval.high
