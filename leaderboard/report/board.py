"""The leaderboard as data: for each mode the ranked systems with a summary of every metric, and the same for each stratum.

Worlds whose strata were sampled with the declared weights make one board per mode; a stratum sampled only by name (the natural mix, a
control) has its own board. Oracles are on a board's axis and never ranked. `vcgym.leaderboard.results.columns.Columns` defines the metrics
and the one used for ranking.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vcgym.leaderboard.evaluation.bars import Bar, bar_on
from vcgym.leaderboard.evaluation.suites import REPLAYS, SUITES, columns_of
from vcgym.leaderboard.report.long_calls import long_columns, share_beyond_range, with_whole
from vcgym.leaderboard.report.notes import calls_apart, notes, older, unpublished
from vcgym.leaderboard.report.scores import Axis, Point, anchored, best_published, front
from vcgym.leaderboard.results.columns import COST, Column, Columns, format_value
from vcgym.leaderboard.statistics import Estimate, Paired, Standing, differences, interquartile_means, means, pair_worlds, rank
from vcgym.leaderboard.statistics.seeds import methods
from vcgym.leaderboard.statistics.summaries import PerformanceProfile, medians, profile_curves, profiles, shortfalls, worlds_won
from vcgym.network.scenarios.paths.leo import NOT_SHIPPED
from vcgym.network.scenarios.paths.shipped_series import SATELLITE
from vcgym.network.scenarios.paths.stress import ONE_SECOND_BURSTS
from vcgym.network.worlds.strata import NATURAL

_CENTRES = {"mean": means, "iqm": interquartile_means}
BY_NAME = (NATURAL, ONE_SECOND_BURSTS, SATELLITE, NOT_SHIPPED)
ORACLE = "oracle"


START = "-start"
"""Ending of the name of an agent before its first update."""


class Value(NamedTuple):
    """Ranked metric of one system relative to other systems and to the attainable value.

    Attributes:
        to_published: paired difference to `Board.published`; None without one.
        to_bar: paired difference to `Board.bar`; None without one.
        score: anchored score, 0 to 100 and beyond; None without oracle rows, NaN if there is no room.
        regret: paired difference of the oracle with score 100 to the system; None without its rows.
        won: share of worlds in which the system is better than `Board.reference`; a tie counts half.
        median: median over kinds of worlds of the mean within a kind.
        shortfall: mean shortfall to `Columns.target`; None without a target.
        learned: paired difference of an agent to itself before its first update, which plays as NAME-start; None without one.
    """

    to_published: Estimate | None
    to_bar: Estimate | None
    score: Estimate | None
    regret: Estimate | None
    won: Estimate
    median: Estimate
    shortfall: Estimate | None
    learned: Estimate | None


class Line(NamedTuple):
    """Line of a system or method: its kind ("rule", "tuned", "agent", "local"), standing, summary per metric, shares per band, value, cost.

    A method has a line for each of its trainings too, by number; these have no rank.
    """

    kind: str
    standing: Standing
    summaries: dict[str, Estimate]
    bands: dict[str, float]
    value: Value
    cost: dict[str, int]
    seeds: tuple["Line", ...] = ()

    def estimate(self, column: Column) -> Estimate:
        """Return the summary of `column` in tables: its interquartile mean or its mean."""
        return self.summaries[column.name]

    def cell(self, column: Column) -> str:
        """Return that summary as rounded text in the column's unit."""
        return format_value(column, self.estimate(column).value)

    @property
    def runs(self) -> tuple[str, ...]:
        """Systems whose rows these are: that of the line, or the trainings of the method."""
        return tuple(line.standing.system for line in self.seeds) or (self.standing.system,)

    @property
    def rank(self) -> str:
        """Rank as text: "2", or "tied 1-3" if the data do not decide; "" for one training of a method, and with too few calls."""
        if not self.standing.rank_low:
            return ""
        tied = self.standing.rank_low < self.standing.rank_high
        return f"tied {self.standing.ranks}" if tied else self.standing.ranks


def with_seeds(lines: Iterable[Line]) -> list[Line]:
    """Return lines, that of a method followed by those of its trainings."""
    return [one for line in lines for one in (line, *line.seeds)]


class Stratum(NamedTuple):
    """Results of one stratum of a mode.

    It has the name, the number of worlds, and per system the summary of the ranked metric, the standing, and the differences to
    `Board.published` and `Board.bar`, if they exist; also the axis of anchored scores, if there are oracles.
    """

    name: str
    worlds: int
    column: Column
    centres: dict[str, Estimate]
    standings: dict[str, Standing]
    to_published: dict[str, Estimate]
    to_bar: dict[str, Estimate]
    axis: Axis | None

    def cell(self, system: str) -> str:
        """Return the summary and rank of a system, "84.25 (1-3)"."""
        ranks = self.standings[system].ranks
        return format_value(self.column, self.centres[system].value) + (f" ({ranks})" if ranks else "")


