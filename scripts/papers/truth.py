"""vcgym-truth: test the claims of the paper in every kind of world; `vcgym-truth folder=docs` writes docs/truth.md. See conf/truth.yaml."""

import os

from rich.console import Console

from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.papers.truth.config import TruthConfig
from vcgym.leaderboard.papers.truth.run import write_truth
from vcgym.leaderboard.papers.vcroute.outcomes import settings
from vcgym.leaderboard.papers.vcroute.statements import SYSTEMS, claimed_scenarios
from vcgym.network.traces.cards import DATA_VARIABLE
from vcgym.scripts.console.command import command


@command("truth", TruthConfig)
def main(config: TruthConfig) -> None:
    """Play the calls and write the page."""
    config.data.export()
    console = Console()
    chosen = [setting for scenario in config.scenarios or claimed_scenarios() for setting in settings(scenario)]
    if not os.environ.get(DATA_VARIABLE):
        chosen = [setting for setting in chosen if setting.mode != "replay"]
        console.print("Replay worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    systems = load_systems(list(SYSTEMS))
    with progress("truth table", len(chosen)) as on_progress:
        page = write_truth(chosen, systems, config.seeds, config.packets, config.threads, config.folder, on_progress)
    console.print(f"Truth table: {page}", soft_wrap=True)


if __name__ == "__main__":
    main()
