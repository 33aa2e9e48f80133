"""Config of a learned allocator of conferences."""

from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from vcgym.agents.config.base import PLACES, AbsolutePath, Config
from vcgym.conference.network.scenario import ConferenceScenario
from vcgym.network.kernels.ranges import one_of

KINDS = ("four-sites", "core-3", "core-6", "core-8", "edge-4", "edge-8", "edge-12")
Count = Annotated[int, Field(ge=1)]


class AllocatorConfig(Config):
    """Training of an allocator by search on the true score (`lab.learners.conferences`).

    Attributes:
        kinds: kinds of conferences (`vcgym.conference.network.scenario`).
        worlds: training worlds per kind.
        validation_worlds: validation worlds per kind; they are only reported and decide nothing.
        chunks: number of chunks of the training worlds; each generation plays the next chunk.
        trials: allocators tried.
        population: allocators per generation.
        search_step: initial standard deviation of the search, in natural logarithms of factors.
        seed: seed of the search and of its worlds.
        folder: folder of the gains so far and of the learned system; a search that was stopped resumes there.
    """

    without_effect: ClassVar[frozenset[str]] = PLACES

    kinds: Annotated[list[str], Field(min_length=1)] = Field(default=list(KINDS))
    worlds: Count = 4
    validation_worlds: Count = 2
    chunks: Count = 4
    trials: Count = 40
    population: Annotated[int, Field(ge=4)] = 10
    search_step: Annotated[float, Field(gt=0)] = 0.15
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    folder: AbsolutePath = Path("outputs/train/allocator")

    @field_validator("kinds")
    @classmethod
    def _kinds_exist(cls, kinds: list[str]) -> list[str]:
        for kind in kinds:
            one_of("kind", kind, ConferenceScenario.kinds)
        return kinds

    @model_validator(mode="after")
    def _every_chunk_has_worlds(self) -> Self:
        if self.chunks > self.worlds:
            raise ValueError(f"chunks is {self.chunks}; allowed: at most worlds = {self.worlds}")
        return self
