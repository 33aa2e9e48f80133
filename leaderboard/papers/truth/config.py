"""Arguments of vcgym-truth: typed counterpart of conf/truth.yaml."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.leaderboard.papers.vcroute.statements import claimed_scenarios


class TruthConfig(Config):
    """Test of the paper's claims in every kind of world.

    Attributes:
        scenarios: scenarios of the claims; None: all.
        seeds: worlds per pair; with one, claims about a single pair have no interval.
        packets: length of the calls.
        threads: threads that share the calls; no effect on the results.
        data: folder of measured series; without it replay worlds are left out.
        folder: folder for truth.md and its picture.
    """

    scenarios: Annotated[list[str], Field(min_length=1)] | None = None
    seeds: Annotated[int, Field(ge=1, le=10_000)] = 4
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = 6000
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/truth")

    @field_validator("scenarios")
    @classmethod
    def _claimed(cls, scenarios: list[str] | None) -> list[str] | None:
        unknown = sorted(set(scenarios or ()) - set(claimed_scenarios()))
        if unknown:
            raise ValueError(f"scenarios has {unknown}; allowed: {', '.join(claimed_scenarios())}")
        return scenarios
