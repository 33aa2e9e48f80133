"""Cells: an evaluation cut into pieces that are played apart, kept as files, and never played twice.

A cell is one system on at most `WORLDS_PER_CELL` worlds of one part of a suite. Its file is named by a hash of all that its content
follows from: code, suite, part, worlds, the data behind them, and the system with its parameters or weights. So a file that is there is
finished and right, and a changed system, suite or code asks for files of other names.
"""

import hashlib
import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from vcgym.leaderboard.evaluation.identity import code_hash, described
from vcgym.leaderboard.evaluation.published import System
from vcgym.leaderboard.evaluation.suites import Part, Suite, worlds
from vcgym.leaderboard.results import files as results
from vcgym.network.scenarios.scenario import Scenario

WORLDS_PER_CELL = 32
FOLDER = "cells"


class Share(NamedTuple):
    """Some worlds of one part of a suite: pair and seed of each; `card` is the hash of the data behind them."""

    suite: str
    version: str
    packets: int
    part: Part
    card: str
    worlds: tuple[tuple[str, int], ...]


class Cell(NamedTuple):
    """One system on one share."""

    name: str
    system: System
    share: Share

    @property
    def file(self) -> str:
        """Name of its file."""
        follows_from = (code_hash(), self.name, described(self.system), described(self.share))
        return f"{hashlib.sha256(repr(follows_from).encode()).hexdigest()[:32]}.parquet"


class Found(NamedTuple):
    """What a cell's file holds: rows of `results.RESULTS`, and beside them, as JSON, what was not a row."""

    rows: pa.Table
    more: dict[str, Any]


def plan(suite: Suite, parts: list[tuple[Part, Scenario]], systems: Mapping[str, System]) -> list[Cell]:
    """All cells of an evaluation, those of one share in a row."""
    return [Cell(name, system, share) for part in parts for share in _shares(suite, *part) for name, system in systems.items()]


def _shares(suite: Suite, part: Part, scenario: Scenario) -> list[Share]:
    which = worlds(part, scenario)
    cuts = range(0, len(which), WORLDS_PER_CELL)
    of_suite = (suite.name, suite.version, suite.packets, part, scenario.layout.card)
    return [Share(*of_suite, tuple(which[cut : cut + WORLDS_PER_CELL])) for cut in cuts]


def to_bytes(rows: list[dict[str, Any]], more: Mapping[str, Any]) -> bytes:
    """The content of a cell's file."""
    schema = results.RESULTS.schema.with_metadata({"more": json.dumps(more, sort_keys=True)})
    buffer = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), buffer, compression="zstd")
    return buffer.getvalue()


def read(path: Path) -> Found:
    """A finished cell.

    Raises:
        ValueError: the file is broken.
    """
    try:
        table = pq.read_table(path)
        return Found(table.select(results.RESULTS.schema.names), json.loads(table.schema.metadata[b"more"]))
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no finished cell: {error}; remove it and it is played again") from error
