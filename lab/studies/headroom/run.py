"""Oracles on every world of a leaderboard run, then its table and page. Finished worlds are files, so a killed run resumes."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from lab.studies.headroom.oracle_rows import Drawn, drawn, oracle_rows
from lab.studies.headroom.page import page
from lab.studies.headroom.table import CELL, COLUMNS, headroom
from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.systems import System
from vcgym.leaderboard.report.publish import REPORT, publish
from vcgym.leaderboard.results import files as results
from vcgym.leaderboard.results.call_columns import CALL
from vcgym.leaderboard.results.columns import IDENTITY, WORLD
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import replace_file

HEADROOM = results.Layout(
    pa.schema([pa.field(name, pa.type_for_alias(kind), nullable=False) for name, kind in COLUMNS.items()]), (*CELL, "what")
)
"""`headroom.parquet`."""


def write_headroom(
    run: Path, drawn_worlds: Sequence[Drawn], references: Mapping[str, System], folder: Path, threads: int, on_progress: OnProgress
) -> Path:  # fmt: skip
    """Compute the oracles of each world, write oracles.parquet, headroom.parquet and headroom.md to the run, and publish it again.

    Args:
        run: folder of a leaderboard run.
        drawn_worlds: its worlds, from `worlds`.
        references: published systems by name, whose gap is split into routing and playout.
        folder: folder with one file per finished world, in `worlds`.
        threads: threads that share the worlds.
        on_progress: called with the number of finished worlds.

    Returns:
        The path of the run's page, with anchored scores.
    """
    found: list[dict[str, Any]] = []
    with ThreadPoolExecutor(threads) as pool:
        made = pool.map(lambda world: oracle_rows(world, references, folder / "worlds"), drawn_worlds)
        for done, (world, rows) in enumerate(zip(drawn_worlds, made, strict=True)):
            on_progress(done, f"{world.identity['scenario']}, {world.identity['mode']}, {world.draw.stratum}")
            found += rows
    on_progress(len(drawn_worlds), "table")
    results.write(results.RESULTS, found, run / "oracles.parquet")
    lines = headroom(results.read_with_oracles(run))
    results.write(HEADROOM, lines, run / "headroom.parquet")
    replace_file(run / "headroom.md", page(lines).encode())
    publish(run)
    return run / REPORT


def worlds(played: pa.Table, own: Mapping[str, Any] = MappingProxyType({})) -> list[Drawn]:
    """Sample each world of a run's results again; `own` are the arguments of scenario replay, if the run played it."""
    rows = {tuple(row[name] for name in WORLD): row for row in played.select(list(IDENTITY | CALL.identity)).to_pylist()}
    scenarios: dict[tuple[str, str, int], Scenario] = {}
    for row in rows.values():
        key = row["scenario"], row["mode"], row["packets"]
        if key not in scenarios:
            scenarios[key] = Scenario(*key, **(own if row["scenario"] == "replay" else {}))
    return [drawn(row, scenarios[row["scenario"], row["mode"], row["packets"]]) for _, row in sorted(rows.items())]
