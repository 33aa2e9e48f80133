"""vcgym-sending: senders on shared bottlenecks. See conf/sending.yaml."""

import hydra
from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from vcgym.agents.tracking.progress import progress
from vcgym.leaderboard.sending.board import show
from vcgym.leaderboard.sending.config import SendingConfig
from vcgym.leaderboard.sending.entrants import Entrant, study_agents
from vcgym.leaderboard.sending.fairness import HEADINGS, fairness, meetings
from vcgym.leaderboard.sending.reproduce import reproduce, steps
from vcgym.leaderboard.sending.run import oracles, run_suite, words
from vcgym.leaderboard.sending.suites import SENDING_SUITES, playable
from vcgym.network.traces.cards import DATA_VARIABLE
from vcgym.scripts.schema import CONF, build
from vcgym.scripts.senders import load_senders


@hydra.main(version_base="1.3", config_path=CONF, config_name="sending")
def main(composed: DictConfig) -> None:
    """Compose, play, print."""
    config = build(composed, SendingConfig)
    config.data.export()
    console = Console() if Console().is_terminal else Console(width=150)
    if config.do == "reproduce":
        _reproduce(config, console)
        return
    if config.do == "fairness":
        _fairness(config, console)
        return
    suite = SENDING_SUITES[config.suite]
    senders: dict[str, Entrant] = {**load_senders(config.senders, suite.scenarios[0])}
    for name, folder in config.agents.items():
        senders |= study_agents(name, folder)
    scenarios = playable(suite)
    if len(scenarios) < len(suite.scenarios):
        console.print(f"Measured capacity traces are left out: data.root or {DATA_VARIABLE} names no folder.")
    with progress(f"suite {suite.name}", len(senders) * sum(len(scenario.kinds) for scenario in scenarios)) as tell:
        results = run_suite(suite, scenarios, senders, config.folder, tell)
    show(suite, results, oracles(senders), console)
    console.print(words(suite, results, senders), highlight=False, markup=False)
    console.print(f"Rows: {config.folder / 'sending.parquet'}", soft_wrap=True)


def _reproduce(config: SendingConfig, console: Console) -> None:
    with progress("S1 and S4", steps()) as tell:
        rows = reproduce(load_senders(config.senders), config.folder, tell)
    table = Table("statement", "setting", "ours", "verdict", title="S1 and S4 beside ours", title_justify="left")
    for row in rows:
        table.add_row(row["text"], row["mode"], f"{row['ours']:.3g}", row["verdict"])
    console.print(table)
    console.print(f"Page: {config.folder / 'sending_reproduction.md'}", soft_wrap=True)


def _fairness(config: SendingConfig, console: Console) -> None:
    with progress("calls that share", len(meetings())) as tell:
        rows = fairness(config.folder, tell)
    table = Table(*HEADINGS, title="calls that share a bottleneck", title_justify="left")
    for row in rows:
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
    console.print(table)
    console.print(f"Page: {config.folder / 'sending_fairness.md'}", soft_wrap=True)


if __name__ == "__main__":
    main()
