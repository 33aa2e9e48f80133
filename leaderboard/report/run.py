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
from vcgym.leaderboard.evaluation.cells.manifest import LOCK, STALE, read_board, update_board
from vcgym.leaderboard.evaluation.evaluate import evaluate, plan
from vcgym.leaderboard.evaluation.frozen import require_frozen_data
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import Entrant
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.leaderboard.report.board import Board, board_name
from vcgym.leaderboard.report.page.data_cards import write_cards
from vcgym.leaderboard.report.publish import REPORT, publish
from vcgym.leaderboard.report.series import pictures_of
from vcgym.leaderboard.report.table import print_summary
from vcgym.leaderboard.report.words.remarks import remarks, write_left_out, write_measured
from vcgym.leaderboard.results import files as results
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
        on_progress: called with the number of finished cells (`vcgym.leaderboard.evaluation.evaluate.plan`) and the last one.
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
    failed = {cell.name: reason for cell, table in played if (reason := cells.failure_of(table))}
    with locked(folder / LOCK):
        return _published(suite, parts, systems, folder, played, {**left_out, **failed})


def _published(
    suite: Suite, parts: list[tuple[Part, Any]], systems: Mapping[str, Entrant], folder: Path,
    played: list[tuple[cells.Cell, pa.Table]], failed: Mapping[str, str],
) -> list[Board]:  # fmt: skip
    """Write the files of a run, with all that the board holds, and publish them; another run of the board does so before or after."""
    write_measured(parts, folder)
    found, stale = update_board(folder, played, failed)
    write_left_out({**failed, **dict.fromkeys(stale, STALE)}, folder)
    layout = results.results_of(suite.columns)
    rows = pa.concat_tables(table.select(layout.schema.names) for _, table in found).to_pylist()
    results.write(layout, rows, folder / "results.parquet")
    results.write(results.TIMING, _timings(found), folder / "timing.parquet")
    results.write(results.DELAY_CDF, _delays(found), folder / "cdf.parquet")
    results.write(results.TIMELINE, _unpacked(found, "timeline", results.TIMELINE), folder / "timeline.parquet")
    results.write(results.ACTIONS, _unpacked(found, "actions", results.ACTIONS), folder / "actions.parquet")
    write_cards(suite.kind, (scenario for _, scenario in parts), folder)
    shown = {name: one for name, one in systems.items() if isinstance(one, System) and not one.is_oracle}
    for picture in pictures_of(suite) if shown else ():
        if picture.title:  # it is on the page, of one system
            picture.draw(*next(iter(shown.items())), folder, suite)
    return publish(folder)


def show(ranked: Sequence[Board], folder: Path, console: Console, requested: Collection[str] = ()) -> None:
    """Print a summary of a finished suite: `requested` systems, its worlds, own methods, and the path of the page."""
    print_summary(ranked, console, requested)
    for line in remarks(folder):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print(f"All systems, strata and modes: {folder / 'leaderboard.md'}", highlight=False, soft_wrap=True)
    console.print(f"Report, with pictures and the meaning of every name: {folder / REPORT}", soft_wrap=True)


def _delays(found: Iterable[tuple[cells.Cell, pa.Table]]) -> list[dict[str, Any]]:
    """Return the rows of `cdf.parquet`: each system and pair of a scenario, summed over its worlds on a board."""
    counts: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for cell, table in found:
        part = cell.batch.part
        for row in table.select(["pair", "delays"]).to_pylist():
            for of_call in row["delays"]:
                where = cell.name, board_name(part.mode, part.stratum), part.scenario, row["pair"], of_call["accounting"]
                counts.setdefault(where, []).append(of_call)
    return [
        dict(zip(("system", "mode", "scenario", "pair", "accounting"), where, strict=True))
        | {"packets_sent": sum(one["packets_sent"] for one in calls)}
        | {"packets_within": np.sum([one["packets_within"] for one in calls], axis=0).tolist()}
        for where, calls in counts.items()
    ]


def _unpacked(found: Iterable[tuple[cells.Cell, pa.Table]], column: str, layout: results.FileLayout) -> list[dict[str, Any]]:
    """Return the rows of a file of the calls that have a value in a column of their cells, which has columns of the file."""
    calls = (row for _, table in found for row in table.filter(table[column].is_valid()).drop_columns(["delays"]).to_pylist())
    return [{name: value for name, value in (row | row[column]).items() if name in layout.schema.names} for row in calls]


def _timings(found: Iterable[tuple[cells.Cell, pa.Table]]) -> list[dict[str, Any]]:
    timings: dict[tuple[str, str], list[pa.Table]] = {}
    for cell, table in found:
        timings.setdefault((cell.name, cell.batch.part.mode), []).append(table.select(["decision_us", "wall_clock_s", "hardware"]))
    return [
        {
            "system": system, "mode": mode, "wall_clock_s": float(np.sum(table["wall_clock_s"])),
            "decision_us": float(np.mean(table["decision_us"])), "hardware": "; ".join(sorted(table["hardware"].unique().to_pylist())),
        }
        for (system, mode), of_cells in timings.items()
        for table in [pa.concat_tables(of_cells)]
    ]  # fmt: skip
