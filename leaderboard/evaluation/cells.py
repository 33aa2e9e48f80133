"""Cells: an evaluation cut into pieces that are played apart, kept as files, and never played twice.

A cell is one system on at most `WORLDS_PER_CELL` worlds of one part of a suite. Its file is named as `vcgym.leaderboard.kept` says: a
changed system, suite, world or code asks for a file of another name.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from vcgym.leaderboard.evaluation.cost import tuning_trials
from vcgym.leaderboard.evaluation.published import AGENT_ENV, Published, System, env_class
from vcgym.leaderboard.evaluation.suites import Part, Suite, worlds
from vcgym.leaderboard.kept import file_name, load, to_bytes
from vcgym.leaderboard.results import files as results
from vcgym.network.scenarios.scenario import Scenario

WORLDS_PER_CELL = 32
FOLDER = "cells"
_PLAYS = "vcgym.leaderboard.evaluation.shares"  # makes the content of a cell


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
        """Return the name of its file."""
        env = env_class(AGENT_ENV) if isinstance(self.system, Published) else None
        return file_name((self.name, self.system, self.share, tuning_trials(self.name), env), _PLAYS)


class Found(NamedTuple):
    """Content of a cell's file: rows of `results.RESULTS`, and beside them, as JSON, what is not a row."""

    rows: pa.Table
    more: dict[str, Any]


def plan(suite: Suite, parts: list[tuple[Part, Scenario]], systems: Mapping[str, System]) -> list[Cell]:
    """Return all cells of an evaluation, those of one share in a row."""
    return [Cell(name, system, share) for part in parts for share in _shares(suite, *part) for name, system in systems.items()]


def _shares(suite: Suite, part: Part, scenario: Scenario) -> list[Share]:
    which = worlds(part, scenario)
    cuts = range(0, len(which), WORLDS_PER_CELL)
    of_suite = (suite.name, suite.version, suite.packets, part, scenario.layout.card)
    return [Share(*of_suite, tuple(which[cut : cut + WORLDS_PER_CELL])) for cut in cuts]


def content(rows: list[dict[str, Any]], more: Mapping[str, Any]) -> bytes:
    """Return the content of a cell's file."""
    schema = results.RESULTS.schema.with_metadata({"more": json.dumps(more, sort_keys=True)})
    return to_bytes(pa.Table.from_pylist(rows, schema=schema))


def read(path: Path) -> Found:
    """Return a finished cell.

    Raises:
        ValueError: the file is not complete.
    """
    table = load(path)
    return Found(table, json.loads(table.schema.metadata[b"more"]))
