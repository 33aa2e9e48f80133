"""Aligned rows: every system on the same worlds, and worlds grouped by kind.

A kind is fixed by the suite and varied by the seed: a scenario and stratum, and also the pair if each pair of the stratum has at least
`SEEDS_PER_KIND` worlds. Resampling is within kinds. If pairs are kinds, an interval covers other seeds of these pairs; otherwise it covers
other worlds of the stratum with any pair. Of calls over measured time `independent_calls` of a kind count; if one had fewer than that, all
of a board are one kind.

Calls that are cut from the same traces overlap or touch: two of the same seconds say the same thing twice, and two of neighbouring
seconds much of it. What a call has of each trace, without the history before it, is a stretch of measured time. Each stretch is taken half
of its length further at both ends, and the results of two calls correlate by the share of what they then have in common, as with blocks of
two calls (Kuensch, The jackknife and the bootstrap for general stationary observations, Annals of Statistics 17, 1989: Bartlett weights;
Politis and Romano, The stationary bootstrap, JASA 89, 1994). So a mean over n calls has D times the variance of one over n independent
calls, with D the mean over calls of the sum of these shares, and n calls count as n / D (Kish, Survey Sampling, 1965, section 8.2), rounded
down: calls one after another as half of them. Where a call has several paths, D is that of the path whose stretches have most in common:
results that are sums of parts of single paths have no larger variance.

Blocks of one call would be enough if what is measured had no memory beyond a call; lab/notes/statistics.md compares the choices.

An interval over such calls covers other times of the same traces, not other traces. `coverage` has the simulated coverage.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from vcgym.leaderboard.results.columns import MEASURED_TIME, WORLD

Stretch = tuple[str, int, int]
"""Part of a trace: its name, and where it begins and ends, in any unit of time."""
Stretches = tuple[Stretch, ...]
"""Parts of the traces that one call plays; of a trace that is played in a circle there may be two."""

SEEDS_PER_KIND = 10  # with fewer, the coverage of intervals is too low: see `coverage`


class Paired(NamedTuple):
    """Results of one mode with systems and worlds aligned.

    Attributes:
        results: the rows.
        systems: S names, sorted.
        row: (S, W) int64, the row of each system in each world.
        stratum: (W,) int64, the kind of each world.
        measured: what each world has of measured traces; empty if no world has any.
    """

    results: pa.Table
    systems: tuple[str, ...]
    row: np.ndarray
    stratum: np.ndarray
    measured: tuple[Stretches, ...] = ()

    def of(self, *systems: str) -> "Paired":
        """Return the same worlds for only these systems, in this order.

        Raises:
            ValueError: a system is missing.
        """
        unknown = sorted(set(systems) - set(self.systems))
        if unknown:
            raise ValueError(f"{', '.join(map(repr, unknown))} not among the systems {list(self.systems)}")
        return self._replace(systems=systems, row=self.row[[self.systems.index(name) for name in systems]])


class MetricSample(NamedTuple):
    """Values of a metric, kind by kind.

    Attributes:
        values: (S, W) float64, all finite; worlds of the same kind are adjacent.
        sizes: (H,) int64, number of worlds of each kind; at least 2, except for a single world in all.
        calls: (H,) int64, how many independent calls the worlds of each kind count as; `sizes` unless they are of measured time.
        is_measured: (H,) bool, whether a kind has worlds of measured time.
    """

    values: np.ndarray
    sizes: np.ndarray
    calls: np.ndarray
    is_measured: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """Index of the first world of each kind, (H,) int64."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])


def pair_worlds(results: pa.Table) -> Paired:
    """Align the rows of one mode so that every system has one row in every world.

    Raises:
        ValueError: there is more than one mode or no row, a system has two rows in one world, or lacks a world that another system has.
    """
    modes = results["mode"].unique().to_pylist()
    if len(modes) != 1:
        raise ValueError(f"statistics compare systems within one mode, got {modes}")
    keys = list(zip(*(results[name].to_pylist() for name in WORLD), strict=True))
    names = results["system"].to_pylist()
    worlds, systems = sorted(set(keys)), sorted(set(names))
    numbers = {key: number for number, key in enumerate(zip(names, keys, strict=True))}
    if len(numbers) < len(names):
        system, world = Counter(zip(names, keys, strict=True)).most_common(1)[0][0]
        raise ValueError(f"system {system!r} has two rows for world {dict(zip(WORLD, world, strict=True))}")
    for system in systems:
        if missing := [world for world in worlds if (system, world) not in numbers]:
            first = dict(zip(WORLD, missing[0], strict=True))
            raise ValueError(f"system {system!r} has no row for {len(missing)} of {len(worlds)} worlds, the first of them {first}")
    row = np.array([[numbers[system, world] for world in worlds] for system in systems], np.int64)
    measured = _measured(results, keys, worlds)
    return Paired(results, tuple(systems), row, _measured_kinds(worlds, measured) if measured else _kinds(worlds), measured)


