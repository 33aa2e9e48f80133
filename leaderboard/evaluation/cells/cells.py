"""Cells: the parts of an evaluation, which are played separately, saved as files and never played twice.

A cell is one participant on at most `WORLDS_PER_CELL` worlds of one part of a suite. `vcgym.leaderboard.cache` gives the name of its file:
a changed participant, suite, world or code gives another name.
"""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from vcgym.leaderboard.cache import file_name, load, to_bytes
from vcgym.leaderboard.evaluation.kinds.kind import Kind, PlayedRows
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import Participant
from vcgym.leaderboard.results.cdf import GRID_MS, DelayCdf
from vcgym.leaderboard.results.columns import Columns
from vcgym.leaderboard.results.files import require_columns, results_of
from vcgym.network.traces.refusal import faults, one_line, shown

WORLDS_PER_CELL = 32
FOLDER = "cells"
MADE_BY = "vcgym.leaderboard.evaluation.cells.playing"
"""Module that makes a cell's content, together with that of its kind of calls."""


class Share(NamedTuple):
    """Worlds of one part of a suite: pair and seed of each; `card` is the hash of their data."""

    suite: str
    version: str
    packets: int
    part: Part
    card: str
    worlds: tuple[tuple[str, int], ...]


class Cell(NamedTuple):
    """Participant on one share, and the kind of its calls."""

    name: str
    participant: Participant
    share: Share
    kind: Kind

    @property
    def file(self) -> str:
        """Name of the cell's file; "" if it is played in every run."""
        key = self.participant.cache_key()
        return "" if key is None else file_name((self.name, key, self.share, type(self.kind), self.kind.name), MADE_BY)

    def rows(self, played: PlayedRows, cost: Mapping[str, int]) -> list[dict[str, Any]]:
        """Return the rows of played calls with the columns that are not measured."""
        share = self.share
        identity = {
            "system": self.name, "kind": self.participant.kind, **cost, "suite": share.suite,
            "suite_version": share.version, "mode": share.part.mode, "scenario": share.part.scenario, "split": share.part.split,
            "card": share.card,
        }  # fmt: skip
        return [
            identity | {"stratum": stratum, "pair": pair, "seed": seed} | measured
            for stratum, (pair, seed), measured in zip(played.strata, share.worlds, played.rows, strict=True)
        ]


class CellContent(NamedTuple):
    """Content of a cell's file: result rows, and other results as JSON; for a failed agent, only the verdict."""

    rows: pa.Table
    more: dict[str, Any]

    @property
    def verdict(self) -> str | None:
        """Reason why an agent is left out; None if it played."""
        return self.more.get("verdict")


def content(
    columns: Columns, rows: list[dict[str, Any]], timing: tuple[float, float], delays: Mapping[str, Mapping[str, DelayCdf]],
    timelines: Sequence[Mapping[str, Any]] = (), actions: Sequence[Any] = (),
) -> bytes:  # fmt: skip
    """Return the content of a cell's file.

    Args:
        columns: columns of the rows.
        rows: one row per world.
        timing: microseconds per decision, seconds of the whole rollout.
        delays: delay distributions by pair and accounting.
        timelines: timelines of some worlds, see `vcgym.leaderboard.results.timeline`.
        actions: logged actions of an agent.

    Raises:
        ValueError: a row lacks a column or has one that the suite does not know.
    """
    layout = results_of(columns)
    require_columns(layout, rows, "a cell")
    more = {
        "timing": {
            "decision_us": timing[0], "wall_clock_s": timing[1], "calls": len(rows),
            "hardware": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        },
        "delays": {
            pair: {name: {"packets_within": cdf.packets_within.tolist(), "packets_sent": cdf.packets_sent} for name, cdf in cdfs.items()}
            for pair, cdfs in delays.items()
        },
        "timelines": list(timelines),
        "actions": list(actions),
    }  # fmt: skip
    schema = layout.schema.with_metadata({"more": json.dumps(more, sort_keys=True)})
    return to_bytes(pa.Table.from_pylist(rows, schema=schema))


def verdict(columns: Columns, reason: str) -> bytes:
    """Return the file content for a cell whose agent failed: no rows, and the reason."""
    schema = results_of(columns).schema.with_metadata({"more": json.dumps({"verdict": reason})})
    return to_bytes(pa.Table.from_pylist([], schema=schema))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Timing(_Strict):
    decision_us: FiniteFloat
    wall_clock_s: FiniteFloat
    calls: Annotated[int, Field(ge=1)]
    hardware: str


_Int = Annotated[int, Field(ge=-(1 << 53), le=1 << 53)]


class _Delays(_Strict):
    packets_within: Annotated[list[_Int], Field(min_length=len(GRID_MS), max_length=len(GRID_MS))]
    packets_sent: _Int


class _Timeline(_Strict):
    row: Annotated[int, Field(ge=0)]
    packets_per_bin: _Int
    path_names: list[str]
    delay_median_ms: list[_Int]
    delay_most_ms: list[_Int]
    missing: list[_Int]
    path: list[_Int]
    path_changes: list[_Int]


class _More(_Strict):
    """Content of a file beside its rows: the verdict, or all the others."""

    verdict: str | None = None
    timing: _Timing | None = None
    delays: dict[str, dict[str, _Delays]] = {}
    timelines: list[_Timeline] = []
    actions: list[dict[str, str | list[_Int]]] = []


def read(path: Path, cell: Cell) -> CellContent:
    """Read a finished cell from its file, which may be somebody else's; its name, share and columns count, whoever played it.

    Raises:
        ValueError: the file is not complete, or not that of such a cell.
    """
    table, name, share = load(path), cell.name, cell.share
    try:
        more = _More.model_validate_json((table.schema.metadata or {}).get(b"more", b""))
    except ValidationError as error:
        raise _of_no_cell(path, faults(error)) from error
    if table.schema.remove_metadata() != results_of(cell.kind.columns).schema:
        raise _of_no_cell(path, f"its columns are {shown(table.schema.names)}")
    if more.verdict is not None and not len(table):
        return CellContent(table, {"verdict": more.verdict})
    wanted = {(name, share.suite, share.version, share.part.mode, share.part.scenario, *world) for world in share.worlds}
    found = zip(*(table[one].to_pylist() for one in ("system", "suite", "suite_version", "mode", "scenario", "pair", "seed")), strict=True)
    if len(table) != len(wanted) or {*found} != wanted:
        raise _of_no_cell(path, f"its rows are not those of {shown(name)} on {len(wanted)} worlds of {share.part.scenario}")
    rows = {line.row for line in more.timelines}
    if more.timing is None or len(more.actions) not in (0, len(table)) or not rows <= {*range(len(table))}:
        raise _of_no_cell(path, f"its timing, timelines or actions are not those of {len(table)} rows")
    return CellContent(table, more.model_dump(exclude={"verdict"}))


def _of_no_cell(path: Path, fault: str) -> ValueError:
    return ValueError(one_line(f"{path} is not the file of this cell; delete it to recompute ({fault})"))


def parsed(content: bytes) -> CellContent:
    """Parse the content of a cell that was just played."""
    table = pq.read_table(pa.BufferReader(content))
    return CellContent(table, json.loads(table.schema.metadata[b"more"]))
