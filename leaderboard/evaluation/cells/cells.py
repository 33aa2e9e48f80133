"""Cells: the parts of an evaluation, which are played separately, saved as files and never played twice.

A cell is one participant on at most `WORLDS_PER_CELL` worlds of one part of a suite. `vcgym.leaderboard.cache` gives the name of its file:
a changed participant, suite, world or code gives another name. The file has one row per world: the columns of `results.parquet`, and those
of `MORE`. The cell of an agent that failed has no rows, and the reason.
"""

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from vcgym.baselines.controls.control import LOGGED
from vcgym.leaderboard.cache import file_name, load
from vcgym.leaderboard.evaluation.kinds.kind import FinishedCalls, Kind
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import Participant
from vcgym.leaderboard.results.cdf import GRID_MS
from vcgym.leaderboard.results.columns import WORLD, Columns
from vcgym.leaderboard.results.files import ACTIONS, TIMELINE, FileLayout, require_columns, results_of
from vcgym.network.traces.refusal import one_line, shown

WORLDS_PER_CELL = 32
FOLDER = "cells"
MADE_BY = "vcgym.leaderboard.evaluation.cells.playing"
"""Module that makes a cell's content, together with that of its kind of calls."""
_FAILURE = b"failure"


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


def _struct(layout: FileLayout, names: list[str]) -> pa.DataType:
    """Return the type of some columns of a file, in one column; lists hold no null."""
    kinds = {name: layout.schema.field(name).type for name in names}
    return pa.struct(
        [
            _required(name, pa.list_(_required("element", kind.value_type)) if pa.types.is_list(kind) else kind)
            for name, kind in kinds.items()
        ]
    )


_WITHIN = pa.list_(_required("element", pa.int64()), len(GRID_MS))
_DELAYS = [_required("accounting", pa.string()), _required("packets_sent", pa.int64()), _required("packets_within", _WITHIN)]
MORE = (
    _required("delays", pa.list_(_required("element", pa.struct(_DELAYS)))),
    pa.field("timeline", _struct(TIMELINE, [name for name in TIMELINE.schema.names if name not in ("system", *WORLD)])),
    pa.field("actions", _struct(ACTIONS, [*LOGGED, "rule"])),
    _required("decision_us", pa.float64()),
    _required("wall_clock_s", pa.float64()),
    _required("hardware", pa.string()),
)
"""Columns of a cell for other files than `results.parquet`: delay distribution by accounting, timeline of some calls, logged actions of an
agent; measured time of a decision and of the call, and the machine."""


class Batch(NamedTuple):
    """Worlds of one part of a suite: pair and seed of each; `card` is the hash of their data."""

    suite: str
    version: str
    packets: int
    part: Part
    card: str
    worlds: tuple[tuple[str, int], ...]


class Cell(NamedTuple):
    """Participant on one batch of worlds, and the kind of its calls."""

    name: str
    participant: Participant
    batch: Batch
    kind: Kind

    @property
    def file(self) -> str:
        """Name of the cell's file; "" if it is played in every run."""
        key = self.participant.cache_key()
        return "" if key is None else file_name((self.name, key, self.batch, type(self.kind), self.kind.name), MADE_BY)

    def table(self, rows: list[dict[str, Any]], finished: FinishedCalls, cost: Mapping[str, int]) -> pa.Table:
        """Return the table of finished calls.

        Args:
            rows: what `Kind.rows` returned for the finished calls.
            finished: the finished calls.
            cost: columns of the cost of the participant.

        Raises:
            ValueError: a row lacks a column or has one that the suite does not know.
        """
        batch = self.batch
        same = {
            "system": self.name, "kind": self.participant.kind, **cost, "suite": batch.suite, "suite_version": batch.version,
            "mode": batch.part.mode, "scenario": batch.part.scenario, "split": batch.part.split, "card": batch.card, "timeline": None,
            "decision_us": finished.decision_us, "wall_clock_s": finished.wall_clock_s / len(rows),
            "hardware": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        }  # fmt: skip
        logs = finished.actions or [None] * len(rows)
        found = [
            same | {"pair": pair, "seed": seed, "actions": log} | row
            for (pair, seed), log, row in zip(batch.worlds, logs, rows, strict=True)
        ]
        layout = layout_of(self.kind.columns)
        require_columns(layout, found, "a cell")
        return pa.Table.from_pylist(found, schema=layout.schema)

    def read(self, path: Path) -> pa.Table:
        """Read the finished cell from its file, which may be somebody else's; its name, batch and columns count, whoever played it.

        Raises:
            ValueError: the file is not complete, or not that of such a cell.
        """
        table, batch = load(path), self.batch
        if table.schema.remove_metadata() != layout_of(self.kind.columns).schema:
            raise _of_no_cell(path, f"its columns are {shown(table.schema.names)}")
        if not len(table) and failure_of(table):
            return table
        wanted = {(self.name, batch.suite, batch.version, batch.part.mode, batch.part.scenario, *world) for world in batch.worlds}
        names = ("system", "suite", "suite_version", "mode", "scenario", "pair", "seed")
        found = {*zip(*(table[name].to_pylist() for name in names), strict=True)}
        if len(table) != len(wanted) or found != wanted:
            raise _of_no_cell(path, f"its rows are not those of {shown(self.name)} on {len(wanted)} worlds of {batch.part.scenario}")
        return table


def layout_of(columns: Columns) -> FileLayout:
    """Return the layout of a cell's file."""
    results = results_of(columns)
    return FileLayout(pa.schema([*results.schema, *MORE]), results.key)


def failed(columns: Columns, reason: str) -> pa.Table:
    """Return the table of a cell whose agent failed."""
    return pa.Table.from_pylist([], schema=layout_of(columns).schema.with_metadata({_FAILURE: reason}))


def failure_of(table: pa.Table) -> str:
    """Return the reason why an agent failed; "" if it played."""
    return (table.schema.metadata or {}).get(_FAILURE, b"").decode(errors="replace")


def _of_no_cell(path: Path, fault: str) -> ValueError:
    return ValueError(one_line(f"{path} is not the file of this cell; delete it to recompute ({fault})"))
