"""The leaderboard as data: for each mode the systems in order of rank, each with its summary of every metric, and each stratum by itself.

Worlds whose strata were drawn in the declared weights make one board of their mode, worlds of the natural mix another.
"""

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from vcgym.leaderboard.columns import G114_BANDS, METRIC, METRICS, Column, shown
from vcgym.leaderboard.statistics import Estimate, Standing, Summary, pair_worlds, rank, summarise
from vcgym.network.strata import NATURAL

RANKED_BY = "r"


class Line(NamedTuple):
    """One system: its kind ("rule" or "agent"), its standing, a summary per metric and the share of calls per G.114 band."""

    kind: str
    standing: Standing
    summaries: dict[str, Summary]
    bands: dict[str, float]

    def estimate(self, column: Column) -> Estimate:
        """The summary that tables show for `column`: its interquartile mean or its mean."""
        summary = self.summaries[column.name]
        return summary.iqm if column.centre == "iqm" else summary.mean

    def shown(self, column: Column) -> str:
        """That summary, rounded for reading, in the column's unit."""
        return shown(column, self.estimate(column).value)

    @property
    def rank(self) -> str:
        """Rank in words: "2", or "tied 1-3" where the data do not tell."""
        tied = self.standing.rank_low < self.standing.rank_high
        return f"tied {self.standing.ranks}" if tied else self.standing.ranks


class Stratum(NamedTuple):
    """One stratum of a mode by itself: its name, number of worlds, and per system the interquartile mean of R and the standing by it."""

    name: str
    worlds: int
    r: dict[str, Estimate]
    standings: dict[str, Standing]

    def shown(self, system: str) -> str:
        """R and rank of a system, "84.25 (1-3)"."""
        return f"{shown(METRIC[RANKED_BY], self.r[system].value)} ({self.standings[system].ranks})"


class Board(NamedTuple):
    """Worlds ranked together: of one mode in the declared weights (`mode` is "correlated"), or of its natural mix ("correlated-natural").

    The number of worlds, what was held constant, the systems, best first, and the strata, if there is more than one.
    """

    mode: str
    worlds: int
    conditions: dict[str, str]
    lines: tuple[Line, ...]
    strata: tuple[Stratum, ...]


def board_name(mode: str, stratum: str | None) -> str:
    """The board that worlds of a stratum belong to: their mode's, or that of its natural mix."""
    return f"{mode}-{NATURAL}" if stratum == NATURAL else mode


def boards(results: pa.Table, rng_seed: int = 0) -> list[Board]:
    """Rank the systems of a results table by R, board by board in alphabetical order.

    Raises:
        ValueError: on some board a system lacks a world that another one has.
    """
    of_row = pa.array(map(board_name, results["mode"].to_pylist(), results["stratum"].to_pylist()))
    return [_board(name, results.filter(pc.equal(of_row, name)), rng_seed) for name in sorted(set(of_row.to_pylist()))]


def _board(name: str, results: pa.Table, rng_seed: int) -> Board:
    paired = pair_worlds(results)
    measured = [column.name for column in METRICS if column.type != "string"]
    summaries = {name: summarise(paired, name, rng_seed) for name in measured}
    kinds = dict(zip(results["system"].to_pylist(), results["kind"].to_pylist(), strict=True))
    lines = (
        Line(
            kinds[standing.system],
            standing,
            {name: summaries[name][standing.system] for name in measured},
            _bands(results.filter(pc.field("system") == standing.system)),
        )
        for standing in rank(paired, RANKED_BY, rng_seed=rng_seed)
    )
    return Board(name, paired.row.shape[1], _conditions(results), tuple(lines), _strata(results, rng_seed))


def _strata(results: pa.Table, rng_seed: int) -> tuple[Stratum, ...]:
    names = sorted(results["stratum"].unique().to_pylist())
    found = []
    for name in names if len(names) > 1 else ():
        paired = pair_worlds(results.filter(pc.field("stratum") == name))
        r = {system: summary.iqm for system, summary in summarise(paired, RANKED_BY, rng_seed).items()}
        standings = {standing.system: standing for standing in rank(paired, RANKED_BY, rng_seed=rng_seed)}
        found.append(Stratum(name, paired.row.shape[1], r, standings))
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
