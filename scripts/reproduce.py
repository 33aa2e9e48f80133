"""vcgym-reproduce: every published number of the VCRoute paper beside ours, with a verdict. See conf/reproduce.yaml."""

import os

import hydra
from omegaconf import DictConfig
from rich.console import Console

from vcgym.agents.progress import progress
from vcgym.leaderboard.papers.reproduce.config import ReproduceConfig
from vcgym.leaderboard.papers.reproduce.run import parts_to_play, reproduce
from vcgym.leaderboard.papers.truth.claims import SYSTEMS
from vcgym.network.traces.cards import DATA_VARIABLE
from vcgym.scripts.schema import CONF, build
from vcgym.baselines.systems import load_systems


@hydra.main(version_base="1.3", config_path=CONF, config_name="reproduce")
def main(composed: DictConfig) -> None:
    """Compose, play, judge, write."""
    config = build(composed, ReproduceConfig)
    config.data.export()
    console = Console()
    if not os.environ.get(DATA_VARIABLE):
        console.print("Replay worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    systems = load_systems(list(SYSTEMS))
    parts = parts_to_play(config)
    with progress("reproduction", len(parts)) as tell:
        page = reproduce(config, systems, parts, tell)
    console.print(f"Reproduction: {page}", soft_wrap=True)


if __name__ == "__main__":
    main()
