"""The config of a learned pair: a router and a lag inside the loop."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from vcgym.agents.config.base import PLACES, AbsolutePath, Config, DataConfig, RayConfig

Kind = Annotated[str, Field(pattern="^[a-z0-9-]+ [a-z]+$")]
Count = Annotated[int, Field(ge=1)]


KINDS = (
    "wonderproxy correlated", "wonderproxy paper", "table1 correlated", "table1 paper", "stress correlated", "synthetic-9 paper",
)  # fmt: skip


class PairConfig(Config):
    """A lag by the gradient through the player and a router by search on the true score, in turns, once per seed.

    Attributes:
        worlds: kinds of worlds to learn from, as "scenario mode"; each has as many calls.
        packets: length of the calls, in slots of 10 ms.
        calls: of each kind of world, to learn from; every pair of the training split and every stratum in turn.
        validation_calls: of each kind, to judge by; they decide nothing.
        turns: how often a lag is learned and then a router searched; a last lag is learned for the router that was found.
        lag_steps: gradient steps of a turn.
        calls_per_step: calls in one of them.
        learning_rate: Adam's step size at the start of a turn.
        hidden: units of each of the lag's two layers.
        start: learned system whose prices the router begins with; None: prices set by hand.
        trials: routers that a turn tries, on the worlds of all modes but paper; 0: only its prices of roughness are searched.
        rough_trials: routers that it then tries on worlds of mode paper: only their prices of roughness differ.
        population: routers of a generation.
        search_step: first standard deviation of the search, in natural steps of the prices; half in the second turn, and so on.
        chunks: the calls are cut into so many, one for each generation in turn.
        references: systems that are played on the validation worlds too, once, to stand beside the pair in every log.
        threads: calls are played by so many; without effect on the result.
        workers: routers are tried in so many processes of a Ray started for it; 0: in this process. Without effect on the result.
        ray: a cluster to try them on, whatever `workers` says; without effect on the result.
        folder: everything the study writes except the tracking database.
        resume: go on with the turns that `folder` holds; without it a folder that holds some is refused.
    """

    without_effect: ClassVar[frozenset[str]] = PLACES | {"threads", "workers", "ray"}

    worlds: Annotated[list[Kind], Field(min_length=1)] = Field(default=list(KINDS))
    packets: Annotated[int, Field(ge=100, le=1_000_000)] = 6000
    calls: Count = 120
    validation_calls: Count = 60
    turns: Annotated[int, Field(ge=1, le=10)] = 1
    lag_steps: Count = 800
    calls_per_step: Count = 32
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 2e-3
    hidden: Annotated[int, Field(ge=1, le=256)] = 32
    start: Literal["LEARNED", "LEARNED-correlated"] | None = None
    trials: Annotated[int, Field(ge=0)] = 1200
    rough_trials: Annotated[int, Field(ge=4)] = 160
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

    @property
    def on_ray(self) -> bool:
        """True if routers are tried in processes of Ray."""
        return self.workers > 0 or self.ray.address is not None
