"""Measures of our values: one function per kind of statement, from the calls of a scenario in a mode to a value with its interval.

Means over worlds have the paired bootstrap interval of `vcgym.leaderboard.statistics`. Values independent of sampling, and extremes over
all worlds, are their own intervals.
"""

import math
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import singledispatch
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from lab.papers.statements import NotComparable
from lab.papers.vcroute import statements as p
from lab.papers.vcroute.forecasts import FIGURES, sums
from lab.papers.vcroute.outcomes import STATISTICS
from vcgym.baselines.playout.jitter_window import JITTER_WINDOW_US
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.leaderboard.statistics import Estimate, difference, means, pair_worlds
from vcgym.leaderboard.statistics.resampling import CONFIDENCE, RESAMPLES
from vcgym.network.scenarios.paths.linked import Linked
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import load_links
from vcgym.network.worlds.links import relay_sequences

DIRECT = "DRT-BF"  # any system suffices if only the world matters


class MissingError(Exception):
    """Error for a statement that cannot be compared with our results; the message gives the reason."""


class Material(NamedTuple):
    """Results of one scenario in one mode.

    Attributes:
        scenario: the scenario, or None if it does not exist in that mode.
        results: one row per system and world.
        forecasts: one row per call of VCR-WM, from `lab.papers.vcroute.forecasts`.
        cost_ms: measured time per packet, for any worlds.
    """

    scenario: Scenario | None
    results: pa.Table | None
    forecasts: pa.Table | None
    cost_ms: float = math.nan


def of_pairs(results: pa.Table | None, pattern: str) -> pa.Table:
    """Return the rows of the pairs that match a shell pattern.

    Raises:
        MissingError: there are none.
    """
    if results is None:
        raise MissingError("no worlds of this kind in this mode")
    found = results.filter(pa.array([fnmatchcase(pair, pattern) for pair in results["pair"].to_pylist()], pa.bool_()))
    if not found.num_rows:
        raise MissingError("measured series of other places: only what is said of all pairs can be looked at")
    return found


@singledispatch
def measured(measure: object, material: Material, accounting: str) -> Estimate:
    """Return our value with its interval.

    Args:
        measure: measure of a statement.
        material: results of its scenario in one mode.
        accounting: accounting of packet delays; no effect on other quantities.

    Raises:
        MissingError: the value cannot be measured.
    """
    raise TypeError(f"no way to measure {measure!r}")


@measured.register
def _nothing(measure: NotComparable, material: Material, accounting: str) -> Estimate:
    return Estimate(math.nan, math.nan, math.nan)


@measured.register
def _link(measure: p.LinkFigure, material: Material, accounting: str) -> Estimate:
    _require_world(material)
    table = load_links("table1")
    hops = [measure.source, *([measure.via] if measure.via else []), measure.destination]
    links = [table.link(a, b) for a, b in pairwise(hops)]
    if measure.what == "rtt_ms":
        return _exact(math.fsum(link.rtt_ms or 0.0 for link in links))
    return _exact(1.0 - math.prod(1.0 - (link.loss or 0.0) for link in links))


@measured.register
def _paths(measure: p.Paths, material: Material, accounting: str) -> Estimate:
    of_pairs(material.results, measure.pair)
    return _exact(_require_world(material).paths)


@measured.register
def _constant(measure: p.Constant, material: Material, accounting: str) -> Estimate:
    return _exact(JITTER_WINDOW_US / 1000.0 if measure.name == "window_ms" else 100.0 * WMJitter().quantile)


@measured.register
def _cost(measure: p.Cost, material: Material, accounting: str) -> Estimate:
    return _exact(material.cost_ms)


@measured.register
def _path(measure: p.PublishedPath, material: Material, accounting: str) -> Estimate:
    return _mean_of(_of_system(material, measure.pair, DIRECT), lambda rows: _path_means(rows, _path_index(measure, material)))


@measured.register
def _path_ratio(measure: p.PathRatio, material: Material, accounting: str) -> Estimate:
    one, other = (_path_means(_of_system(material, pair, DIRECT), 0) for pair in (measure.pair, measure.to))
    return _bootstrap((one, other), lambda a, b, axis: a.mean(axis=axis) / b.mean(axis=axis))


@measured.register
def _direct_range(measure: p.DirectRange, material: Material, accounting: str) -> Estimate:
    rows = _of_system(material, measure.pair, DIRECT)
    if _require_world(material).mode == "replay":
        raise MissingError("measured series of other places: only what is said of all pairs can be looked at")
    pairs, means = np.array(rows["pair"].to_pylist()), _path_means(rows, 0)
    by_pair = [float(means[pairs == pair].mean()) for pair in np.unique(pairs)]
    return _exact(min(by_pair) if measure.end == "least" else max(by_pair))


