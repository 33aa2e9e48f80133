"""Rows of the page's tables: all worlds of a board with intervals, each stratum separately, each scenario pair by pair."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vcgym.leaderboard.report.board import ORACLE, Board, Line, Stratum, bands, board_name, with_seeds
from vcgym.leaderboard.report.long_calls import with_whole
from vcgym.leaderboard.report.page.scale import robust
from vcgym.leaderboard.report.scores import format_score
from vcgym.leaderboard.report.words.headline import change
from vcgym.leaderboard.report.words.names import family, meaning, shown
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.results.columns import COST, Column, format_value
from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.statistics.aggregates import trimmed_mean

BESIDE = (
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


class _Row(NamedTuple):
    line: Line
    rank: str
    primary: Estimate
    beside: tuple[Estimate | None, ...]  # in the order of `BESIDE`
    values: dict[str, float]
    bands: dict[str, float]


def of_board(results: pa.Table, board: Board) -> pa.Table:
    """Return the rows of results that a board ranks, without oracles, with every column that it shows."""
    names = map(board_name, results["mode"].to_pylist(), results["stratum"].to_pylist())
    found = results.filter(pa.array([name == board.mode for name in names])).filter(pc.field("kind") != ORACLE)
    return with_whole(found) if board.long_share else found


def bodies(results: pa.Table, board: Board) -> list[Body]:
    """Return the table of all worlds of a board, then one table per stratum."""
    columns = board.columns
    all_worlds = []
    for line in with_seeds(board.lines):
        values = {one.name: line.estimate(one).value for one in columns.numbers}
        beside = line.value.to_published, line.value.to_bar, line.value.score
        all_worlds.append(_Row(line, line.rank, line.estimate(columns.primary), beside, values, line.bands))
    return [_body(board, "all", board.worlds, all_worlds), *(_stratum_body(results, board, stratum) for stratum in board.strata)]


def _stratum_body(results: pa.Table, board: Board, stratum: Stratum) -> Body:
    of_stratum, columns = results.filter(pc.field("stratum") == stratum.name), board.columns
    rows = []
    for line in with_seeds(sorted(board.lines, key=lambda line: -np.nan_to_num(stratum.centres[line.standing.system].value))):
        system = line.standing.system
        of_system = of_stratum.filter(pc.is_in(pc.field("system"), pa.array(line.runs)))
        of_runs = [of_stratum.filter(pc.field("system") == run) for run in line.runs]
        values = {metric.name: float(np.mean([_centre(metric, of_run) for of_run in of_runs])) for metric in columns.numbers}
        ranks = stratum.standings[system].ranks if system in stratum.standings else ""
        rank = f"tied {ranks}" if "-" in ranks else ranks
        score = stratum.axis.scores[system] if stratum.axis else None
        beside = stratum.to_published.get(system), stratum.to_bar.get(system), score
        rows.append(_Row(line, rank, stratum.centres[system], beside, values, bands(columns, of_system)))
    return _body(board, stratum.name, stratum.worlds, rows)


def _centre(metric: Column, rows: pa.Table) -> float:
    values = rows[metric.name].to_numpy().astype(np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return float("nan")
    return float(trimmed_mean(values, metric.trim))


def _beside(board: Board, row: _Row) -> list[tuple[str, str]]:
    """Return the cells of `BESIDE`: sort key and text."""
    *differences, score = row.beside
    texts = [change(board, found) if found else "" for found in differences]
    return [
        *((_key(found.value) if found else "nan", text) for found, text in zip(differences, texts, strict=True)),
        (_key(score.value), format_score(score)) if score else ("nan", ""),
    ]


def _value(primary: Column, line: Line) -> list[tuple[str, str]]:
    """Return the cells of `VALUE` and `COST_HEADINGS`: sort key and text."""
    regret, won, learned = line.value.regret, line.value.won, line.value.learned
    return [
        (_key(learned.value), format_value(primary, learned.value)) if learned else ("nan", ""),
        (_key(regret.value), format_value(primary, regret.value)) if regret else ("nan", ""),
        (_key(won.value), f"{100.0 * won.value:.0f}"),
        *((str(line.cost[name]), f"{line.cost[name]:,}") for name in COST),
    ]


def _body(board: Board, name: str, worlds: int, lines: list[_Row]) -> Body:
    columns, primary = board.columns, board.columns.primary
    scale = robust([row.primary for row in lines], min_step=columns.min_step)
    order = [row.line.standing.system for row in lines]
    stand, families = shown(board, order), [family(system) for system in order]
    rows = [
        {
            "system": system,
            "words": in_words(system),
            "kind": row.line.kind,
            "about": meaning(system),
            "family": of_family,
            "stands": system in stand,
            "variants": families.count(of_family) - 1 if families.index(of_family) == index else 0,
            "beside": _beside(board, row),
            "value": _value(primary, row.line),
            "rank": row.rank,
            "primary": (_key(row.primary.value), format_value(primary, row.primary.value)),
            "interval": f"{format_value(primary, row.primary.low)} to {format_value(primary, row.primary.high)}",
            "mark": scale.interval(row.primary),
            "groups": [
                [(_key(row.values[one.name]), format_value(one, row.values[one.name])) for one in few] for _, few in columns.grouped
            ],
            "bands": " / ".join(f"{100.0 * share:.0f}" for share in row.bands.values()),
        }
        for index, (row, system, of_family) in enumerate(zip(lines, order, families, strict=True))
    ]
    low, high = (f"{primary.factor * end:.1f}" for end in scale)
    return Body(name, worlds, (low, high), rows)


def _key(value: float) -> str:
    """Return the sort key of a value as text."""
    return f"{value:.6g}"


def pair_tables(results: pa.Table, board: Board) -> list[PairTable]:
    """Return one table per scenario of a board; if there are many pairs, those with the largest differences between systems."""
    metric = board.columns.ranked_by
    means = results.group_by(["scenario", "pair", "system"]).aggregate([(metric, "mean")]).to_pylist()
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
        return heat, format_value(board.columns.primary, value)

    rows = [(line.standing.system, line.kind, [cell(line, pair) for pair in pairs]) for line in board.lines]
    return PairTable(scenario, pairs, len(by_pair) - len(pairs), rows)
