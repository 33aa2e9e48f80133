"""vcgym-train-predictor: fit every method of forecasting to the rows, rank them, register the network. See conf/train_predictor.yaml."""

from rich.console import Console

from vcgym.leaderboard.forecasts.config import TrainPredictorConfig
from vcgym.leaderboard.forecasts.study import PUBLISHED, run_study
from vcgym.leaderboard.forecasts.table import print_ranks
from vcgym.scripts.console.command import command


@command("train_predictor", TrainPredictorConfig)
def main(config: TrainPredictorConfig) -> None:
    """Fit and rank the methods."""
    console = Console() if Console().is_terminal else Console(width=120)
    print_ranks(run_study(config), console)
    if config.champion is not None:
        console.print(f"Published: {config.folder / PUBLISHED}", soft_wrap=True)


if __name__ == "__main__":
    main()
