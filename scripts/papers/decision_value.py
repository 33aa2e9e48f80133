"""vcgym-decision-value: measure the value of prediction to routing; `folder=docs` writes the page in docs. See conf/decision_value.yaml."""

import os

from rich.console import Console

from vcgym.agents.tracking.progress import progress
from vcgym.leaderboard.papers.decision_value.config import DecisionValueConfig
from vcgym.leaderboard.papers.decision_value.run import steps, write_decision_value
from vcgym.network.traces.cards import DATA_VARIABLE
from vcgym.scripts.console.command import command


@command("decision_value", DecisionValueConfig)
def main(config: DecisionValueConfig) -> None:
    """Play the study and write its page."""
    config.data.export()
    console, with_series = Console(), bool(os.environ.get(DATA_VARIABLE))
    if not with_series:
        console.print("Replay worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    with progress("decision value", steps(with_series)) as on_progress:
        page = write_decision_value(
            with_series, config.seeds, config.drift_seeds, config.packets, config.threads, config.folder, on_progress
        )  # fmt: skip
    console.print(f"Decision value: {page}", soft_wrap=True)


if __name__ == "__main__":
    main()
