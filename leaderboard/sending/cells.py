"""Cells: a sender on one kind of world, played once and kept as a file, so that a run that was killed goes on where it was."""

from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from vcgym.leaderboard.evaluation.published import env_class
from vcgym.leaderboard.kept import kept
from vcgym.leaderboard.sending.columns import RESULTS
from vcgym.leaderboard.sending.entrants import AgentSender, Entrant, play_agent
from vcgym.leaderboard.sending.rollout import capacity_bps, play_sender
from vcgym.leaderboard.sending.suites import SendingSuite
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


def rows(cell: Cell, folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a cell, played if there is no file of them yet.

    Raises:
        ValueError: the file is not complete.
    """
    env = env_class(cell.system.env_id) if isinstance(cell.system, AgentSender) else None
    follows_from = cell.name, cell.system, cell.suite.name, cell.scenario.name, cell.kind, cell.links, env
    found: list[dict[str, Any]] = kept(folder, follows_from, lambda: _played(cell)).to_pylist()
    return found


def _played(cell: Cell) -> pa.Table:
    if isinstance(cell.system, AgentSender):
        played = play_agent(cell.system, cell.scenario, cell.kind, len(cell.links))
    else:
        played = play_sender(cell.system, cell.links, cell.scenario.traces, cell.scenario.flows)
    return pa.Table.from_pylist([_identity(cell, seed) | found for seed, found in enumerate(played)], RESULTS.schema)


def _identity(cell: Cell, seed: int) -> dict[str, Any]:
    link = cell.links[seed]
    return {
        "system": cell.name, "suite": cell.suite.name, "scenario": cell.scenario.name, "kind": cell.kind, "split": "test", "seed": seed,
        "trace": link.trace.name, "capacity_kbps": capacity_bps(link) / 1000.0,
    }  # fmt: skip