@measured.register
def _value(measure: p.StatisticFigure, material: Material, accounting: str) -> Estimate:
    statistic = STATISTICS[measure.statistic]
    rows = _of_system(material, measure.pair, measure.system)
    column = statistic.column.format(accounting)
    if statistic.over_worlds is not np.mean:
        return _exact(float(statistic.over_worlds(rows[column].to_numpy())))
    return _mean_of(rows, lambda rows: rows[column].to_numpy())


@measured.register
def _change(measure: p.Change, material: Material, accounting: str) -> Estimate:
    column = STATISTICS[measure.statistic].column.format(accounting)
    results = of_pairs(material.results, measure.pair)
    if measure.relative and np.mean(results.filter(pc.field("system") == measure.reference)[column].to_numpy() > 0.0) < 0.5:
        raise MissingError(f"{measure.reference} has none in most worlds, so that there is nothing to take a share of")
    paired = pair_worlds(results)
    return difference(paired, column, measure.system, measure.reference, relative=measure.relative)


@measured.register
def _worst(measure: p.Worst, material: Material, accounting: str) -> Estimate:
    delays = _delays(of_pairs(material.results, measure.pair), (measure.system, *measure.among), accounting)
    return _bootstrap(((delays[0] > delays[1:].max(axis=0)).astype(np.float64),), lambda share, axis: share.mean(axis=axis))


@measured.register
def _best_pair(measure: p.BestPair, material: Material, accounting: str) -> Estimate:
    rows = of_pairs(material.results, measure.pair)
    column = STATISTICS["mean_ms"].column.format(accounting)
    found = (
        difference(pair_worlds(of_pairs(rows, pair)), column, measure.system, measure.reference, relative=True)
        for pair in sorted(set(rows["pair"].to_pylist()))
    )
    return min(found, key=lambda change: change.value)


@measured.register
def _gain_gap(measure: p.GainGap, material: Material, accounting: str) -> Estimate:
    gains = []
    for pattern in (measure.pairs, measure.others):
        delay, reference = _delays(of_pairs(material.results, pattern), (measure.system, measure.reference), accounting)
        gains.append(delay / reference - 1.0)
    return _bootstrap(tuple(gains), lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis))


@measured.register
def _forecast(measure: p.ForecastFigure, material: Material, accounting: str) -> Estimate:
    calls = of_pairs(material.forecasts, measure.pair)
    if measure.what in ("target_low_ms", "target_high_ms"):
        ends = calls[measure.what].to_numpy()
        return _exact(ends.min() if measure.what == "target_low_ms" else ends.max())
    of_call, figure = sums(calls), FIGURES[measure.what]
    return _bootstrap((np.arange(calls.num_rows),), lambda which, axis: figure(*of_call[:, which].sum(axis=axis)))


def _exact(value: float) -> Estimate:
    return Estimate(float(value), float(value), float(value))


def _require_world(material: Material) -> Scenario:
    if material.scenario is None:
        raise MissingError("no worlds of this kind in this mode")
    return material.scenario


def _of_system(material: Material, pattern: str, system: str) -> pa.Table:
    return of_pairs(material.results, pattern).filter(pc.field("system") == system)


def _mean_of(rows: pa.Table, values: Callable[[pa.Table], np.ndarray]) -> Estimate:
    """Return the mean of one number per row over the rows of one system."""
    table = rows.append_column("number", pa.array(np.asarray(values(rows), np.float64)))
    return next(iter(means(pair_worlds(table), "number").values()))


def _path_means(rows: pa.Table, path: int) -> np.ndarray:
    return np.array([means[path] for means in rows["path_mean_ms"].to_pylist()])


def _path_index(measure: p.PublishedPath, material: Material) -> int:
    """Return the index of the path over a relay; the nodes of a call are the sender, the other endpoints in order, the receiver."""
    if measure.via is None:
        return 0
    recipe = _require_world(material).recipe
    if not isinstance(recipe, Linked):
        raise MissingError("paths of other places")
    nodes = recipe.nodes(measure.pair)
    return relay_sequences(len(nodes) - 2).index((nodes.index(measure.via),))


def _delays(rows: pa.Table, systems: tuple[str, ...], accounting: str) -> np.ndarray:
    """Return the mean delays (systems, worlds)."""
    paired = pair_worlds(rows)
    column = rows[STATISTICS["mean_ms"].column.format(accounting)].to_numpy()
    return column[paired.row[[paired.systems.index(system) for system in systems]]]


def _bootstrap(samples: tuple[np.ndarray, ...], statistic: Callable[..., np.ndarray]) -> Estimate:
    """Return a statistic with its percentile interval over independently resampled samples of worlds."""
    value = float(statistic(*samples, axis=-1))
    if min(map(len, samples)) < 2:
        return Estimate(value, math.nan, math.nan)
    interval = stats.bootstrap(
        samples, statistic, n_resamples=RESAMPLES, batch=RESAMPLES, confidence_level=CONFIDENCE, method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    return Estimate(value, float(interval.low), float(interval.high))
