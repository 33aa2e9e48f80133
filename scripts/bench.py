"""vcgym-bench: measure the loop and the environments; see leaderboard/bench.py."""

from pathlib import Path

import hydra
from omegaconf import DictConfig
from rich.console import Console

from vcgym.leaderboard.bench import bench
from vcgym.scripts.schema import CONF


@hydra.main(version_base="1.3", config_path=CONF, config_name="bench")
def main(composed: DictConfig) -> None:
    """Compose, measure, print."""
    bench(Path(composed.folder), Console())


if __name__ == "__main__":
    main()
