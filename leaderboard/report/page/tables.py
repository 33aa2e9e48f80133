"""Rows of the page's tables: all worlds of a board with intervals, each stratum by itself, each scenario pair by pair."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from vcgym.leaderboard.report.board import ORACLE, Board, Line, Stratum, board_name
from vcgym.leaderboard.report.page.scale import robust
from vcgym.leaderboard.report.scores.anchored import Axis
from vcgym.leaderboard.report.scores.anchored import shown as in_words
from vcgym.leaderboard.results.columns import EFFORT, G114_BANDS, METRIC, METRICS, Column, shown
from vcgym.leaderboard.statistics import Estimate

GROUPS = (
    ("Quality", ("r_p5", "mos")),
    ("Delay played, ms", tuple(f"clocked_end_to_end_delay_{label}_ms" for label in ("mean", "p50", "p95", "p99"))),
    ("Delay emitted, ms", tuple(f"event_end_to_end_delay_{label}_ms" for label in ("mean", "p50", "p95", "p99"))),
    ("Mean parts, ms", ("one_way_delay_mean_ms", "reordering_delay_mean_ms", "playout_delay_mean_ms")),
    ("Share, %", ("network_loss", "event_late_loss", "clocked_late_loss", "concealed_share", "conceal_runs_over_60_ms_share")),
    ("Count per call", ("path_changes", "plans_sent", "probes_sent")),
)
WORTH = (
    ("score", "Anchored score: 0 the best published system, 100 the hindsight oracle with six changes of path a minute."),
    ("regret", "Mean R that this oracle had more on the same worlds."),
    ("won, %", "Worlds better than the reference named below, ties by half."),
    ("decisions", "Decisions an agent was trained on."),
    ("trials", "Settings tried before these were chosen."),
    ("numbers", "How many numbers the system consists of."),
)
"""Beside what was attainable, and what it took: headings, and what they mean."""
MOST_PAIRS = 12  # in one table of a scenario


class Body(NamedTuple):
    """One body of the table: the worlds it is about, the ends of its axis of R, and a row per system, best first."""

    name: str
    worlds: int
    axis: tuple[str, str]
    rows: list[dict[str, Any]]


class PairTable(NamedTuple):
    """R of each system on each pair of a scenario; `cells` in 0..1 from the pair's worst to its best, with the text."""

    scenario: str
    pairs: list[str]
    left_out: int
    rows: list[tuple[str, str, list[tuple[float, str]]]]


def of_board(results: pa.Table, board: Board) -> pa.Table:
    """The rows of results that a board ranks: oracles are not among them."""
    names = map(board_name, results["mode"].to_pylist(), results["stratum"].to_pylist())
    return results.filter(pa.array([name == board.mode for name in names])).filter(pc.field("kind") != ORACLE)


def bodies(results: pa.Table, board: Board) -> list[Body]:
    """All worlds of a board first, then each stratum."""
    measured = [metric for metric in METRICS if metric.type != "string"]
    all_worlds = [
        (line, line.rank, line.estimate(METRIC["r"]), {metric.name: line.estimate(metric).value for metric in measured}, line.bands)
        for line in board.lines
    ]
    return [_body("all", board.worlds, board.axis, all_worlds), *(_stratum_body(results, board, stratum) for stratum in board.strata)]


def _stratum_body(results: pa.Table, board: Board, stratum: Stratum) -> Body:
    here = results.filter(pc.field("stratum") == stratum.name)
    lines = []
    for line in sorted(board.lines, key=lambda line: -np.nan_to_num(stratum.r[line.standing.system].value)):
        system = line.standing.system
        rows = here.filter(pc.field("system") == system)
        values = {metric.name: _centre(metric, rows) for metric in METRICS if metric.type != "string"}
        found = rows["g114_band"].to_pylist()
        bands = {band: found.count(band) / max(1, len(found)) for band in G114_BANDS}
        ranks = stratum.standings[system].ranks
        lines.append((line, f"tied {ranks}" if "-" in ranks else ranks, stratum.r[system], values, bands))
    return _body(stratum.name, stratum.worlds, stratum.axis, lines)


def _centre(metric: Column, rows: pa.Table) -> float:
    values = rows[metric.name].to_numpy().astype(np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return float("nan")
    return float(stats.trim_mean(values, 0.25) if metric.centre == "iqm" else values.mean())


def _worth(line: Line, axis: Axis | None) -> list[tuple[str, str]]:
    """Cells of `WORTH`: what they are sorted by, and what they say."""
    score = axis.scores[line.standing.system] if axis else None
    regret, won = line.worth.regret, line.worth.won
    return [
        (_key(score.value), in_words(score)) if score else ("nan", ""),
        (_key(regret.value), shown(METRIC["r"], regret.value)) if regret else ("nan", ""),
        (_key(won.value), f"{100.0 * won.value:.0f}"),
        *((str(line.effort[name]), f"{line.effort[name]:,}") for name in EFFORT),
    ]


def _body(
    name: str, worlds: int, axis: Axis | None, lines: list[tuple[Line, str, Estimate, dict[str, float], dict[str, float]]]
) -> Body:
    scale = robust([r for _, _, r, _, _ in lines])
    rows = [
        {
            "system": line.standing.system,
            "kind": line.kind,
            "worth": _worth(line, axis),
            "rank": rank,
            "r": (_key(r.value), shown(METRIC["r"], r.value)),
            "interval": f"{shown(METRIC['r'], r.low)} to {shown(METRIC['r'], r.high)}",
            "mark": scale.interval(r),
            "groups": [[(_key(values[metric]), shown(METRIC[metric], values[metric])) for metric in names] for _, names in GROUPS],
            "bands": " / ".join(f"{100.0 * share:.0f}" for share in bands.values()),
        }
        for line, rank, r, values, bands in lines
    ]
    return Body(name, worlds, (f"{scale.low:.1f}", f"{scale.high:.1f}"), rows)


def _key(value: float) -> str:
    """What a column is sorted by."""
    return f"{value:.6g}"


def pair_tables(results: pa.Table, board: Board) -> list[PairTable]:
    """One table for each scenario of a board. Of many pairs, those that differ most between systems are shown."""
    means = results.group_by(["scenario", "pair", "system"]).aggregate([("r", "mean")]).to_pylist()
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in means:
        found.setdefault(row["scenario"], {}).setdefault(row["pair"], {})[row["system"]] = row["r_mean"]
    return [_pair_table(scenario, found[scenario], board) for scenario in sorted(found)]


def _pair_table(scenario: str, by_pair: dict[str, dict[str, float]], board: Board) -> PairTable:
    ends = {pair: (np.nanmin([*r.values(), np.inf]), np.nanmax([*r.values(), -np.inf])) for pair, r in by_pair.items()}
    widest = sorted(by_pair, key=lambda pair: (ends[pair][0] - ends[pair][1], pair))[:MOST_PAIRS]
    pairs = sorted(widest)

    def cell(system: str, pair: str) -> tuple[float, str]:
        low, high = ends[pair]
        value = by_pair[pair][system]
        return (float((value - low) / (high - low)) if high > low and value == value else 0.0), shown(METRIC["r"], value)

    rows = [(line.standing.system, line.kind, [cell(line.standing.system, pair) for pair in pairs]) for line in board.lines]
    return PairTable(scenario, pairs, len(by_pair) - len(pairs), rows)
