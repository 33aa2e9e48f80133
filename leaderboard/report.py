"""The report page: one self-contained HTML file made from the stored results, the same bytes for the same files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import pyarrow as pa

from vcgym.leaderboard.board import Board, Line, boards
from vcgym.leaderboard.cdf import ACCOUNTINGS, Cdfs, of_board, read_cdfs
from vcgym.leaderboard.columns import METRIC, shown
from vcgym.leaderboard.figure import Stroke, delay_figure, strokes
from vcgym.leaderboard.results import DELAY_CDF, RESULTS, read, replace_file
from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.table import markdown

_GROUPS = (
    ("Quality", ("r_p5", "mos")),
    ("Delay played, ms", tuple(f"clocked_end_to_end_delay_{label}_ms" for label in ("mean", "p50", "p95", "p99"))),
    ("Delay emitted, ms", tuple(f"event_end_to_end_delay_{label}_ms" for label in ("mean", "p50", "p95", "p99"))),
    ("Mean parts, ms", ("one_way_delay_mean_ms", "reordering_delay_mean_ms", "playout_delay_mean_ms")),
    ("Share, %", ("network_loss", "event_late_loss", "clocked_late_loss", "concealed_share", "conceal_runs_over_60_ms_share")),
    ("Count per call", ("path_changes", "plans_sent", "probes_sent")),
)
_CURVES = {"event": "Until emitted by the receiver", "clocked": "Until played to the listener"}


def publish(folder: Path) -> Path:
    """Write `report.html` and `leaderboard.md` from `results.parquet` and `cdf.parquet`, all in `folder`.

    Returns:
        Path of the page.

    Raises:
        FileNotFoundError: one of the two files is not there.
        ValueError: they are not what `results` writes, or a system was not run on all worlds of a mode.
    """
    ranked = boards(read(RESULTS, folder / "results.parquet"))
    page = folder / "report.html"
    replace_file(page, render(ranked, read(DELAY_CDF, folder / "cdf.parquet")).encode())
    replace_file(folder / "leaderboard.md", markdown(ranked).encode())
    return page


def render(ranked: Sequence[Board], distributions: pa.Table) -> str:
    """The page as text.

    Args:
        ranked: one board per mode.
        distributions: table of `cdf.parquet`.

    Raises:
        ValueError: a system of some mode has no delay distribution.
    """
    template = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("report.html.j2")
    cdfs = read_cdfs(distributions)
    drawn = strokes({line.standing.system: line.kind for board in ranked for line in board.lines})
    shared = {name: value for name, value in ranked[0].conditions.items() if all(board.conditions[name] == value for board in ranked)}
    return template.render(
        modes=[_mode(board, cdfs, drawn, shared) for board in ranked],
        shared=shared,
        groups=[(title, [METRIC[name] for name in names]) for title, names in _GROUPS],
        across=_ranks_across_modes(ranked),
        drawn=drawn,
    )


def _mode(board: Board, cdfs: Cdfs, drawn: dict[str, Stroke], shared: dict[str, str]) -> dict[str, Any]:
    systems = [line.standing.system for line in board.lines]
    of_all = {accounting: of_board(cdfs, board.mode, accounting) for accounting in ACCOUNTINGS}
    for accounting in ACCOUNTINGS:
        absent = sorted(set(systems) - set(of_all[accounting]))
        if absent:
            raise ValueError(f"no {accounting} delay distribution in mode {board.mode!r} for systems {absent}")
    here = {system: drawn[system] for system in sorted(systems, key=list(drawn).index)}
    low, high = _span([line.estimate(METRIC["r"]) for line in board.lines])
    return {
        "name": board.mode,
        "worlds": board.worlds,
        "conditions": {name: value for name, value in board.conditions.items() if name not in shared},
        "axis": (f"{low:.1f}", f"{high:.1f}"),
        "rows": [_row(line, low, high) for line in board.lines],
        "strata": board.strata,
        "curves": [delay_figure(of_all[accounting], here, title) for accounting, title in _CURVES.items()],
        "legend": [(system, drawn[system]) for system in systems],
    }


def _row(line: Line, low: float, high: float) -> dict[str, Any]:
    r = line.estimate(METRIC["r"])
    return {
        "system": line.standing.system,
        "kind": line.kind,
        "rank": line.rank,
        "r": (r.value, shown(METRIC["r"], r.value)),
        "interval": f"{shown(METRIC['r'], r.low)} to {shown(METRIC['r'], r.high)}",
        "marks": [f"{100.0 * (end - low) / (high - low):.2f}%" for end in r] if r.low <= r.high else [],
        "groups": [[(line.estimate(METRIC[name]).value, line.shown(METRIC[name])) for name in names] for _, names in _GROUPS],
        "bands": " / ".join(f"{100.0 * share:.0f}" for share in line.bands.values()),
    }


def _span(estimates: list[Estimate]) -> tuple[float, float]:
    """Range that holds all intervals, with a margin."""
    ends = [end for estimate in estimates for end in estimate if end == end]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    margin = max(0.05, 0.04 * (high - low))
    return low - margin, high + margin


def _ranks_across_modes(ranked: Sequence[Board]) -> list[tuple[str, str, list[str]]]:
    """(system, kind, rank in each mode) in the order of the best rank anywhere; empty if there is one mode only."""
    if len(ranked) < 2:
        return []
    places: dict[str, dict[str, Line]] = {}
    for board in ranked:
        for line in board.lines:
            places.setdefault(line.standing.system, {})[board.mode] = line
    order = sorted(places, key=lambda system: (sorted(line.standing.rank_high for line in places[system].values()), system))
    return [
        (
            system,
            next(iter(places[system].values())).kind,
            [places[system][board.mode].rank if board.mode in places[system] else "not run" for board in ranked],
        )
        for system in order
    ]
