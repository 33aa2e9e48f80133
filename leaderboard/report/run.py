"""Run a suite: play every system on every world, cell by cell, then write rows, files, ranks, table and page."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console

from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.cells import cells
from vcgym.leaderboard.evaluation.cells.held import LOCK, STALE, Held, hold, read_board
from vcgym.leaderboard.evaluation.evaluate import evaluate
from vcgym.leaderboard.evaluation.frozen import require_frozen_data
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plan import plan
from vcgym.leaderboard.evaluation.published import Entrant
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.leaderboard.report.board import Board, board_name
from vcgym.leaderboard.report.courses import draw_with_board
from vcgym.leaderboard.report.page.data_cards import write_cards
from vcgym.leaderboard.report.publish import REPORT, publish
from vcgym.leaderboard.report.table import print_summary
from vcgym.leaderboard.report.words.left_out import left_out_lines, write_left_out
from vcgym.leaderboard.report.words.measured import measured_lines, write_measured
from vcgym.leaderboard.results import files as results
from vcgym.leaderboard.results.cdf import DelayCdf, cdf_rows
from vcgym.leaderboard.results.columns import WORLD
from vcgym.network.traces.plain_file import locked, require_space


def run_suite(
    suite: Suite, parts: list[tuple[Part, Any]], systems: Mapping[str, Entrant], folder: Path, on_progress: OnProgress,
    threads: int = 1, workers: int = 0, address: str | None = None, left_out: Mapping[str, str] = MappingProxyType({}),
) -> list[Board]:  # fmt: skip
    """Play every participant on every world and publish them with all that the board in `folder` holds; a killed run resumes.

    An agent that fails in play is left out on all worlds and named with the reason.

    Args:
        suite: suite to play.
        parts: result of `vcgym.leaderboard.evaluation.suites.prepare`.
        systems: participants by name.
        folder: folder for the cells, board.json, results, timing, cdf, timeline and actions.parquet, cards.json, report.html and
            leaderboard.md.
        on_progress: called with the number of finished cells (`vcgym.leaderboard.evaluation.plan.plan`) and the last one.
        threads: see `evaluate`; no effect on the results.
        workers: see `evaluate`; no effect on the results.
        address: see `evaluate`; no effect on the results.
        left_out: agents that were rejected before, with the reason.

    Returns:
        The boards.

    Raises:
        ValueError: a cell's file is broken.
        DataError: the suite is frozen on other data, or the disk of the folder is almost full.
    """
    require_frozen_data(suite, parts)
    require_space(folder)
    read_board(folder)  # refused before work is lost
    planned = plan(suite, parts, systems)
    played = evaluate(planned, folder / cells.FOLDER, on_progress, threads, workers, address)
    on_progress(len(planned), "ranking")
    failed = {cell.name: of_cell.verdict for cell, of_cell in played if of_cell.verdict}
    with locked(folder / LOCK):
        return _published(suite, parts, systems, folder, played, {**left_out, **failed})


def _published(
    suite: Suite, parts: list[tuple[Part, Any]], systems: Mapping[str, Entrant], folder: Path,
    played: list[tuple[cells.Cell, cells.CellContent]], failed: Mapping[str, str],
) -> list[Board]:  # fmt: skip
    """Write the files of a run, with all that the board holds, and publish them; another run of the board does so before or after."""
    write_measured(parts, folder)
    found, stale = hold(folder, played, failed)
    write_left_out({**failed, **dict.fromkeys(stale, STALE)}, folder)
    rows = pa.concat_tables(one.found.rows for one in found).to_pylist()
    results.write(results.results_of(suite.columns), rows, folder / "results.parquet")
    results.write(results.TIMING, _timings(found), folder / "timing.parquet")
    results.write(results.DELAY_CDF, _delays(found), folder / "cdf.parquet")
    results.write(results.TIMELINE, _timelines(found), folder / "timeline.parquet")
    results.write(results.ACTIONS, _actions(found), folder / "actions.parquet")
    write_cards(suite.kind, (scenario for _, scenario in parts), folder)
    draw_with_board(suite, {name: one for name, one in systems.items() if isinstance(one, System)}, folder)
    return publish(folder)


def show(ranked: Sequence[Board], folder: Path, console: Console, asked: Collection[str] = ()) -> None:
    """Print a summary of a finished suite: the systems that the user has `asked` for, its worlds, own methods, and the path of the page."""
    print_summary(ranked, console, asked)
    for line in (*measured_lines(folder), *left_out_lines(folder)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print(f"All systems, strata and modes: {folder / 'leaderboard.md'}", highlight=False, soft_wrap=True)
    console.print(f"Report, with pictures and the meaning of every name: {folder / REPORT}", soft_wrap=True)


def _delays(found: Iterable[Held]) -> list[dict[str, Any]]:
    batches: dict[tuple[str, str, str, str], list[dict[str, DelayCdf]]] = {}
    for name, share, (_, more) in found:
        part = share.part
        for pair, of_pair in more["delays"].items():
            cdfs = {one: DelayCdf(np.array(cdf["packets_within"]), cdf["packets_sent"]) for one, cdf in of_pair.items()}
            batches.setdefault((name, board_name(part.mode, part.stratum), part.scenario, pair), []).append(cdfs)
    return [row for key, of_cells in batches.items() for row in cdf_rows(*key, of_cells)]


def _timelines(found: Iterable[Held]) -> list[dict[str, Any]]:
    return [
        {name: row[name] for name in ("system", *WORLD)} | {name: value for name, value in line.items() if name != "row"}
        for _, _, (rows, more) in found
        for line in more["timelines"]
        for row in rows.slice(line["row"], 1).to_pylist()
    ]


def _actions(found: Iterable[Held]) -> list[dict[str, Any]]:
    names = [name for name in results.ACTIONS.schema.names if name not in ("path", "level", "rule")]
    return [
        {name: row[name] for name in names} | decisions
        for _, _, (rows, more) in found
        for row, decisions in zip(rows.to_pylist() if more["actions"] else (), more["actions"], strict=True)
    ]


def _timings(found: Iterable[Held]) -> list[dict[str, Any]]:
    timings: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, share, (_, more) in found:
        timings.setdefault((name, share.part.mode), []).append(more["timing"])
    return [
        {
            "system": system, "mode": mode, "wall_clock_s": sum(timing["wall_clock_s"] for timing in of_cells),
            "decision_us": sum(t["decision_us"] * t["calls"] for t in of_cells) / sum(t["calls"] for t in of_cells),
            "hardware": "; ".join(sorted({timing["hardware"] for timing in of_cells})),
        }
        for (system, mode), of_cells in timings.items()
    ]  # fmt: skip
