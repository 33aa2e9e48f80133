"""vcgym predictor-data: play sessions and write training rows for predictors."""

from rich.console import Console

from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.forecasts.config import PredictorDataConfig
from vcgym.leaderboard.forecasts.data import build as build_rows
from vcgym.leaderboard.forecasts.data import playable
from vcgym.scripts.console.command import command


@command("predictor_data", PredictorDataConfig)
def main(config: PredictorDataConfig) -> None:
    """Play the sessions and write the rows."""
    config.data.export()
    parts, console = playable(config), Console()
    if len(parts) < len(config.parts):
        console.print("Replay worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    with progress("predictor data", len(parts)) as on_progress:
        rows = build_rows(config, load_systems(config.systems), on_progress)
    console.print(f"Rows: {rows}", soft_wrap=True)


if __name__ == "__main__":
    main()
