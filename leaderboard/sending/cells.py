"""Cells: a sender on one kind of world, played once and kept as a file, so that a run that was killed goes on where it was.

A cell's file is named by a hash of all that its content follows from: code, system, and the worlds. A changed one asks for another file.
"""

import hashlib
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from vcgym.leaderboard.evaluation.identity import code_hash, described
from vcgym.leaderboard.results.files import replace_file
from vcgym.leaderboard.sending.columns import RESULTS
from vcgym.leaderboard.sending.entrants import AgentSender, Entrant, play_agent
from vcgym.leaderboard.sending.rollout import capacity_bps, play_sender
from vcgym.leaderboard.sending.suites import SendingSuite, links_hash
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.sending_scenarios import SendingScenario

FOLDER = "cells"


class Cell(NamedTuple):
    """One system on the worlds of one kind."""

    name: str
    system: Entrant
    suite: SendingSuite
    scenario: SendingScenario
    kind: str
    links: list[SharedLink]

    @property
    def file(self) -> str:
        """Name of its file."""
        where = self.suite.name, self.scenario.name, self.kind, links_hash(self.links)
        follows_from = (code_hash(), self.name, described(self.system), where)
        return f"{hashlib.sha256(repr(follows_from).encode()).hexdigest()[:32]}.parquet"


def rows(cell: Cell, folder: Path) -> list[dict[str, Any]]:
    """Its rows, played if there is no file of them yet.

    Raises:
        ValueError: the file is broken.
    """
    path = folder / cell.file
    if not path.is_file():
        _keep(_played(cell), path)
    try:
        found: list[dict[str, Any]] = pq.read_table(path, schema=RESULTS.schema).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"{path} is no finished cell: {error}; remove it and it is played again") from error
    return found


def _played(cell: Cell) -> list[dict[str, Any]]:
    if isinstance(cell.system, AgentSender):
        played = play_agent(cell.system, cell.scenario, cell.kind, len(cell.links))
    else:
        played = play_sender(cell.system, cell.links, cell.scenario.traces, cell.scenario.flows)
    return [_identity(cell, seed) | found for seed, found in enumerate(played)]


def _identity(cell: Cell, seed: int) -> dict[str, Any]:
    link = cell.links[seed]
    return {
        "system": cell.name, "suite": cell.suite.name, "scenario": cell.scenario.name, "kind": cell.kind, "split": "test", "seed": seed,
        "trace": link.trace.name, "capacity_kbps": capacity_bps(link) / 1000.0,
    }  # fmt: skip


def _keep(found: list[dict[str, Any]], path: Path) -> None:
    buffer = BytesIO()
    pq.write_table(pa.Table.from_pylist(found, RESULTS.schema), buffer, compression="zstd")
    replace_file(path, buffer.getvalue())
