"""vcgym-leaderboard: train a small agent if there is none, play the suite, print the ranks, write the page. See conf/leaderboard.yaml."""

import hydra
from omegaconf import DictConfig
from rich.console import Console

from vcgym.agents.progress import progress
from vcgym.leaderboard.config import LeaderboardConfig
from vcgym.leaderboard.entrants import all_systems, table_errors
from vcgym.leaderboard.run import prepare, run_suite, show
from vcgym.leaderboard.suites import SUITES
from vcgym.scripts.schema import CONF, build, register
from vcgym.scripts.systems import load_systems

register()


@hydra.main(version_base="1.3", config_path=CONF, config_name="leaderboard")
def main(composed: DictConfig) -> None:
    """Compose, train, rank, print."""
    config = build(composed, LeaderboardConfig)
    config.data.export()
    console = Console() if Console().is_terminal else Console(width=120)
    suite = SUITES[config.suite]
    parts = prepare(suite)
    if len(parts) < len(suite.parts):
        console.print("Replay worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    rules = load_systems(config.systems)
    for said in table_errors(rules):
        console.print(f"{said}.")
    systems = all_systems(rules, config.train)
    with progress(f"suite {suite.name}-{suite.version}", len(systems) * len(parts)) as tell:
        page = run_suite(suite, parts, systems, config.folder, tell, config.threads)
    show(config.folder, console)
    console.print(f"Report: {page}", soft_wrap=True)


if __name__ == "__main__":
    main()
