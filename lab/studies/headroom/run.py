"""Oracles on every world of a leaderboard run, then its table and page. Finished worlds are files, so a killed run resumes."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from lab.studies.headroom.oracle_rows import Drawn, drawn, oracle_rows
from lab.studies.headroom.table import ALL, CELL, COLUMNS, headroom
from lab.studies.oracles.rating import GAP
from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.systems import System
from vcgym.leaderboard.report.publish import REPORT, publish
from vcgym.leaderboard.report.table import markdown_table, render
from vcgym.leaderboard.results import files as results
from vcgym.leaderboard.results.columns import IDENTITY, WORLD
from vcgym.leaderboard.results.kinds import CALL
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import replace_file

HEADROOM = results.FileLayout(
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


_ROOMS = ("room", "room, routing", "room, playout")


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the whole page as Markdown."""
    sections = []
    for (suite, version, mode), part in groupby(rows, lambda row: (row["suite"], row["suite_version"], row["mode"])):
        cells = [list(cell) for _, cell in groupby(part, lambda row: row["stratum"])]
        cells.sort(key=lambda cell: (cell[0]["stratum"] == ALL, cell[0]["stratum"]))
        sections.append(f"## Suite {suite}-{version}, mode {mode}\n")
        sections += [_systems(cells), _rooms(cells)]
    return render(Path(__file__).with_name("headroom.md.j2"), gap=GAP, sections=sections)


def _systems(cells: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    what = list(dict.fromkeys(row["what"] for cell in cells for row in cell if row["what"] not in _ROOMS))
    rows = []
    for cell in cells:
        found = {row["what"]: row for row in cell}
        rows.append([_where(cell), *(_cell(found.get(name), name.startswith("best")) for name in what)])
    return "R / mouth-to-ear ms / concealed %\n\n" + markdown_table(["stratum (worlds)", *what], rows, text=("stratum (worlds)",))


def _rooms(cells: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    rows = []
    for cell in cells:
        found = {row["what"]: row for row in cell}
        if _ROOMS[0] in found:
            rows.append([_where(cell), *(_cell(found.get(name), False, "+") for name in _ROOMS)])
    return "Room above the best published: R / ms / points of concealment\n\n" + markdown_table(
        ["stratum (worlds)", *_ROOMS], rows, text=("stratum (worlds)",)
    )


def _where(cell: Sequence[Mapping[str, Any]]) -> str:
    return f"{cell[0]['stratum']} ({cell[0]['worlds']})"


def _cell(row: Mapping[str, Any] | None, named: bool, sign: str = "") -> str:
    if row is None:
        return ""
    shown = f"{row['r']:{sign}.2f} / {row['mouth_to_ear_mean_ms']:{sign}.0f} / {100.0 * row['concealed_share']:{sign}.2f}"
    return f"{row['system']} {shown}" if named else shown
