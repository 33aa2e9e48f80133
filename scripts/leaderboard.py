"""vcgym-leaderboard: train a small agent if there is none, play the suite, print the ranks, write the page. See conf/leaderboard.yaml."""

import hydra
from omegaconf import DictConfig
from rich.console import Console

from vcgym.agents.progress import progress
from vcgym.leaderboard.config import LeaderboardConfig
from vcgym.leaderboard.entrants import trained_agents
from vcgym.leaderboard.run import rollouts, run_suite, show
from vcgym.leaderboard.suites import SUITES
from vcgym.scripts.schema import CONF, build, register
from vcgym.scripts.systems import load_systems

register()


@hydra.main(version_base="1.3", config_path=CONF, config_name="leaderboard")
def main(composed: DictConfig) -> None:
    """Compose, train, rank, print."""
    config = build(composed, LeaderboardConfig)
    systems = load_systems(config.systems)
    agents = trained_agents(config.train) if config.train else {}
    suite, console = SUITES[config.suite], Console()
    if not console.is_terminal:
        console = Console(width=120)
    with progress(f"suite {suite.name}-{suite.version}", rollouts(suite, len(systems) + len(agents))) as tell:
        page = run_suite(suite, {**systems, **agents}, config.folder, tell, threads=config.threads)
    show(config.folder, console)
    console.print(f"Report: {page}", soft_wrap=True)


if __name__ == "__main__":
    main()
