"""The leaderboard as data: for each mode the ranked systems with a table of statistics, and the same for each stratum.

Worlds whose strata were sampled with the declared weights make one board per mode; a stratum sampled only by name (the natural mix, a
control) has its own board. Oracles are on a board's axis and never ranked. `vcgym.leaderboard.results.columns.Columns` defines the metrics
and the one used for ranking.
"""

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vcgym.leaderboard.evaluation.bars import Bar, bar_on
from vcgym.leaderboard.evaluation.suites import REPLAYS, SUITES, columns_of
from vcgym.leaderboard.report.notes import calls_apart, notes, older, unpublished
from vcgym.leaderboard.report.scores import Axis, Point, anchored, best_published, front
from vcgym.leaderboard.results.call_metrics import long_columns, share_beyond_range, with_whole
from vcgym.leaderboard.results.columns import COST, Column, Columns
from vcgym.leaderboard.statistics import Estimate, Paired, Standing, differences, pair_worlds, rank, trimmed_means
from vcgym.leaderboard.statistics.seeds import runs_of
from vcgym.leaderboard.statistics.summaries import PerformanceProfile, centres, medians, profile_curves, profiles, shortfalls, worlds_won
from vcgym.network.scenarios.paths.leo import NOT_SHIPPED
from vcgym.network.scenarios.paths.linked import NATURAL
from vcgym.network.scenarios.paths.shipped_series import SATELLITE
from vcgym.network.scenarios.paths.stress import ONE_SECOND_BURSTS

BY_NAME = (NATURAL, ONE_SECOND_BURSTS, SATELLITE, NOT_SHIPPED)
ORACLE = "oracle"
START = "-start"
"""Ending of the name of an agent before its first update."""

ABOVE_PUBLISHED, ABOVE_TUNED, ATTAINED = "above_published", "above_tuned_rule", "percent_of_attainable"

Table = dict[str, dict[str, Estimate]]
"""Statistics by system or method: by the name of a metric its centre (interquartile mean or mean), and of the ranked metric

    above_published        paired difference to `Board.published`; absent without one
    above_tuned_rule       paired difference to `Board.bar`; absent without one
    percent_of_attainable  anchored score, 0 to 100 and beyond; absent without oracle rows, NaN if there is no room
    regret                 paired difference of the oracle with score 100 to the system; absent without its rows
    won                    share of worlds in which the system is better than `Board.reference`; a tie counts half
    median                 median over kinds of worlds of the mean within a kind
    shortfall              mean shortfall to `Columns.target`; absent without a target
    learned                paired difference of an agent to itself before its first update, which plays as NAME-start; absent without one

and by each of `Columns.bands` its share. In a stratum the last five are absent, and centres but that of the ranked metric have no interval.
"""


class Line(NamedTuple):
    """Line of a system or method: its kind ("rule", "tuned", "agent", "local"), standing, statistics (`Table`), and cost.

    A method has a line for each of its trainings too, by number; these have no rank.
    """

    kind: str
    standing: Standing
    found: dict[str, Estimate]
    cost: dict[str, int]
    seeds: tuple["Line", ...] = ()

    @property
    def system(self) -> str:
        """Name of the system or method."""
        return self.standing.system

    def cell(self, column: Column) -> str:
        """Return the centre of a metric as rounded text in the column's unit."""
        return column.text(self.found[column.name].value)

    @property
    def rank(self) -> str:
        """Rank as text: "2", or "tied 1-3" if the data do not decide; "" for one training of a method, and with too few calls."""
        return f"tied {self.standing.ranks}" if "-" in self.standing.ranks else self.standing.ranks

    @property
    def runs(self) -> tuple[str, ...]:
        """Systems whose rows these are: that of the line, or the trainings of the method."""
        return tuple(line.system for line in self.seeds) or (self.system,)


def with_seeds(lines: Iterable[Line]) -> list[Line]:
    """Return lines, that of a method followed by those of its trainings."""
    return [one for line in lines for one in (line, *line.seeds)]


class Stratum(NamedTuple):
    """Results of one stratum of a mode: name, number of worlds, standings, statistics, and the axis of scores if there are oracles."""

    name: str
    worlds: int
    standings: dict[str, Standing]
    found: Table
    axis: Axis | None

    def of(self, line: Line) -> Line:
        """Return the line of a system in this stratum."""
        return line._replace(standing=self.standings.get(line.system, Standing(line.system, 0, 0)), found=self.found[line.system], seeds=())


