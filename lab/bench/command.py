"""python -m lab bench: measure speed, each figure beside its aim."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator
from rich.console import Console

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig


class BenchConfig(Config):
    """Figures of the bench, and the effort per figure.

    Attributes:
        only: names in `lab.bench.catalogue.CATALOGUE`; None: all.
        rounds: rounds per figure; the best counts.
        round_s: minimum duration of a round, seconds.
        scale: share of the full size, for quick checks.
        data: folder of measured series; without it the replay figures are absent.
        folder: folder for bench.json.
    """

    only: Annotated[list[str], Field(min_length=1)] | None = None
    rounds: Annotated[int, Field(ge=1, le=1000)] = 8
    round_s: Annotated[float, Field(ge=0.0, le=60.0)] = 0.2
    scale: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/bench")

    @field_validator("only")
    @classmethod
    def _listed(cls, only: list[str] | None) -> list[str] | None:
        from lab.bench.catalogue import CATALOGUE  # imported here, as below: it loads all that is measured

        unknown = [name for name in only or () if name not in CATALOGUE]
        if unknown:
            raise ValueError(f"only has {unknown}; allowed: {', '.join(CATALOGUE)}")
        return only


def main(config: BenchConfig) -> None:
    """Measure and print the figures."""
    from lab.bench.catalogue import CATALOGUE, bench
    from lab.bench.measure import Effort

    config.data.export()
    console = Console() if Console().is_terminal else Console(width=120)
    bench(config.folder, config.only or CATALOGUE, Effort(config.rounds, config.round_s, config.scale), console)
