"""Configs of a study, of an evaluation and of a sweep."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from vcgym.agents.config.algorithms import Algorithm, PPOConfig
from vcgym.agents.config.base import PLACES, AbsolutePath, Config, DataConfig, RayConfig
from vcgym.agents.config.env import EnvConfig


class TrainConfig(Config):
    """A study: the same training once per seed.

    Attributes:
        steps: transitions to learn from per seed, rounded up to whole rollouts.
        evaluate_every: rollouts between two evaluations on the validation split.
        evaluation_episodes: calls per evaluation, the same ones each time.
        checkpoint_every: rollouts between two checkpoints.
        device: of torch; "cuda" without a GPU is refused, "auto" takes one if it is there.
        threads: of torch; results are exactly repeatable with 1.
        folder: everything the study writes except the tracking database.
        resume: continue from the newest checkpoints in `folder`; without it a folder that holds some is refused. A study goes on with the
            config it began with, but for `PLACES`.
    """

    env: EnvConfig = Field(default_factory=EnvConfig)
    algorithm: Algorithm = Field(default_factory=PPOConfig)
    data: DataConfig = Field(default_factory=DataConfig)
    study: Annotated[str, Field(min_length=1)] = "train"
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(min_length=1)] = Field(default=[0])
    num_envs: Annotated[int, Field(ge=1)] = 64
    steps: Annotated[int, Field(ge=1)] = 1_000_000
    evaluate_every: Annotated[int, Field(ge=1)] = 10
    evaluation_episodes: Annotated[int, Field(ge=1)] = 32
    checkpoint_every: Annotated[int, Field(ge=1)] = 10
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: Annotated[int, Field(ge=1)] = 1
    folder: AbsolutePath = Path("outputs/train/study")
    resume: bool = False

    @model_validator(mode="after")
    def _batches_fill_rollouts(self) -> Self:
        rollout = self.num_envs * self.algorithm.n_steps
        if isinstance(self.algorithm, PPOConfig) and rollout % self.algorithm.batch_size:
            raise ValueError(
                f"algorithm.batch_size is {self.algorithm.batch_size}; it must divide num_envs * algorithm.n_steps = {rollout} transitions"
            )
        return self


class EvaluateConfig(Config):
    """Play a published agent: `episodes` calls of `split`, worlds drawn from `seed`. The test split is the leaderboard's."""

    agent: AbsolutePath
    env: EnvConfig = Field(default_factory=EnvConfig)
    data: DataConfig = Field(default_factory=DataConfig)
    split: Literal["train", "validation"] = "validation"
    episodes: Annotated[int, Field(ge=1)] = 32
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0


class SweepConfig(Config):
    """Asynchronous successive halving (Li et al. 2018, arXiv 1810.05934) over two of PPO's numbers, each drawn log-uniformly.

    Attributes:
        train: what every trial runs, with the first of its seeds. With `resume` a sweep that was killed goes on: trials that ended answer
            from their folders, the others train on from their checkpoints.
        learning_rate: lowest and highest value.
        ent_coef: lowest and highest value.
        trials: how many pairs are drawn.
        concurrent: trials at a time, one CPU each.
        seed: of the draws.
        ray: a cluster to run on; without one a Ray of our own is started.
    """

    without_effect: ClassVar[frozenset[str]] = PLACES | {"ray"}

    train: TrainConfig = Field(default_factory=TrainConfig)
    learning_rate: Annotated[list[Annotated[float, Field(gt=0, le=1)]], Field(min_length=2, max_length=2)] = Field(default=[1e-4, 3e-3])
    ent_coef: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=2, max_length=2)] = Field(default=[1e-4, 3e-2])
    trials: Annotated[int, Field(ge=1)] = 4
    concurrent: Annotated[int, Field(ge=1)] = 2
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    ray: RayConfig = Field(default_factory=RayConfig)

    @property
    def folder(self) -> Path:
        """Return the folder of everything the sweep writes."""
        return self.train.folder

    @field_validator("learning_rate", "ent_coef")
    @classmethod
    def _ascending(cls, bounds: list[float]) -> list[float]:
        if bounds[0] >= bounds[1]:
            raise ValueError(f"{bounds} must be lowest, highest with lowest < highest")
        return bounds
