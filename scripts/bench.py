"""vcgym-bench: measure what conf/bench.yaml asks for; see leaderboard/bench/catalogue.py."""

import hydra
from omegaconf import DictConfig
from rich.console import Console

from vcgym.leaderboard.bench.catalogue import CATALOGUE, bench
from vcgym.leaderboard.bench.config import BenchConfig
from vcgym.leaderboard.bench.measure import Effort
from vcgym.scripts.schema import CONF, build


@hydra.main(version_base="1.3", config_path=CONF, config_name="bench")
def main(composed: DictConfig) -> None:
    """Compose, measure, print."""
    config = build(composed, BenchConfig)
    config.data.export()
    console = Console() if Console().is_terminal else Console(width=120)
    bench(config.folder, config.only or CATALOGUE, Effort(config.rounds, config.round_s, config.scale), console)


if __name__ == "__main__":
    main()
