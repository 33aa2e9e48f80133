"""python -m lab forecasts: fit every method of forecasting to rows of `vcgym-predictor-data`, rank them."""

from rich.console import Console

from lab.commands import LAB
from lab.studies.forecasts.config import ForecastsConfig
from lab.studies.forecasts.study import run_study
from lab.studies.forecasts.table import print_ranks
from vcgym.scripts.console.command import command


@command("forecasts", ForecastsConfig, LAB)
def main(config: ForecastsConfig) -> None:
    """Fit and rank the methods."""
    console = Console() if Console().is_terminal else Console(width=120)
    print_ranks(run_study(config), console)
