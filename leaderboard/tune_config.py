"""What the tuning of rules takes: typed counterpart of conf/tune.yaml and conf/tune/*.yaml."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from vcgym.agents.config import AbsolutePath, Config
from vcgym.agents.search import Domain
from vcgym.leaderboard.config import RayConfig


class TunedRule(Config):
    """One file of conf/tune.

    Attributes:
        rule: the class of the rule, as `_target_` names it.
        parameters: where each is drawn; `lag.quantile` is one of a rule within.
    """

    rule: str
    parameters: Annotated[dict[str, Domain], Field(min_length=1)]


class TuneConfig(Config):
    """Tune pairs of rules, each with the same budget.

    The usual one is that of an agent's sweep (`vcgym.agents.config.SweepConfig`): 4 trials of 1,000,000 decisions of 10 packets are 40
    million packets, and so are 64 trials of 104 calls of 6,000 packets.

    Attributes:
        systems: names of files of conf/system.
        trials: sets of values, the printed ones among them.
        worlds: training worlds that each trial plays.
        validation_worlds: played before and after; they decide nothing.
        packets: length of the calls.
        scenario: where worlds are drawn.
        mode: of the scenario.
        seed: of the draws of values.
        workers: trials at a time.
        ray: a cluster to search on.
        folder: receives system/ and study/; `conf` keeps them.
    """

    systems: Annotated[list[str], Field(min_length=1)]
    trials: Annotated[int, Field(ge=2, le=100_000)] = 64
    worlds: Annotated[int, Field(ge=1, le=100_000)] = 104
    validation_worlds: Annotated[int, Field(ge=2, le=100_000)] = 96
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = 6000
    scenario: str = "wonderproxy"
    mode: str = "correlated"
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    workers: Annotated[int, Field(ge=1, le=1024)] = 2
    ray: RayConfig = Field(default_factory=RayConfig)
    folder: AbsolutePath = Path("outputs/tune")
