"""Configs of a study, of an evaluation and of a sweep."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from vcgym.agents.config.algorithms import Algorithm, InsidePPOConfig, LibraryConfig, OfflineConfig, PPOConfig
from vcgym.agents.config.base import PLACES, AbsolutePath, Config, DataConfig, RayConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.names import TrainedAgent

STUDY = "config.json"
"""File with the config of a study of `vcgym train`, in its folder."""


class TrainConfig(Config):
    """A study: one training per seed.

    Attributes:
        env: environment of training and validation.
        algorithm: learning algorithm and its settings.
        data: folder of measured data.
        study: name of the study, in titles and in MLflow.
        seeds: seeds of the trainings, one agent each.
        num_envs: calls played in parallel; None: those of the algorithm, 256 for PPO, 64 for SAC, 8 inside the loop, 1 for the library's.
        steps: training transitions per seed, rounded up to whole rollouts; inside the loop, decisions of all learned controls;
            from a set, draws from it. None: those of the algorithm, 400,000 for PPO and SAC, 20 million inside the loop, 100,000 for the
            library's, 2 million from a set.
        evaluate_every: rollouts between two evaluations on the validation split.
        evaluation_episodes: calls per evaluation, the same ones each time.
        checkpoint_every: rollouts between two checkpoints.
        device: torch device; "cuda" without a GPU is an error, "auto" uses a GPU if there is one.
        threads: torch threads; results are exactly repeatable with 1. Learning inside the loop always takes 1.
        folder: folder of everything the study writes except the tracking database.
        resume: continue from the newest checkpoints in `folder`; if false, a folder with checkpoints is an error. A resumed study must have
            the config it began with, except for `PLACES`.
    """

    env: EnvConfig = Field(default_factory=EnvConfig)
    algorithm: Algorithm = Field(default_factory=PPOConfig)
    data: DataConfig = Field(default_factory=DataConfig)
    study: Annotated[str, Field(min_length=1)] = "train"
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(min_length=1)] = Field(default=[0])
    num_envs: Annotated[int, Field(ge=1)] = Field(default_factory=lambda given: given["algorithm"].num_envs if "algorithm" in given else 1)
    steps: Annotated[int, Field(ge=1)] = Field(default_factory=lambda given: given["algorithm"].steps if "algorithm" in given else 1)
    evaluate_every: Annotated[int, Field(ge=1)] = 10
    evaluation_episodes: Annotated[int, Field(ge=1)] = 32
    checkpoint_every: Annotated[int, Field(ge=1)] = 10
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: Annotated[int, Field(ge=1)] = 1
    folder: AbsolutePath = Path("outputs/train/study")
    resume: bool = False

    @model_validator(mode="after")
    def _batches_fill_rollouts(self) -> Self:
        if isinstance(self.algorithm, InsidePPOConfig):
            if self.num_envs % self.algorithm.replicas:
                raise ValueError(f"num_envs is {self.num_envs}; it must be a multiple of algorithm.replicas = {self.algorithm.replicas}")
            return self
        if isinstance(self.algorithm, PPOConfig) and self.rollout % self.algorithm.batch_size:
            allowed = f"it must divide num_envs * algorithm.n_steps = {self.rollout} transitions"
            raise ValueError(f"algorithm.batch_size is {self.algorithm.batch_size}; {allowed}")
        return self

    @property
    def rollout(self) -> int:
        """Transitions of a rollout; inside the loop, its calls; from a set, those of some batches."""
        if isinstance(self.algorithm, LibraryConfig):
            return self.algorithm.rollout
        if isinstance(self.algorithm, OfflineConfig):
            return self.algorithm.rollout * self.algorithm.batch_size
        return self.num_envs * (1 if isinstance(self.algorithm, InsidePPOConfig) else self.algorithm.n_steps)


class TrainedEnv(Config):
    """The environment of an agent's training, but for what is given here.

    Attributes:
        id: id of an environment; None: that of the agent.
        options: arguments that replace those of the training.
    """

    id: str | None = None
    options: dict[str, Any] = Field(default={})


class EvaluateConfig(Config):
    """Evaluation of a published agent; the test split is the leaderboard's.

    Attributes:
        agent: folder of the agent, such as outputs/train/study/seed-0/agent.
        env: environment of the calls; by default that of the agent's training, with the options in the config.json of its study.
        data: folder of measured data.
        split: split of the worlds.
        episodes: number of calls.
        seed: seed from which the worlds are sampled.
    """

    agent: TrainedAgent
    env: TrainedEnv | EnvConfig = Field(default_factory=TrainedEnv)
    data: DataConfig = Field(default_factory=DataConfig)
    split: Literal["train", "validation"] = "validation"
    episodes: Annotated[int, Field(ge=1)] = 32
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0


class OfflineDataConfig(Config):
    """Offline sets: calls of behaviour policies as files of Minari, made from seeds, each set in a folder such as vcgym/call/rule-v0.

    Attributes:
        env: environment of the calls.
        behaviours: a set each: calls of one rule; of many, of which each call draws one; of the first with 30 % of decisions at random.
        calls: calls of a set.
        seed: seed of the first call, which the next ones count on; the same seed makes the same bytes.
        split: split of the worlds.
        data: folder of measured data.
        folder: folder of all sets, Minari's MINARI_DATASETS_PATH; a set that exists is an error.
    """

    env: EnvConfig = Field(default_factory=EnvConfig)
    behaviours: Annotated[list[Literal["rule", "mixture", "exploring"]], Field(min_length=1)] = Field(
        default=["rule", "mixture", "exploring"]
    )
    calls: Annotated[int, Field(ge=1)] = 1000
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    split: Literal["train", "validation"] = "train"
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/offline")


class SweepConfig(Config):
    """A search over two settings of PPO, each sampled log-uniformly; weak trials stop early.

    They stop by asynchronous successive halving (Li et al. 2018, arXiv 1810.05934).

    Attributes:
        train: training of every trial, with the first of its seeds. With `resume` a killed sweep continues: finished trials report from
            their folders, the others continue from their checkpoints.
        learning_rate: minimum and maximum of Adam's step size.
        ent_coef: minimum and maximum of the weight of the entropy bonus.
        trials: number of sampled pairs of values.
        concurrent: concurrent trials, one CPU each.
        seed: seed of the sampling.
        ray: cluster to run on; None starts a local Ray.
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
        """Folder of everything the sweep writes."""
        return self.train.folder

    @field_validator("learning_rate", "ent_coef")
    @classmethod
    def _ascending(cls, bounds: list[float]) -> list[float]:
        if bounds[0] >= bounds[1]:
            raise ValueError(f"{bounds} must be lowest, highest with lowest < highest")
        return bounds

    @model_validator(mode="after")
    def _has_an_entropy(self) -> Self:
        if isinstance(self.train.algorithm, InsidePPOConfig):
            raise ValueError("train.algorithm is InsidePPO, which has no ent_coef to search; allowed: algorithms on the environment")
        return self
