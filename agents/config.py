"""Typed counterparts of the YAML under conf/: every field with its unit, default and allowed range.

A config is refused as a whole before any work starts: unknown key, wrong type, out of range. Defaults live here, so Python and the
command line mean the same; `model_dump(mode="json")` of a config is complete and is what a run saves.
"""

import hashlib
import importlib
import inspect
import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_serializer, field_validator, model_validator

import vcgym.envs  # noqa: F401  (registers the ids)

# The vector env's arguments that are not a config's to choose: the pipeline sets them, or agents need their defaults.
_OWN_ARGUMENTS = {"num_envs", "autoreset_mode", "split", "render_mode", "observation", "log", "log_packets", "data"}

_RULES = "vcgym.baselines."

# Where things lie, and whether a study goes on: without effect on what is trained.
PLACES = {"folder", "data", "resume"}

AbsolutePath = Annotated[Path, Field(strict=False), AfterValidator(lambda path: path.expanduser().absolute())]
Share = Annotated[float, Field(ge=0, le=1)]


class Config(BaseModel):
    """A frozen record that takes nothing it does not know and converts nothing silently."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)

    def decisive(self) -> dict[str, Any]:
        """The resolved config as JSON values, less `PLACES`, its own and those of a training within it."""
        return self.model_dump(mode="json", exclude={**dict.fromkeys(PLACES, True), "train": PLACES})

    def digest(self) -> str:
        """Sixteen hex digits of the SHA-256 of what is `decisive`: the same on every machine."""
        return hashlib.sha256(json.dumps(self.decisive(), sort_keys=True).encode()).hexdigest()[:16]


class EnvConfig(Config):
    """Which environment, and its arguments; arguments left out are filled in with the environment's own defaults.

    An argument that is a rule is written as a baseline's class and its parameters: ``{_target_:
    vcgym.baselines.receivers.fixed_lag.FixedLag, ...}``.
    """

    id: str = "vcgym/Call-v0"
    options: dict[str, Any] = {}

    @field_validator("id")
    @classmethod
    def _has_vector_face(cls, env_id: str) -> str:
        try:
            spec = _spec(env_id)
        except (gymnasium.error.Error, ImportError) as error:
            raise ValueError(f"{env_id!r} is not a registered environment: {error}") from error
        if spec.vector_entry_point is None:
            raise ValueError(f"{env_id!r} has no native vector environment; all of vcgym do")
        return env_id

    @field_validator("options")
    @classmethod
    def _completed(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "id" not in info.data:
            return options
        defaults = env_defaults(info.data["id"])
        unknown = {name: value for name, value in options.items() if name not in defaults}
        if unknown:
            raise ValueError(f"{info.data['id']} has no argument {unknown}; allowed: {', '.join(sorted(defaults))}")
        return defaults | {name: _rule(value) for name, value in options.items()}

    @field_serializer("options")
    def _written(self, options: dict[str, Any]) -> dict[str, Any]:
        return {name: _written_rule(value) for name, value in options.items()}


def _rule(value: Any) -> Any:
    """The rule that a mapping with `_target_` names; any other value as it is."""
    if not isinstance(value, dict) or "_target_" not in value:
        return value
    module, _, name = str(value["_target_"]).rpartition(".")
    if not module.startswith(_RULES):
        raise ValueError(f"_target_ is {value['_target_']!r}; allowed: a class of {_RULES}")
    try:
        return getattr(importlib.import_module(module), name)(**{key: number for key, number in value.items() if key != "_target_"})
    except (ImportError, AttributeError, TypeError) as error:
        raise ValueError(f"{value} does not name a rule and its parameters: {error}") from error


def _written_rule(value: Any) -> Any:
    """The inverse of `_rule`."""
    if not (isinstance(value, tuple) and hasattr(value, "_asdict")):
        return value
    return {"_target_": f"{type(value).__module__}.{type(value).__qualname__}", **value._asdict()}


def env_defaults(env_id: str) -> dict[str, Any]:
    """Arguments of the vector environment `env_id` that a config may set, with their defaults."""
    spec = _spec(env_id)
    creator = spec.vector_entry_point if callable(spec.vector_entry_point) else load_env_creator(str(spec.vector_entry_point))
    defaults: dict[str, Any] = {}
    for layer in _constructors(creator):
        parameters = inspect.signature(layer).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.name not in _OWN_ARGUMENTS and p.default is not p.empty} | defaults
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return defaults | spec.kwargs


def _constructors(creator: Any) -> list[Any]:
    """The functions that take a creator's arguments, outermost first: a class's own constructor, then those it may pass arguments on to."""
    if isinstance(creator, type):
        return [vars(kind)["__init__"] for kind in creator.__mro__ if "__init__" in vars(kind)]
    return [creator]


def _spec(env_id: str) -> EnvSpec:
    """Registered environment of an id, or of "module:id" after importing the module, as gymnasium.make reads it."""
    module, _, name = env_id.rpartition(":")
    if module:
        importlib.import_module(module)
    return gymnasium.spec(name)


class PPOConfig(Config):
    """Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347) on the set network of `vcgym.agents.networks.description`.

    Attributes:
        learning_rate: Adam's step size at the start.
        schedule: the step size stays, or falls linearly to zero at the last step.
        n_steps: decisions per session and rollout; a rollout has num_envs * n_steps transitions.
        batch_size: transitions per gradient step; divides the rollout.
        n_epochs: passes over each rollout.
        gamma: discount per decision.
        gae_lambda: generalised advantage estimation, Schulman et al. 2015, arXiv 1506.02438.
        clip_range: allowed relative change of an action's probability per rollout.
        ent_coef: weight of the entropy bonus.
        vf_coef: weight of the value loss.
        max_grad_norm: gradients are scaled down to this norm.
        hidden: units per layer, policy and value alike.
        activation: between layers.
    """

    learning_rate: Annotated[float, Field(gt=0, le=1)] = 3e-4
    schedule: Literal["constant", "linear"] = "linear"
    n_steps: Annotated[int, Field(ge=2)] = 128
    batch_size: Annotated[int, Field(ge=2)] = 2048
    n_epochs: Annotated[int, Field(ge=1)] = 4
    gamma: Share = 0.97
    gae_lambda: Share = 0.9
    clip_range: Annotated[float, Field(gt=0, lt=1)] = 0.2
    ent_coef: Annotated[float, Field(ge=0)] = 0.0
    vf_coef: Annotated[float, Field(ge=0)] = 0.5
    max_grad_norm: Annotated[float, Field(gt=0)] = 0.5
    hidden: Annotated[int, Field(ge=1)] = 64
    activation: Literal["tanh", "relu"] = "tanh"


class MaskablePPOConfig(PPOConfig):
    """Maskable PPO (Huang and Ontanon 2020, arXiv 2006.14171): as PPO, but what the environment does not allow is never drawn."""

    masked: Literal[True] = True


class SACConfig(Config):
    """Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905), for a Box of actions.

    Attributes:
        learning_rate: Adam's step size at the start.
        schedule: the step size stays, or falls linearly to zero at the last step.
        n_steps: decisions per session between updates; num_envs * n_steps transitions are called a rollout.
        gradient_steps: of each update.
        batch_size: transitions per gradient step, drawn from what is kept.
        buffer_size: transitions that are kept.
        learning_starts: transitions before the first update, with actions drawn evenly.
        tau: how fast the target critics follow.
        gamma: discount per decision.
        ent_coef: weight of the entropy; "auto": learned.
        hidden: units per layer, of actor and critics alike.
        activation: between layers.
    """

    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1e-3
    schedule: Literal["constant", "linear"] = "linear"
    n_steps: Annotated[int, Field(ge=1)] = 4
    gradient_steps: Annotated[int, Field(ge=1)] = 8
    batch_size: Annotated[int, Field(ge=2)] = 512
    buffer_size: Annotated[int, Field(ge=1)] = 300_000
    learning_starts: Annotated[int, Field(ge=0)] = 20_000
    tau: Annotated[float, Field(gt=0, le=1)] = 0.005
    gamma: Share = 0.97
    ent_coef: Annotated[float, Field(ge=0)] | Literal["auto"] = "auto"
    hidden: Annotated[int, Field(ge=1)] = 64
    activation: Literal["tanh", "relu"] = "relu"


Algorithm = PPOConfig | MaskablePPOConfig | SACConfig


class DataConfig(Config):
    """Where measured data lies: `root`, else the environment variable VCGYM_DATA, else none (shipped worlds only)."""

    root: AbsolutePath | None = None

    @field_validator("root", mode="before")
    @classmethod
    def _from_environment(cls, root: Any) -> Any:
        return os.environ.get("VCGYM_DATA") if root is None else root

    @field_validator("root")
    @classmethod
    def _exists(cls, root: Path | None) -> Path | None:
        if root is not None and not root.is_dir():
            raise ValueError(f"data.root (or VCGYM_DATA) is {root}, which is not a folder")
        return root

    def export(self) -> None:
        """Make the absolute root known to whatever reads VCGYM_DATA in this process and its children."""
        if self.root is not None:
            os.environ["VCGYM_DATA"] = str(self.root)


class TrainConfig(Config):
    """A study: the same training once per seed.

    Attributes:
        steps: transitions to learn from per seed, rounded up to whole rollouts.
        evaluate_every: rollouts between two evaluations on the validation split.
        evaluation_episodes: calls per evaluation, the same ones each time.
        checkpoint_every: rollouts between two checkpoints.
        threads: of torch; results are exactly repeatable with 1.
        folder: everything the study writes except the tracking database.
        resume: continue from the newest checkpoints in `folder`; without it a folder that holds some is refused. A study goes on with the
            config it began with, but for `PLACES`.
    """

    env: EnvConfig = Field(default_factory=EnvConfig)
    algorithm: Algorithm = Field(default_factory=PPOConfig)
    data: DataConfig = Field(default_factory=DataConfig)
    study: Annotated[str, Field(min_length=1)] = "train"
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(min_length=1)] = [0]
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
        train: what every trial runs, with the first of its seeds.
        learning_rate: lowest and highest value.
        ent_coef: lowest and highest value.
        trials: how many pairs are drawn.
        concurrent: trials at a time, one CPU each.
        seed: of the draws.
        address: of a Ray cluster, "auto" for the one this machine belongs to, null to start a local one.
    """

    train: TrainConfig = Field(default_factory=TrainConfig)
    learning_rate: Annotated[list[Annotated[float, Field(gt=0, le=1)]], Field(min_length=2, max_length=2)] = [1e-4, 3e-3]
    ent_coef: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=2, max_length=2)] = [1e-4, 3e-2]
    trials: Annotated[int, Field(ge=1)] = 4
    concurrent: Annotated[int, Field(ge=1)] = 2
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    address: str | None = None

    @field_validator("learning_rate", "ent_coef")
    @classmethod
    def _ascending(cls, bounds: list[float]) -> list[float]:
        if bounds[0] >= bounds[1]:
            raise ValueError(f"{bounds} must be lowest, highest with lowest < highest")
        return bounds
