"""The commands of the delay predictor of VCRoute."""

from rich.console import Console

from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.forecasts.config import PredictorDataConfig, TrainPredictorConfig
from vcgym.leaderboard.forecasts.data import build, playable


def make_rows(config: PredictorDataConfig) -> None:
    """Play the sessions and write the rows."""
    config.data.export()
    parts, console = playable(config), Console(emoji=False)
    if len(parts) < len(config.parts):
        console.print("Replay worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    with progress("predictor data", len(parts)) as on_progress:
        rows = build(config, load_systems(config.systems), on_progress)
    console.print(f"Rows: {rows}", soft_wrap=True)


def train_network(config: TrainPredictorConfig) -> None:
    """Train the network and print its scores."""
    from vcgym.leaderboard.forecasts.train import PUBLISHED, train_predictor  # imported here: rows need no torch

    with progress("epochs", config.network.epochs) as on_progress:
        found = train_predictor(config, on_progress)
    console = Console(emoji=False)
    console.print(", ".join(f"{name} {value:.4g}" for name, value in found.items()), highlight=False, soft_wrap=True)
    console.print(f"Published: {config.folder / PUBLISHED}", soft_wrap=True)
