"""What the leaderboard run takes: typed counterpart of conf/leaderboard.yaml."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from vcgym.agents.config import AbsolutePath, Config, TrainConfig
from vcgym.leaderboard.suites import SUITES


class LeaderboardConfig(Config):
    """Rank every system of conf/system, and a freshly trained agent, on a suite.

    Attributes:
        suite: a key of `vcgym.leaderboard.suites.SUITES`.
        systems: names of files of conf/system; None: all of them.
        train: the training of the agent; it is done once, and goes on where it was stopped. None: rules only.
        folder: receives results, table and page.
        threads: how many threads share the calls; without effect on the results.
    """

    suite: str = "first"
    systems: list[str] | None = None
    train: TrainConfig | None = Field(default_factory=TrainConfig)
    folder: AbsolutePath = Path("outputs/leaderboard/first")
    threads: Annotated[int, Field(ge=1, le=256)] = 2

    @field_validator("suite")
    @classmethod
    def _known(cls, suite: str) -> str:
        if suite not in SUITES:
            raise ValueError(f"suite is {suite!r}; allowed: {', '.join(SUITES)}")
        return suite
