"""The leaderboard as data: for each mode the systems in order of rank, each with its summary of every metric, and each stratum by itself.

Worlds whose strata were drawn in the declared weights make one board of their mode; those of a stratum that is drawn only by name (the
natural mix, a control) make another. Oracles are on a board's axis and never ranked.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vcgym.leaderboard.report.notes import notes
from vcgym.leaderboard.report.scores.anchored import ANCHORS, HUNDRED, Axis, anchored
from vcgym.leaderboard.report.scores.pareto import AXES, Front, front
from vcgym.leaderboard.report.scores.regret import regrets
from vcgym.leaderboard.results.columns import EFFORT, G114_BANDS, METRIC, METRICS, Column, shown
from vcgym.leaderboard.statistics import Estimate, Paired, Standing, interquartile_means, means, pair_worlds, rank
from vcgym.leaderboard.statistics.summaries import Profile, medians, profile_curves, profiles, shortfalls, worlds_won
from vcgym.network.scenarios.stress import ONE_SECOND_BURSTS
from vcgym.network.worlds.strata import NATURAL

RANKED_BY = "r"
SATISFIED_R = 80.0
"""Of ITU-T G.109: from here on users are satisfied."""
SATISFACTION = {90.0: "users very satisfied", 80.0: "satisfied", 70.0: "some dissatisfied", 60.0: "many dissatisfied"}
"""Bands of ITU-T G.109 by the R where they begin; below the last one nearly all are dissatisfied."""
PROFILE_R = np.arange(101.0)
"""Where performance profiles are drawn."""
_CENTRES = {"mean": means, "iqm": interquartile_means}
BY_NAME = (NATURAL, ONE_SECOND_BURSTS)
ORACLE = "oracle"


class Worth(NamedTuple):
    """R of one system beside the others' and what was attainable.

    Attributes:
        score: anchored, 0 to 100 and beyond; None without oracle rows, NaN where there is no room.
        regret: mean R of the oracle less the system's; None without oracle rows.
        won: share of worlds in which it is better than `Board.reference`, a tie counting half.
        median: over kinds of worlds of the mean of a kind.
        shortfall: mean of what is lacking to `SATISFIED_R`.
    """

    score: Estimate | None
    regret: Estimate | None
    won: Estimate
    median: Estimate
    shortfall: Estimate


class Line(NamedTuple):
    """One system: its kind ("rule", "tuned" or "agent"), standing, summary per metric, share of calls per G.114 band, worth and effort."""

    kind: str
    standing: Standing
    summaries: dict[str, Estimate]
    bands: dict[str, float]
    worth: Worth
    effort: dict[str, int]

    def estimate(self, column: Column) -> Estimate:
        """The summary that tables show for `column`: its interquartile mean or its mean."""
        return self.summaries[column.name]

    def shown(self, column: Column) -> str:
        """That summary, rounded for reading, in the column's unit."""
        return shown(column, self.estimate(column).value)

    @property
    def rank(self) -> str:
        """Rank in words: "2", or "tied 1-3" where the data do not tell."""
        tied = self.standing.rank_low < self.standing.rank_high
        return f"tied {self.standing.ranks}" if tied else self.standing.ranks


class Stratum(NamedTuple):
    """One stratum of a mode by itself.

    Its name, number of worlds, and per system the interquartile mean of R and the standing by it; the axis of anchored scores, if there are
    oracles.
    """

    name: str
    worlds: int
    r: dict[str, Estimate]
    standings: dict[str, Standing]
    axis: Axis | None

    def shown(self, system: str) -> str:
        """R and rank of a system, "84.25 (1-3)"."""
        return f"{shown(METRIC[RANKED_BY], self.r[system].value)} ({self.standings[system].ranks})"


class Board(NamedTuple):
    """Worlds ranked together: of one mode in the declared weights (`mode` is "correlated"), or of a stratum by name ("correlated-natural").

    The number of worlds, what was held constant, the systems, best first, and the strata, if there is more than one; the system that
    `Worth.won` refers to; the axis of anchored scores, None without oracle rows; Pareto fronts by accounting; the performance profile of
    each system at `SATISFACTION`, with intervals, and at `PROFILE_R`; and what has to be said beside the numbers.
    """

    mode: str
    worlds: int
    conditions: dict[str, str]
    lines: tuple[Line, ...]
    strata: tuple[Stratum, ...]
    reference: str
    axis: Axis | None
    fronts: dict[str, Front]
    profiles: dict[str, Profile]
    profile_curves: dict[str, np.ndarray]
    notes: tuple[str, ...]


def board_name(mode: str, stratum: str | None) -> str:
    """The board that worlds of a stratum belong to: their mode's, or, of a stratum drawn only by name, its own."""
    return f"{mode}-{stratum}" if stratum in BY_NAME else mode


