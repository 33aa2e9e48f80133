"""vcgym train-predictor: train the delay predictor of VCRoute on rows, publish and register it."""

from rich.console import Console

from vcgym.agents.tracking.progress import progress
from vcgym.leaderboard.forecasts.config import TrainPredictorConfig
from vcgym.leaderboard.forecasts.train import PUBLISHED, train_predictor
from vcgym.scripts.console.command import command


@command("train_predictor", TrainPredictorConfig)
def main(config: TrainPredictorConfig) -> None:
    """Train the network and print its scores."""
    with progress("epochs", config.network.epochs) as on_progress:
        found = train_predictor(config, on_progress)
    console = Console()
    console.print(", ".join(f"{name} {value:.4g}" for name, value in found.items()), highlight=False, soft_wrap=True)
    console.print(f"Published: {config.folder / PUBLISHED}", soft_wrap=True)


if __name__ == "__main__":
    main()