class Board(NamedTuple):
    """Worlds ranked together: of one mode with the declared weights (`mode` is "correlated"), or of one stratum ("correlated-natural").

    The fields are: columns of its suite, number of worlds, conditions, systems (best first), and strata if there is more than one; the best
    published system ("" without one) and the tuned reference of all comparisons; the axis of anchored scores (None without oracle rows);
    Pareto fronts by name; performance profiles at `Columns.levels`, with intervals, and at `Columns.profile`; notes for the reader; and the
    share of calls beyond the range of R's delay impairment (`vcgym.leaderboard.report.long_calls`). `calls` is how many independent calls
    those over measured time count as; None: the worlds are drawn.
    """

    columns: Columns
    mode: str
    worlds: int
    conditions: dict[str, str]
    lines: tuple[Line, ...]
    strata: tuple[Stratum, ...]
    published: str
    bar: Bar
    axis: Axis | None
    fronts: dict[str, dict[str, Point]]
    profiles: dict[str, PerformanceProfile]
    profile_curves: dict[str, np.ndarray]
    notes: tuple[str, ...]
    long_share: float
    calls: int | None = None

    @property
    def reference(self) -> str:
        """Reference of `Value.won`: the best published system, or the bar, or the best system, of a method its first training."""
        return self.published or self.bar.system or self.lines[0].runs[0]


def board_name(mode: str, stratum: str | None) -> str:
    """Return the board of a stratum: its mode's, or its own for a stratum sampled only by name."""
    return f"{mode}-{stratum}" if stratum in BY_NAME else mode


def boards(results: pa.Table) -> list[Board]:
    """Rank the systems of a results table, board by board in alphabetical order, numbers by value.

    Rows of kind "oracle" set the axis of anchored scores; a board ignores an oracle that lacks one of its worlds. A board of rows that are
    older than some columns has no values there, no Pareto front of them, and a note.

    Raises:
        ValueError: a system lacks a world of a board that another system has.
    """
    columns = columns_of(results)
    of_row = pa.array(map(board_name, results["mode"].to_pylist(), results["stratum"].to_pylist()))
    return [board_of(columns, name, results.filter(pc.equal(of_row, name))) for name in sorted(set(of_row.to_pylist()), key=_by_number)]


def _by_number(name: str) -> list[tuple[float, str]]:
    """Return a key that sorts names by alphabet, and their numbers by value."""
    return [(float(part), "") if part[:1].isdigit() else (math.inf, part) for part in re.split(r"(\d+(?:\.\d+)?)", name)]


def board_of(columns: Columns, name: str, rows: pa.Table) -> Board:
    """Rank the systems on the worlds of one board.

    Args:
        columns: columns of the suite.
        name: name of the board.
        rows: its rows, of oracles too.

    Raises:
        ValueError: a system lacks a world that another system has.
    """
    primary = columns.primary
    long_share = share_beyond_range(columns, rows.filter(pc.field("kind") != ORACLE))
    if long_share:
        columns, rows = long_columns(columns), with_whole(rows)
    results = rows.filter(pc.field("kind") != ORACLE)
    absent = [column.name for column in columns.metrics if results[column.name].null_count == len(results)]
    columns = columns._replace(fronts=tuple(plane for plane in columns.fronts if not {plane.delay, *plane.losses} & set(absent)))
    paired = pair_worlds(results)
    rows = pa.concat_tables([results, *_anchors(columns, rows, paired.row.shape[1])])
    kinds = dict(zip(rows["system"].to_pylist(), rows["kind"].to_pylist(), strict=True))
    both = pair_worlds(rows)
    summaries = {column.name: _CENTRES[column.centre](paired, column.name) for column in columns.numbers}
    standings = rank(paired, primary.name, primary.better, primary.trim)
    bar = bar_on(_suite(results), name, {standing.system: kinds.get(standing.system, "") for standing in standings})
    needed = published_of(columns, _suite(results))
    published = best_published(paired, columns, needed)
    axis = anchored(both, published, columns)
    of_methods = methods(paired.systems)
    values = _values(columns, paired, both, axis, bar, published, published or bar.system or _one_run(standings[0].system, of_methods))

    def line(standing: Standing) -> Line:
        name, seeds = standing.system, tuple(line(Standing(run, 0, 0)) for run in of_methods.get(standing.system, ()))
        of_system = results.filter(pc.is_in(pc.field("system"), pa.array(of_methods.get(name, (name,)))))
        cost = {column: of_system[column][0].as_py() for column in COST}
        of_metrics = {metric: summary[name] for metric, summary in summaries.items()}
        kind = seeds[0].kind if seeds else kinds[name]
        return Line(kind, standing, of_metrics, bands(columns, of_system), values[name], cost, seeds)

    lines = [line(standing) for standing in standings]
    return Board(
        columns, name, paired.row.shape[1], _conditions(columns, results), tuple(lines), _strata(columns, rows, kinds, bar, published),
        published, bar, axis, {plane.name: front(paired, plane) for plane in columns.fronts},
        profiles(paired, primary.name, np.array(list(columns.levels))), profile_curves(paired, primary.name, columns.profile),
        (*notes(paired, primary, name), *older(absent), *unpublished(needed, paired.systems)),
        long_share, calls_apart(paired, primary.name),
    )  # fmt: skip