class Board(NamedTuple):
    """Worlds ranked together: of one mode with the declared weights (`mode` is "correlated"), or of one stratum ("correlated-natural").

    The fields are: columns of its suite, number of worlds, conditions, systems (best first), and strata if there is more than one; the best
    published system ("" without one) and the tuned reference of all comparisons; the axis of anchored scores (None without oracle rows);
    systems in each plane of delay and loss; performance profiles at `Columns.levels`, with intervals, and at `Columns.profile`; notes for
    the reader; and the share of calls beyond the range of R's delay impairment (`call_metrics.share_beyond_range`). `calls` is how many
    independent calls those over measured time count as; None: the worlds are drawn.
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
        """Reference of the worlds won: the best published system, or the bar, or the best system, of a method its first training."""
        return self.published or self.bar.system or self.lines[0].runs[0]

    @property
    def references(self) -> list[tuple[str, str]]:
        """The best published system and the bar, as far as there are, each with the statistic of the difference to it."""
        return [(name, statistic) for name, statistic in ((self.published, ABOVE_PUBLISHED), (self.bar.system, ABOVE_TUNED)) if name]

    @property
    def has_scores(self) -> bool:
        """True if the anchored scores are defined."""
        return self.axis is not None and self.axis.has_headroom


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
    both, best = pair_worlds(rows), rank(paired, primary.name, primary.better, primary.trim)
    of_runs = runs_of(paired.systems)
    row_of = {name: int(paired.row[paired.systems.index(runs[0]), 0]) for name, runs in of_runs.items()}
    kinds = {name: results["kind"][row].as_py() for name, row in row_of.items()}
    bar = bar_on(_suite(results), name, {standing.system: kinds[standing.system] for standing in best})
    needed = published_of(columns, _suite(results))
    published = best_published(paired, columns, needed)
    axis = anchored(both, published, columns)
    reference = published or bar.system or of_runs[best[0].system][0]
    found = summarise(columns, both, paired, axis, published, bar.system, reference)

    def line(standing: Standing) -> Line:
        system = standing.system
        seeds = tuple(line(Standing(run, 0, 0)) for run in of_runs[system] if run != system)
        return Line(kinds[system], standing, found[system], {column: results[column][row_of[system]].as_py() for column in COST}, seeds)

    return Board(
        columns, name, paired.row.shape[1], _conditions(columns, results), tuple(map(line, best)),
        _strata(columns, rows, paired.systems, published, bar.system), published, bar, axis,
        {plane.name: front(paired, plane) for plane in columns.fronts},
        profiles(paired, primary.name, np.array(list(columns.levels))), profile_curves(paired, primary.name, columns.profile),
        (*notes(paired, primary, name), *older(absent), *unpublished(needed, paired.systems)),
        long_share, calls_apart(paired, primary.name),
    )  # fmt: skip


def _strata(columns: Columns, rows: pa.Table, systems: tuple[str, ...], published: str, bar: str) -> tuple[Stratum, ...]:
    names, primary, strata = sorted(rows["stratum"].unique().to_pylist()), columns.primary, []
    for name in names if len(names) > 1 else ():
        both = pair_worlds(rows.filter(pc.field("stratum") == name))
        paired, axis = both.of(*systems), anchored(both, published, columns)
        standings = {one.system: one for one in rank(paired, primary.name, primary.better, primary.trim)}
        strata.append(Stratum(name, paired.row.shape[1], standings, summarise(columns, both, paired, axis, published, bar), axis))
    return tuple(strata)


def summarise(
    columns: Columns, both: Paired, paired: Paired, axis: Axis | None, published: str, bar: str, reference: str = ""
) -> Table:  # fmt: skip
    """Return the statistics of each system and method.

    Args:
        columns: columns of the suite.
        both: results of systems and oracles.
        paired: results of the systems.
        axis: axis of the anchored scores, if there is one.
        published: best published system of the board, or "".
        bar: tuned reference of the board, or "".
        reference: of a whole board, with whom worlds are won; "": of a stratum.
    """
    primary, names = columns.primary, runs_of(paired.systems)
    found = _shares_of_bands(columns, paired) | {
        ABOVE_PUBLISHED: _above(paired, primary, published),
        ABOVE_TUNED: _above(paired, primary, bar),
        ATTAINED: axis.scores if axis else {},
    }
    if reference:
        lacking = _above(both, primary, columns.hundred if columns.hundred in both.systems else "")
        starts = [name for name in names if f"{name}{START}" in paired.systems]
        found |= {column.name: trimmed_means(paired, column.name, column.trim) for column in columns.numbers} | {
            "regret": {name: Estimate(-one.value, -one.high, -one.low) for name, one in lacking.items()},
            "won": worlds_won(paired, primary.name, reference, primary.better),
            "median": medians(paired, primary.name),
            "shortfall": {} if columns.target is None else shortfalls(paired, primary.name, columns.target),
            "learned": {name: _above(paired, primary, f"{name}{START}")[name] for name in starts},
        }
    else:
        found |= {column.name: centres(paired, column.name, column.trim) for column in columns.numbers}
        found[primary.name] = trimmed_means(paired, primary.name, primary.trim)
    return {name: {statistic: of[name] for statistic, of in found.items() if name in of} for name in names}


def _shares_of_bands(columns: Columns, paired: Paired) -> dict[str, dict[str, Estimate]]:
    """Return by band of `Columns.bands` the share of the worlds of each system and method, without intervals; empty without bands."""
    if columns.bands is None:
        return {}
    name, bands, _ = columns.bands
    in_worlds = dict(zip(paired.systems, np.array(paired.results[name].to_pylist(), object)[paired.row], strict=True))
    of_runs = {system: np.array([in_worlds[run] for run in runs]) for system, runs in runs_of(paired.systems).items()}
    return {
        band: {system: Estimate(float((values == band).mean()), math.nan, math.nan) for system, values in of_runs.items()} for band in bands
    }


def _above(paired: Paired, primary: Column, reference: str) -> dict[str, Estimate]:
    """Return the paired difference of each system and method to `reference`; an empty mapping without a reference."""
    return differences(paired, primary.name, reference, primary.trim) if reference else {}


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
    names = filter(None, (columns.hundred, columns.informed))
    found = [rows.filter((pc.field("kind") == ORACLE) & (pc.field("system") == name)) for name in names]
    return [of_oracle for of_oracle in found if of_oracle.num_rows == worlds]


def _suite(results: pa.Table) -> str:
    """Return name and version of the suite; "" for several suites."""
    names = {f"{name}-{version}" for name, version in zip(*(results[key].to_pylist() for key in ("suite", "suite_version")), strict=True)}
    return names.pop() if len(names) == 1 else ""


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
