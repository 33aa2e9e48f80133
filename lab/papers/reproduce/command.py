"""python -m lab reproduce: compare every published number of a paper with ours, with a verdict."""

import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from lab.papers.conferences import reproduce as conferences
from lab.papers.conferences.measures import SEEDS
from lab.papers.reproduce.config import ReproduceConfig
from lab.papers.reproduce.run import parts_to_play, reproduce
from lab.papers.senders import reproduce as senders
from lab.papers.vcroute.statements import SYSTEMS
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import load_systems
from vcgym.network.traces.cards import DATA_VARIABLE


def main(config: ReproduceConfig) -> None:
    """Play the calls, judge the statements, and write the page."""
    config.data.export()
    console = Console() if Console().is_terminal else Console(width=150)
    if config.paper == "senders":
        _senders(config, console)
    elif config.paper == "conferences":
        _conferences(config, console)
    else:
        _vcroute(config, console)


def _vcroute(config: ReproduceConfig, console: Console) -> None:
    if not os.environ.get(DATA_VARIABLE):
        console.print("Replay worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    parts = parts_to_play(config)
    with progress("reproduction", len(parts)) as on_progress:
        page = reproduce(config, load_systems(list(SYSTEMS)), parts, on_progress)
    console.print(f"Reproduction: {page}", soft_wrap=True)


def _senders(config: ReproduceConfig, console: Console) -> None:
    with progress("S1 and S4", senders.steps()) as on_progress:
        rows = senders.reproduce(load_systems(senders.systems_named()), config.folder, on_progress)
    _show("S1 and S4 beside ours", rows, config.folder / "sending_reproduction.md", console)


def _conferences(config: ReproduceConfig, console: Console) -> None:
    with progress("S2", SEEDS) as on_progress:
        rows = conferences.reproduce(config.folder, on_progress)
    _show("S2 beside ours", rows, config.folder / "conference_reproduction.md", console)


def _show(title: str, rows: list[dict[str, Any]], page: Path, console: Console) -> None:
    table = Table("statement", "setting", "ours", "verdict", title=title, title_justify="left")
    for row in rows:
        table.add_row(row["text"], row["mode"], f"{row['ours']:.3g}", row["verdict"])
    console.print(table)
    console.print(f"Page: {page}", soft_wrap=True)