def published_of(columns: Columns, suite: str) -> tuple[str, ...]:
    """Return the published systems that a suite, by name and version, plays by default; none for a suite that is not vcgym's.

    The best published system is that of them all: the best of those that happen to be played would change with every command.
    """
    known = SUITES.get("default" if suite == "default-v1" else suite)
    if known is None and suite.partition("-")[0] not in REPLAYS and not suite.startswith("rate-replay"):
        return ()
    return tuple(name for name in columns.published if known is None or not known.systems or name in known.systems)


def _anchors(columns: Columns, rows: pa.Table, worlds: int) -> list[pa.Table]:
    """Return the rows of each oracle of the axis that has all worlds."""
    names = (columns.anchors.hundred, columns.anchors.informed) if columns.anchors else ()
    found = [rows.filter((pc.field("kind") == ORACLE) & (pc.field("system") == name)) for name in names]
    return [of_oracle for of_oracle in found if of_oracle.num_rows == worlds]


def _one_run(name: str, of_methods: Mapping[str, tuple[str, ...]]) -> str:
    """Return a system, or the first training of a method: what others can be compared with world by world."""
    return of_methods[name][0] if name in of_methods else name


def _suite(results: pa.Table) -> str:
    """Return name and version of the suite; "" for several suites."""
    names = {f"{name}-{version}" for name, version in zip(*(results[key].to_pylist() for key in ("suite", "suite_version")), strict=True)}
    return names.pop() if len(names) == 1 else ""


def _values(
    columns: Columns, paired: Paired, both: Paired, axis: Axis | None, bar: Bar, published: str, reference: str
) -> dict[str, Value]:  # fmt: skip
    primary = columns.primary
    hundred = columns.anchors.hundred if columns.anchors else ""
    lacking = _to(both, primary, hundred if hundred in both.systems else "")
    won = worlds_won(paired, primary.name, reference, primary.better)
    middle = medians(paired, primary.name)
    short = {} if columns.target is None else shortfalls(paired, primary.name, columns.target)
    to_published, to_bar = (_to(paired, primary, one) for one in (published, bar.system))
    starts = [name for name in won if f"{name}{START}" in paired.systems]
    learned = {name: _to(paired, primary, f"{name}{START}")[name] for name in starts}
    return {
        name: Value(
            to_published.get(name),
            to_bar.get(name),
            axis.scores[name] if axis else None,
            _turned(lacking[name]) if lacking else None,
            won[name],
            middle[name],
            short.get(name),
            learned.get(name),
        )
        for name in won
    }


def _turned(difference: Estimate) -> Estimate:
    return Estimate(-difference.value, -difference.high, -difference.low)


def _to(paired: Paired, primary: Column, reference: str) -> dict[str, Estimate]:
    """Return the paired difference of each system and method to `reference`; an empty mapping without a reference."""
    return differences(paired, primary.name, reference, primary.trim) if reference else {}


def _strata(columns: Columns, rows: pa.Table, kinds: dict[str, str], bar: Bar, published: str) -> tuple[Stratum, ...]:
    names, primary = sorted(rows["stratum"].unique().to_pylist()), columns.primary
    found = []
    for name in names if len(names) > 1 else ():
        both = pair_worlds(rows.filter(pc.field("stratum") == name))
        paired = both.of(*(system for system in both.systems if kinds[system] != ORACLE))
        centres = _CENTRES[primary.centre](paired, primary.name)
        standings = {one.system: one for one in rank(paired, primary.name, primary.better, primary.trim)}
        to_published, to_bar = (_to(paired, primary, one) for one in (published, bar.system))
        axis = anchored(both, published, columns)
        found.append(Stratum(name, paired.row.shape[1], primary, centres, standings, to_published, to_bar, axis))
    return tuple(found)


def bands(columns: Columns, rows: pa.Table) -> dict[str, float]:
    """Return the share of rows in each band of `Columns.bands`; empty without bands."""
    if columns.bands is None:
        return {}
    name, values, _ = columns.bands
    found = rows[name].to_pylist()
    return {value: found.count(value) / max(1, len(found)) for value in values}


def _conditions(columns: Columns, results: pa.Table) -> dict[str, str]:
    """Return as text all conditions that must accompany a number for it to be a result."""

    def values(name: str) -> str:
        return ", ".join(map(str, sorted(results[name].unique().to_pylist()))) or "none"

    seeds = sorted(results["seed"].unique().to_pylist())
    return {
        "suite": f"{values('suite')} {values('suite_version')}",
        "scenarios": values("scenario"),
        "strata": values("stratum"),
        "split": values("split"),
        f"{columns.pairs}s": str(len(results["pair"].unique())),
        "seeds": f"{len(seeds)} ({seeds[0]} to {seeds[-1]})",
        **{heading: values(name) for heading, name in columns.conditions.items()},
    }
