"""Play a suite: every sender on every world, cell by cell, then rows, file, tables. A run that was killed goes on where it was."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from vcgym.agents.tracking.progress import OnProgress
from vcgym.leaderboard.results.files import replace_file, write
from vcgym.leaderboard.sending.board import markdown
from vcgym.leaderboard.sending.cells import FOLDER, Cell, rows
from vcgym.leaderboard.sending.columns import RESULTS
from vcgym.leaderboard.sending.entrants import AgentSender, Entrant
from vcgym.leaderboard.sending.gate import said
from vcgym.leaderboard.sending.suites import SendingSuite, links
from vcgym.network.scenarios.sending_scenarios import SendingScenario


def run_suite(
    suite: SendingSuite, scenarios: list[SendingScenario], senders: Mapping[str, Entrant], folder: Path, tell: OnProgress
) -> pa.Table:  # fmt: skip
    """Rows of every sender on every world; writes cells/, sending.parquet and sending.md.

    Args:
        suite: what to play.
        scenarios: what `playable` made of it.
        senders: rules and agents by name.
        folder: receives the files.
        tell: told how many of the kinds of all senders are done, and which one comes next.

    Raises:
        ValueError: a cell's file is broken.
    """
    found, done = [], 0
    for scenario in scenarios:
        worlds = {kind: links(scenario, kind, suite.runs) for kind in scenario.kinds}
        for name, sender in senders.items():
            for kind, drawn in worlds.items():
                tell(done, f"{name} on {scenario.name}, {kind}")
                done += 1
                found += rows(Cell(name, sender, suite, scenario, kind, drawn), folder / FOLDER)
    table = pa.Table.from_pylist(found, RESULTS.schema)
    write(RESULTS, found, folder / "sending.parquet")
    replace_file(folder / "sending.md", f"{markdown(suite, table, oracles(senders))}\n{words(suite, table, senders)}\n".encode())
    return table


def oracles(senders: Mapping[str, Entrant]) -> list[str]:
    """Those that have no rank."""
    return [name for name, sender in senders.items() if sender.is_oracle]


def words(suite: SendingSuite, results: pa.Table, senders: Mapping[str, Entrant]) -> str:
    """What the tuned-rule gate says."""
    return said(suite, results, oracles(senders), [name for name, sender in senders.items() if isinstance(sender, AgentSender)])
