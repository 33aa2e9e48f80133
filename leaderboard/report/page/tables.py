"""Rows of the page's tables: all worlds of a board with intervals, each stratum separately, each scenario pair by pair."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vcgym.leaderboard.report.board import ABOVE_PUBLISHED, ABOVE_TUNED, ORACLE, Board, Line, Stratum, board_name, with_seeds
from vcgym.leaderboard.report.page.picture import robust
from vcgym.leaderboard.report.scores import format_score
from vcgym.leaderboard.report.words.names import family, meaning, representatives
from vcgym.leaderboard.report.words.sentences import change
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.results.columns import COST, Column
from vcgym.leaderboard.statistics import Estimate

DIFFERENCES = (
    ("to published", "The ranked metric less that of the best published system, named below, on the same worlds, with its 95 % interval."),
    ("to tuned rule", "The same beside the bar, the best tuned rule on validation worlds, named below."),
    ("% of attainable", "The difference to published in percent of that of hindsight; empty where hindsight is not known."),
)
VALUE = (
    ("learned", "Of an agent, less the same agent before its first update, which plays as NAME-start."),
    ("regret", "The ranked metric of hindsight less that of the system, on the same worlds."),
    ("won, %", "Worlds better than the best published system, ties by half."),
)
COST_HEADINGS = (
    ("decisions", "Decisions an agent was trained on."),
    ("trials", "Settings tried before these were chosen."),
    ("numbers", "Count of numbers that the system consists of."),
)
MAX_PAIRS = 12  # per table of a scenario


class Body(NamedTuple):
    """Body of the table: its worlds, the ends of its axis of the ranked metric, and a row per system, best first."""

    name: str
    worlds: int
    axis: tuple[str, str]
    rows: list[dict[str, Any]]


class PairTable(NamedTuple):
    """Ranked metric of each system on each pair of a scenario; `cells` has 0 (worst of the pair) to 1 (best), with the text."""

    scenario: str
    pairs: list[str]
    left_out: int
    rows: list[tuple[str, str, list[tuple[float, str]]]]


def bodies(board: Board) -> list[Body]:
    """Return the table of all worlds of a board, then one table per stratum."""
    lines = with_seeds(board.lines)
    found = [_body(board, "all", board.worlds, lines, lines)]
    for stratum in board.strata:

        def place(line: Line, stratum: Stratum = stratum) -> float:
            return -float(np.nan_to_num(stratum.of(line).found[board.columns.ranked_by].value))

        lines = with_seeds(sorted(board.lines, key=place))
        found.append(_body(board, stratum.name, stratum.worlds, lines, [stratum.of(line) for line in lines]))
    return found


def _cells(found: dict[str, Estimate], **texts: Callable[[Estimate], str]) -> list[tuple[str, str]]:
    """Return the cells of statistics: sort key and text."""
    return [(_key(found[name].value), text(found[name])) if name in found else ("nan", "") for name, text in texts.items()]


def _centre(column: Column, found: Estimate) -> str:
    return column.text(found.value)


def _body(board: Board, name: str, worlds: int, lines: Sequence[Line], here: Sequence[Line]) -> Body:
    """Return a table from the lines of the board and those of the worlds at hand."""
    columns, primary = board.columns, board.columns.primary
    scale = robust([line.found[primary.name] for line in here], min_step=columns.min_step)
    order = [line.system for line in lines]
    stand, families = representatives(board, order), [family(system) for system in order]
    differences = dict.fromkeys((ABOVE_PUBLISHED, ABOVE_TUNED), partial(change, board))
    in_unit, groups = partial(_centre, primary), [{one.name: partial(_centre, one) for one in few} for _, few in columns.grouped]
    won = partial(_centre, Column("won", "", "%", 0, 1, ""))
    rows = [
        {
            "system": line.system,
            "words": in_words(line.system),
            "kind": line.kind,
            "about": meaning(line.system),
            "family": of_family,
            "stands": line.system in stand,
            "variants": families.count(of_family) - 1 if families.index(of_family) == index else 0,
            "differences": _cells(found, **differences, percent_of_attainable=format_score),
            "value": [
                *_cells(line.found, learned=in_unit, regret=in_unit, won=won),
                *((str(line.cost[name]), f"{line.cost[name]:,}") for name in COST),
            ],
            "rank": in_worlds.rank,
            "primary": (_key(found[primary.name].value), primary.text(found[primary.name].value)),
            "interval": " to ".join(map(primary.text, found[primary.name][1:])),
            "mark": scale.interval(found[primary.name]),
            "groups": [_cells(found, **group) for group in groups],
            "bands": " / ".join(f"{100.0 * found[band].value:.0f}" for band in (columns.bands[1] if columns.bands else ())),
        }
        for index, (line, in_worlds, of_family) in enumerate(zip(lines, here, families, strict=True))
        for found in [in_worlds.found]
    ]
    low, high = (f"{primary.factor * end:.1f}" for end in scale)
    return Body(name, worlds, (low, high), rows)


def _key(value: float) -> str:
    """Return the sort key of a value as text."""
    return f"{value:.6g}"


def pair_tables(results: pa.Table, board: Board) -> list[PairTable]:
    """Return one table per scenario of a board; if there are many pairs, those with the largest differences between systems."""
    names = map(board_name, results["mode"].to_pylist(), results["stratum"].to_pylist())
    ranked = results.filter(pa.array([name == board.mode for name in names])).filter(pc.field("kind") != ORACLE)
    metric = board.columns.ranked_by
    means = ranked.group_by(["scenario", "pair", "system"]).aggregate([(metric, "mean")]).to_pylist()
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in means:
        found.setdefault(row["scenario"], {}).setdefault(row["pair"], {})[row["system"]] = row[f"{metric}_mean"]
    return [_pair_table(scenario, found[scenario], board) for scenario in sorted(found)]


def _pair_table(scenario: str, by_pair: dict[str, dict[str, float]], board: Board) -> PairTable:
    ends = {pair: (np.nanmin([*values.values(), np.inf]), np.nanmax([*values.values(), -np.inf])) for pair, values in by_pair.items()}
    widest = sorted(by_pair, key=lambda pair: (ends[pair][0] - ends[pair][1], pair))[:MAX_PAIRS]
    pairs = sorted(widest)

    def cell(line: Line, pair: str) -> tuple[float, str]:
        low, high = ends[pair]
        value = float(np.mean([by_pair[pair][run] for run in line.runs]))
        heat = float((value - low) / (high - low)) if high > low and value == value else 0.0
        return heat, board.columns.primary.text(value)

    rows = [(line.system, line.kind, [cell(line, pair) for pair in pairs]) for line in board.lines]
    return PairTable(scenario, pairs, len(by_pair) - len(pairs), rows)
