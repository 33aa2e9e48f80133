"""Arguments of vcgym-decision-value: typed counterpart of conf/decision_value.yaml."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig


class DecisionValueConfig(Config):
    """Worlds of the study, and the folder of its page.

    Attributes:
        seeds: worlds per pair, in units of `vcgym.leaderboard.papers.decision_value.outcomes.PARTS`.
        drift_seeds: worlds per pair of each drift.
        packets: length of the calls; under stress a relay fails after a fifth of a call at the earliest, and a router that stays on it
            fills the receiver's ring 4096 packets later.
        threads: threads that share the calls; no effect on the results.
        data: folder of measured series; without it replay worlds are left out.
        folder: folder for decision_value.md.
    """

    seeds: Annotated[int, Field(ge=1, le=10_000)] = 12
    drift_seeds: Annotated[int, Field(ge=1, le=10_000)] = 4
    packets: Annotated[int, Field(ge=100, le=5000)] = 5000
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/decision_value")
