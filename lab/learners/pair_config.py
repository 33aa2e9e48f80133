"""Config of a learned pair: a router and a lag that run inside the loop."""

import itertools
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from vcgym.agents.config.base import PLACES, AbsolutePath, Config, DataConfig, RayConfig

Count = Annotated[int, Field(ge=1)]
Kind = Annotated[str, Field(pattern="^[a-z0-9-]+ [a-z]+$")]
Specialist = Literal["all-worlds", "correlated"]
"""Pair of one kind of worlds, in `lab/learners/pairs`; a board plays it as agents.NAME=lab/learners/pairs/correlated."""


KINDS = (
    "wonderproxy correlated", "wonderproxy paper", "table1 correlated", "table1 paper", "stress correlated", "synthetic-9 paper",
)  # fmt: skip


class PairConfig(Config):
    """Training of a lag by gradients through the player and of a router by search on the true score, in turns, once per seed.

    Attributes:
        worlds: kinds of training worlds, as "scenario mode"; each has the same number of calls.
        packets: length of the calls, in slots of 10 ms.
        calls: training calls per kind of world, over all pairs of the training split and all strata in turn.
        max_added_ms: half of the calls of the last lag have a delay between 0 and this added to every path: calls over longer distances.
        validation_calls: validation calls per kind of world; they are only logged and decide nothing.
        turns: number of turns; a turn learns a lag, then searches a router. A final lag is learned for the last router; 0: only that one.
        lag_steps: gradient steps per turn.
        calls_per_step: calls per gradient step.
        learning_rate: Adam's step size at the start of a turn.
        hidden: units in each of the two layers of the lag.
        start: learned system that provides the initial prices of the router; None: hand-set prices.
        start_rough: learned system that provides the prices of rough delays, which no search moves: a router with two sets; None: one set.
        start_lag: learned system that provides the initial weights of the lag, with as many hidden units; None: random weights.
        experts: learned systems whose lags are experts of a hedged lag, next to the one that is learned; none: that one alone.
        specialists: kinds of worlds of further experts, each learned as the last lag, from `start_lag`; with `experts` only.
        trials: routers per turn, tried on the worlds of all modes except paper; 0: only the prices of roughness are searched.
        rough_trials: further routers per turn, tried on worlds of mode paper; only their prices of roughness differ. 0: none.
        population: routers per generation.
        search_step: initial standard deviation of the search, in natural steps of the prices; halved at each further turn.
        chunks: number of chunks of the calls; each generation plays the next chunk.
        data: folder of measured data.
        study: name of the study, in titles and in MLflow.
        seeds: seeds of the trainings, one pair each.
        references: systems that are also played once on the validation worlds, for comparison in every log.
        threads: threads that play calls; no effect on the result.
        workers: processes of a local Ray that try routers; 0: this process tries them. No effect on the result.
        ray: cluster that tries routers, regardless of `workers`; no effect on the result.
        folder: folder of everything the study writes except the tracking database.
        resume: continue the turns in `folder`; if false, a folder with earlier turns is an error.
    """

    without_effect: ClassVar[frozenset[str]] = PLACES | {"threads", "workers", "ray"}

    worlds: Annotated[list[Kind], Field(min_length=1)] = Field(default=list(KINDS))
    packets: Annotated[int, Field(ge=100, le=1_000_000)] = 6000
    calls: Count = 120
    max_added_ms: Annotated[float, Field(ge=0, le=1000)] = 0.0
    validation_calls: Count = 60
    turns: Annotated[int, Field(ge=0, le=10)] = 1
    lag_steps: Count = 800
    calls_per_step: Count = 32
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 2e-3
    hidden: Annotated[int, Field(ge=1, le=256)] = 32
    start: Specialist | None = None
    start_rough: Specialist | None = None
    start_lag: Specialist | None = None
    experts: list[Specialist] = Field(default=[])
    specialists: list[Annotated[list[Kind], Field(min_length=1)]] = Field(default=[])
    trials: Annotated[int, Field(ge=0)] = 1200
    rough_trials: Annotated[int, Field(ge=0)] = 160
    population: Annotated[int, Field(ge=4)] = 16
    search_step: Annotated[float, Field(gt=0)] = 0.7
    chunks: Count = 8
    references: list[str] = Field(default=["DRT-WM", "GRD+EWMAH-tuned"])
    data: DataConfig = Field(default_factory=DataConfig)
    study: Annotated[str, Field(min_length=1)] = "pair"
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(min_length=1)] = Field(default=[0])
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    workers: Annotated[int, Field(ge=0, le=1024)] = 0
    ray: RayConfig = Field(default_factory=RayConfig)
    folder: AbsolutePath = Path("outputs/train/pair")
    resume: bool = False

    @model_validator(mode="after")
    def _every_chunk_has_calls(self) -> Self:
        if self.chunks > self.calls:
            raise ValueError(f"chunks is {self.chunks}; allowed: at most calls = {self.calls}")
        return self

    @model_validator(mode="after")
    def _specialists_have_experts(self) -> Self:
        if self.specialists and not self.experts:
            raise ValueError(f"specialists is {self.specialists} and experts is []; allowed: none without experts")
        return self

    @property
    def kinds(self) -> list[str]:
        """Kinds of worlds of all trainings."""
        return [*self.worlds, *itertools.chain(*self.specialists)]

    @property
    def on_ray(self) -> bool:
        """True if processes of Ray try the routers."""
        return self.workers > 0 or self.ray.address is not None