def boards(results: pa.Table, rng_seed: int = 0) -> list[Board]:
    """Rank the systems of a results table by R, board by board in alphabetical order.

    Rows of kind "oracle" set the axis of anchored scores; an oracle that lacks a world of a board is none of that board's.

    Raises:
        ValueError: on some board a system lacks a world that another one has.
    """
    of_row = pa.array(map(board_name, results["mode"].to_pylist(), results["stratum"].to_pylist()))
    return [_board(name, results.filter(pc.equal(of_row, name)), rng_seed) for name in sorted(set(of_row.to_pylist()))]


def _board(name: str, rows: pa.Table, rng_seed: int) -> Board:
    results = rows.filter(pc.field("kind") != ORACLE)
    paired = pair_worlds(results)
    rows = pa.concat_tables([results, *_anchors(rows, paired.row.shape[1])])
    kinds = dict(zip(rows["system"].to_pylist(), rows["kind"].to_pylist(), strict=True))
    both = pair_worlds(rows)
    summaries = {column.name: _CENTRES[column.centre](paired, column.name, rng_seed) for column in METRICS if column.type != "string"}
    standings = rank(paired, RANKED_BY, rng_seed=rng_seed)
    axis = anchored(both, kinds, RANKED_BY, rng_seed)
    reference = axis.zero if axis else standings[0].system
    worths = _worths(paired, both, axis, reference, rng_seed)
    lines = []
    for standing in standings:
        of_system = results.filter(pc.field("system") == standing.system)
        effort = {column: of_system[column][0].as_py() for column in EFFORT}
        of_metrics = {name: summary[standing.system] for name, summary in summaries.items()}
        lines.append(Line(kinds[standing.system], standing, of_metrics, _bands(of_system), worths[standing.system], effort))
    return Board(
        name, paired.row.shape[1], _conditions(results), tuple(lines), _strata(rows, kinds, rng_seed), reference, axis,
        {accounting: front(paired, accounting, rng_seed) for accounting in AXES},
        profiles(paired, RANKED_BY, np.array(list(SATISFACTION)), rng_seed), profile_curves(paired, RANKED_BY, PROFILE_R),
        notes(paired, RANKED_BY, name, rng_seed),
    )  # fmt: skip


def _anchors(rows: pa.Table, worlds: int) -> list[pa.Table]:
    """Rows of the oracles that are on the axis and have all worlds."""
    found = [rows.filter((pc.field("kind") == ORACLE) & (pc.field("system") == name)) for name in ANCHORS]
    return [of_oracle for of_oracle in found if of_oracle.num_rows == worlds]


def _worths(paired: Paired, both: Paired, axis: Axis | None, reference: str, rng_seed: int) -> dict[str, Worth]:
    regret = regrets(both, RANKED_BY, rng_seed=rng_seed) if HUNDRED in both.systems else {}
    won = worlds_won(paired, RANKED_BY, reference, METRIC[RANKED_BY].better, rng_seed)
    middle, short = medians(paired, RANKED_BY, rng_seed), shortfalls(paired, RANKED_BY, SATISFIED_R, rng_seed)
    return {
        name: Worth(axis.scores[name] if axis else None, regret.get(name), won[name], middle[name], short[name]) for name in paired.systems
    }


def _strata(rows: pa.Table, kinds: dict[str, str], rng_seed: int) -> tuple[Stratum, ...]:
    names = sorted(rows["stratum"].unique().to_pylist())
    found = []
    for name in names if len(names) > 1 else ():
        both = pair_worlds(rows.filter(pc.field("stratum") == name))
        paired = both.of(*(system for system in both.systems if kinds[system] != ORACLE))
        r = interquartile_means(paired, RANKED_BY, rng_seed)
        standings = {standing.system: standing for standing in rank(paired, RANKED_BY, rng_seed=rng_seed)}
        found.append(Stratum(name, paired.row.shape[1], r, standings, anchored(both, kinds, RANKED_BY, rng_seed)))
    return tuple(found)


def _bands(results: pa.Table) -> dict[str, float]:
    bands = results["g114_band"].to_pylist()
    return {band: bands.count(band) / len(bands) for band in G114_BANDS}


def _conditions(results: pa.Table) -> dict[str, str]:
    """Everything that has to stand beside a number for it to be a result, in words."""

    def values(name: str) -> str:
        return ", ".join(map(str, sorted(results[name].unique().to_pylist()))) or "none"

    seeds = sorted(results["seed"].unique().to_pylist())
    return {
        "suite": f"{values('suite')} {values('suite_version')}",
        "scenarios": values("scenario"),
        "strata": values("stratum"),
        "split": values("split"),
        "pairs": str(len(results["pair"].unique())),
        "seeds": f"{len(seeds)} ({seeds[0]} to {seeds[-1]})",
        "packets per call": values("packets"),
        "environment": values("env"),
        "data card": values("card"),
        "latency from round trip": values("latency_from_rtt"),
        "clocked input": values("clocked_input"),
        "delay impairment": values("delay_impairment"),
    }
