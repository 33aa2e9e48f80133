"""Play a suite: every sender on every world, then rows, file, tables. A run that was stopped is begun anew; it takes a minute or two."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from vcgym.agents.progress import Tell
from vcgym.leaderboard.results import replace_file, write
from vcgym.leaderboard.sending.board import markdown
from vcgym.leaderboard.sending.columns import RESULTS
from vcgym.leaderboard.sending.rollout import Sender, capacity_bps, play_sender
from vcgym.leaderboard.sending.suites import SendingSuite, links
from vcgym.network.sending_scenarios import SendingScenario
from vcgym.network.shared_link import SharedLink


def run_suite(
    suite: SendingSuite, scenarios: list[SendingScenario], senders: Mapping[str, Sender], folder: Path, tell: Tell
) -> pa.Table:  # fmt: skip
    """Rows of every sender on every world; writes sending.parquet and sending.md.

    Args:
        suite: what to play.
        scenarios: what `playable` made of it.
        senders: by name.
        folder: receives the files.
        tell: told how many of the kinds of all senders are done, and which one comes next.
    """
    rows, done = [], 0
    for scenario in scenarios:
        worlds = {kind: links(scenario, kind, suite.runs) for kind in scenario.kinds}
        for name, sender in senders.items():
            for kind, drawn in worlds.items():
                tell(done, f"{name} on {scenario.name}, {kind}")
                done += 1
                played = play_sender(sender, drawn, scenario.traces, scenario.flows)
                for seed, (link, found) in enumerate(zip(drawn, played, strict=True)):
                    rows.append(_identity(name, suite, scenario.name, link, seed) | found)
    table = pa.Table.from_pylist(rows, RESULTS.schema)
    write(RESULTS, rows, folder / "sending.parquet")
    replace_file(folder / "sending.md", markdown(suite, table, [name for name, sender in senders.items() if sender.is_oracle]).encode())
    return table


def _identity(name: str, suite: SendingSuite, scenario: str, link: SharedLink, seed: int) -> dict[str, object]:
    return {
        "system": name, "suite": suite.name, "scenario": scenario, "kind": link.name, "split": "test", "seed": seed,
        "trace": link.trace.name, "capacity_kbps": capacity_bps(link) / 1000.0,
    }  # fmt: skip