def _measured(results: pa.Table, keys: list[tuple], worlds: list[tuple]) -> tuple[Stretches, ...]:
    """Return what each world has of measured traces, by any row that says it; empty if none does."""
    if not set(MEASURED_TIME) <= set(results.column_names):
        return ()
    columns = (results[name].to_pylist() for name in MEASURED_TIME)
    rows = zip(keys, *columns, strict=True)
    found = {key: tuple(zip(names, begins, ends, strict=True)) for key, names, begins, ends in rows if names}
    return tuple(found.get(world, ()) for world in worlds) if found else ()


def _measured_kinds(worlds: list[tuple], measured: tuple[Stretches, ...]) -> np.ndarray:
    """Return the kind of each world: of measured time by pair if no trace is in two pairs, or by stratum, or as one; others as `_kinds`."""
    kinds, timed = _kinds(worlds), np.array([number for number, stretches in enumerate(measured) if stretches])
    for columns in ((1, 2, 4), (1, 2), ()):
        names = [tuple(worlds[world][column] for column in columns) for world in timed]
        parts = {
            name: tuple(measured[world] for world, other in zip(timed, names, strict=True) if other == name) for name in sorted(set(names))
        }
        traces = [{trace for stretches in part for trace, _, _ in stretches} for part in parts.values()]
        apart = sum(map(len, traces)) == len(set().union(*traces))
        if not columns or (apart and all(independent_calls(part) >= SEEDS_PER_KIND for part in parts.values())):
            first = int(kinds.max()) + 1
            kinds[timed] = first + np.array([list(parts).index(name) for name in names])
            break
    return np.unique(kinds, return_inverse=True)[1].astype(np.int64)


def _kinds(worlds: list[tuple]) -> np.ndarray:
    """Return (W,) int64, the kind of each world, which is a tuple of the columns `WORLD`."""
    seeds = Counter((scenario, stratum, pair) for _, scenario, stratum, _, pair, _ in worlds)
    fewest: dict[tuple[str, str], int] = {}
    for (scenario, stratum, _), n in seeds.items():
        fewest[scenario, stratum] = min(n, fewest.get((scenario, stratum), n))
    names = [
        (scenario, stratum, pair if fewest[scenario, stratum] >= SEEDS_PER_KIND else "") for _, scenario, stratum, _, pair, _ in worlds
    ]
    places = {name: index for index, name in enumerate(sorted(set(names)))}
    return np.array([places[name] for name in names], dtype=np.int64)


def sample(paired: Paired, metric: str) -> MetricSample:
    """Return the values of `metric` in the worlds where every system has one.

    A kind with a single world cannot be resampled alone: such kinds are pooled, and a single remaining one joins the first kind.
    """
    values = paired.results[metric].to_numpy().astype(np.float64)[paired.row]
    finite = np.isfinite(values).all(axis=0)
    values, kind = values[:, finite], paired.stratum[finite]
    groups = [np.flatnonzero(kind == one) for one in np.unique(kind)]
    several = [group for group in groups if len(group) > 1]
    single = np.array([group[0] for group in groups if len(group) == 1], dtype=np.int64)
    if len(single) == 1 and several:
        several[0] = np.concatenate([several[0], single])
    elif len(single):
        several.append(single)
    order = np.concatenate(several) if several else np.zeros(0, np.int64)
    sizes = np.array([len(group) for group in several], dtype=np.int64)
    if not paired.measured:
        return MetricSample(values[:, order], sizes, sizes, np.zeros(len(sizes), bool))
    played = np.flatnonzero(finite)
    stretches = [tuple(paired.measured[world] for world in played[group]) for group in several]
    calls = np.array([math.floor(independent_calls(of_kind)) for of_kind in stretches], np.int64)
    return MetricSample(values[:, order], sizes, calls, np.array([any(of_kind) for of_kind in stretches]))


@lru_cache(maxsize=512)
def independent_calls(calls: tuple[Stretches, ...]) -> float:
    """Return the number of independent calls that these calls count as, 1 to their number; a call without stretches is independent."""
    roles = [list(dict.fromkeys(name for name, _, _ in call)) for call in calls]
    needed = [
        _shared(calls, [names[role] if role < len(names) else "" for names in roles]) for role in range(max(map(len, roles), default=0))
    ]
    return len(calls) / max([1.0, *(float(one) / len(calls) for one in needed)])


def _shared(calls: Sequence[Stretches], chosen: Sequence[str]) -> float:
    """Return the sum over pairs of calls of the share of the first one's stretch of its chosen trace that the second has or is near to."""
    total = float(sum(not name for name in chosen))
    for trace in {name for name in chosen if name}:
        of_trace = [(number, begin, end) for number, call in enumerate(calls) for name, begin, end in call if name == trace]
        number, begin, end = (np.array(column, np.int64) for column in zip(*of_trace, strict=True))
        near = (end - begin) / 2.0
        common = np.minimum((end + near)[:, None], end + near) - np.maximum((begin - near)[:, None], begin - near)
        of_calls = np.zeros((len(calls), len(calls)))
        np.add.at(of_calls, (number[:, None], number), np.maximum(common, 0.0))
        own = np.array([name == trace for name in chosen])
        length = np.bincount(number, end - begin, len(calls))[own]
        total += float(np.minimum(of_calls[own] / (2.0 * length[:, None]), 1.0).sum())
    return total
