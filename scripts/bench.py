"""vcgym-bench: measure speed, each figure beside its aim. See conf/bench.yaml."""

from rich.console import Console

from vcgym.leaderboard.bench.catalogue import CATALOGUE, bench
from vcgym.leaderboard.bench.config import BenchConfig
from vcgym.leaderboard.bench.measure import Effort
from vcgym.scripts.console.command import command


@command("bench", BenchConfig)
def main(config: BenchConfig) -> None:
    """Measure and print the figures."""
    config.data.export()
    console = Console() if Console().is_terminal else Console(width=120)
    bench(config.folder, config.only or CATALOGUE, Effort(config.rounds, config.round_s, config.scale), console)


if __name__ == "__main__":
    main()
