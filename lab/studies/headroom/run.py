"""Oracles on every world of a leaderboard run, then the headroom of each stratum and its page.

The headroom: mean results of the best systems and of the oracles, and their differences. Finished worlds are files: a killed run resumes.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from lab.studies.headroom.oracle_rows import JOINT, Drawn, drawn, oracle_rows
from lab.studies.oracles.rating import GAP
from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.bars import TUNED, bar_of
from vcgym.leaderboard.report.board import BY_NAME, board_name
from vcgym.leaderboard.report.publish import REPORT, publish
from vcgym.leaderboard.report.table import markdown_table, render
from vcgym.leaderboard.results import files as results
from vcgym.leaderboard.results.columns import IDENTITY, WORLD
from vcgym.leaderboard.results.kinds import CALL
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import replace_file

BOUNDS = tuple(f"oracle_joint_{name}" for name in JOINT if name != "any")
MEASURED = {"r": "R", "mouth_to_ear_mean_ms": "ms", "concealed_share": "%"}
CELL = ("suite", "suite_version", "mode", "stratum")
ALL = "all"

COLUMNS: dict[str, str] = {
    **dict.fromkeys((*CELL, "what", "system"), "string"),
    "worlds": "int64",
    **dict.fromkeys(MEASURED, "float64"),
}
"""`headroom.parquet`: one row per cell and `what`; of the rooms, values are differences to the best published system."""

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


def headroom(results: pa.Table) -> list[dict[str, Any]]:
    """Return rows of `COLUMNS` per suite, mode and stratum, and per mode (stratum `all`) without strata sampled only by name.

    Args:
        results: rows of a leaderboard run, including its oracles.
    """
    found = []
    cells: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in results.to_pylist():
        key = tuple(row[name] for name in CELL)
        cells.setdefault(key, []).append(row)
        if row["stratum"] not in BY_NAME:
            cells.setdefault((*key[:-1], ALL), []).append(row)
    for key in sorted(cells):
        rows = cells[key]
        worlds = len({(row["scenario"], row["stratum"], row["pair"], row["seed"]) for row in rows})
        found += [
            dict(zip(CELL, key, strict=True)) | {"what": what, "system": system, "worlds": worlds} | values
            for what, system, values in _lines(rows, bar_of("-".join(key[:2]), board_name(key[2], key[3])))
        ]
    return found


def _lines(rows: Iterable[Mapping[str, Any]], bar: str) -> list[tuple[str, str, dict[str, float]]]:
    """Return what a line is about, the system, and its means or the difference of two systems' means on the same worlds."""
    means = _means(rows)
    kinds = {row["system"]: row["kind"] for row in rows}
    rules = [name for name in means if kinds[name] == "rule"]
    published = _best(means, [name for name in rules if name in CALL.published])
    tuned = [name for name in means if kinds[name] == TUNED] or [name for name in rules if name not in CALL.published]
    reference = bar if bar in means else _best(means, tuned)
    agent = _best(means, [name for name in means if kinds[name] == "agent"])
    named = {"best published": published, "best tuned rule": reference, "best agent": agent, "informed": CALL.informed}
    named |= {name.removeprefix("oracle_").replace("_", " k = "): name for name in BOUNDS}
    lines = [(what, name, means[name]) for what, name in named.items() if name in means]
    if published in means:
        ways = {
            "room": CALL.hundred,
            "room, routing": f"oracle_routing_{published}",
            "room, playout": f"oracle_playout_{published}",
        }
        lines += [(what, name, _minus(means[name], means[published])) for what, name in ways.items() if name in means]
    return lines


def _means(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return per system the mean of each measured column over the worlds with a value."""
    by_system: dict[str, list[list[float]]] = {}
    for row in rows:
        by_system.setdefault(row["system"], []).append([row[name] for name in MEASURED])
    return {name: dict(zip(MEASURED, map(float, np.nanmean(values, axis=0)), strict=True)) for name, values in by_system.items()}


def _best(means: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> str:
    """Return the name with the highest mean R; "" if there are no names."""
    return max(names, key=lambda name: (means[name]["r"], name), default="")


def _minus(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one[name] - other[name] for name in MEASURED}


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
