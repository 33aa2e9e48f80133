"""python -m lab train-predictor: train the delay predictor of VCRoute on rows, publish and register it."""

from rich.console import Console

from lab.commands import LAB
from lab.learners.predictor.config import TrainPredictorConfig
from lab.learners.predictor.train import PUBLISHED, train_predictor
from vcgym.agents.tracking.progress import progress
from vcgym.scripts.console.command import command


@command("train_predictor", TrainPredictorConfig, LAB)
def main(config: TrainPredictorConfig) -> None:
    """Train the network and print its scores."""
    with progress("epochs", config.network.epochs) as on_progress:
        found = train_predictor(config, on_progress)
    console = Console()
    console.print(", ".join(f"{name} {value:.4g}" for name, value in found.items()), highlight=False, soft_wrap=True)
    console.print(f"Published: {config.folder / PUBLISHED}", soft_wrap=True)


if __name__ == "__main__":
    main()
