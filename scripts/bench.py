"""vcgym-bench: measure the loop and the environments; see leaderboard/bench.py."""

import hydra
from omegaconf import DictConfig
from rich.console import Console

from vcgym.leaderboard.bench import bench
from vcgym.leaderboard.config import BenchConfig
from vcgym.scripts.schema import CONF, build


@hydra.main(version_base="1.3", config_path=CONF, config_name="bench")
def main(composed: DictConfig) -> None:
    """Compose, measure, print."""
    bench(build(composed, BenchConfig).folder, Console())


if __name__ == "__main__":
    main()
