"""Cells: the parts of an evaluation, which are played separately, saved as files and never played twice.

A cell is one participant on at most `WORLDS_PER_CELL` worlds of one part of a suite. `vcgym.leaderboard.kept` gives the name of its file:
a changed participant, suite, world or code gives another name.
"""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from vcgym.agents.evaluation.play import Policy
from vcgym.baselines.systems import System, tuning_trials
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plays.play import Play, PlayedRows
from vcgym.leaderboard.evaluation.published import Participant, PublishedAgent, cost_of, env_class, kind_of
from vcgym.leaderboard.kept import file_name, load, to_bytes
from vcgym.leaderboard.results.cdf import DelayCdf
from vcgym.leaderboard.results.columns import Columns
from vcgym.leaderboard.results.files import require_columns, results_of

WORLDS_PER_CELL = 32
FOLDER = "cells"
MADE_BY = "vcgym.leaderboard.evaluation.cells.playing"
"""Module that makes a cell's content, together with that of its play."""


class Share(NamedTuple):
    """Worlds of one part of a suite: pair and seed of each; `card` is the hash of their data."""

    suite: str
    version: str
    packets: int
    part: Part
    card: str
    worlds: tuple[tuple[str, int], ...]


class Cell(NamedTuple):
    """Participant on one share, what plays it, and the columns of its rows."""

    name: str
    system: Participant
    share: Share
    play: Play
    columns: Columns

    @property
    def file(self) -> str:
        """Name of the cell's file; the cell of a local agent has none."""
        env = env_class(self.system.env) if isinstance(self.system, PublishedAgent) else None
        return file_name((self.name, self.system, self.share, tuning_trials(self.name), env, type(self.play)), MADE_BY)

    def rows(self, played: PlayedRows, player: System | Policy) -> list[dict[str, Any]]:
        """Return the rows of played calls with the columns that are not measured; `player` is the system, or the loaded policy."""
        share = self.share
        identity = {
            "system": self.name, "kind": kind_of(self.name, self.system), **cost_of(self.name, player), "suite": share.suite,
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


def read(path: Path) -> CellContent:
    """Read a finished cell.

    Raises:
        ValueError: the file is not complete.
    """
    return _found(load(path))


def parsed(content: bytes) -> CellContent:
    """Parse the content of a finished cell's file."""
    return _found(pq.read_table(pa.BufferReader(content)))


def _found(table: pa.Table) -> CellContent:
    return CellContent(table, json.loads(table.schema.metadata[b"more"]))
