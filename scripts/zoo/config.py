"""Config of the zoo."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import yaml
from pydantic import Field, field_validator

from vcgym.agents.config.base import PLACES, AbsolutePath, Config, DataConfig, RayConfig
from vcgym.envs import DIFFICULTIES, IDS

ENVIRONMENTS = list(IDS.values())
INSIDE = "InsidePPO"
_INSIDE_DECISIONS = {
    "Relay-v1": 2_000_000, "Playout-v1": 8_000_000, "Call-v1": 16_000_000, "Rate-v1": 1_000_000, "SendOrder-v1": 8_000_000,
}  # fmt: skip
ALGORITHMS = ["PPO", "A2C", "TRPO", "DQN", "QRDQN", "ARS", "SAC", "TD3", "RecurrentPPO", "TQC", INSIDE]
"""Names of the zoo: rows of the table of algorithms as they come, and PPO inside the loop."""
RUNS, PAGE, FOUND = "zoo_runs.csv", "zoo.md", "zoo_arguments.yaml"
TUNED = "-tuned"
"""End of the name of an algorithm that is trained with the arguments found for it."""


class ZooTraining(NamedTuple):
    """Training by environment, algorithm, seed, and the decisions for which it was planned, on which schedules depend."""

    env: str
    algorithm: str
    seed: int
    planned: int

    def __str__(self) -> str:
        return f"{self.env.removeprefix('vcgym/')}-{self.algorithm}-{self.seed}-{self.planned}"


class ZooConfig(Config):
    """Trainings of algorithms on environments.

    Attributes:
        environments: ids of environments of calls. Those with a difficulty have a table of their own. PPO inside the loop leaves out these
            and Send: it decides at each packet or report, whatever the interval.
        algorithms: names of `ALGORITHMS`.
        seeds: one training each.
        decisions: decisions of a training, on which its schedules depend; its processor time is measured beside it and decides nothing.
        inside: decisions of PPO inside the loop by environment, where a million take a second or some; half a minute of one core each.
        points: evaluations of a training, at equal shares of its decisions.
        worlds: validation worlds of an evaluation; the references have 50.
        arguments: arguments of an algorithm, or of ALGORITHM/ENVIRONMENT, that are not its defaults, such as SAC/Call-v1. One step of the
            gradient for four decisions, as DQN has by default, keeps SAC, TD3 and TQC within some minutes.
        tuned: train the algorithms as PPO-tuned and so on, with the arguments of conf/zoo_arguments.yaml on top, where there are any.
        trials: if above 0, search these arguments instead (`vcgym.scripts.zoo.search`): so many trainings of each algorithm on each
            environment with the first seed, the first of them at the defaults, scored on training worlds.
        data: folder of measured data.
        folder: folder of everything that is written: checkpoints and agents, from which a training that was killed goes on; zoo_runs.csv,
            all trainings so far, to which a run adds; zoo.md, their table, and its picture under pictures; zoo_arguments.yaml, what a
            search found.
        ray: cluster; None: one training after another.
    """

    without_effect: ClassVar[frozenset[str]] = PLACES | {"ray", "environments", "algorithms", "seeds"}

    environments: list[str] = Field(default=ENVIRONMENTS)
    algorithms: list[str] = Field(default=ALGORITHMS)
    seeds: list[Annotated[int, Field(ge=0, lt=2**31)]] = Field(default=[0])
    decisions: Annotated[int, Field(ge=1)] = 100_000
    inside: dict[str, Annotated[int, Field(ge=1)]] = Field(default=_INSIDE_DECISIONS)
    points: Annotated[int, Field(ge=1)] = 5
    worlds: Annotated[int, Field(ge=2, le=50)] = 30
    arguments: dict[str, dict[str, Any]] = Field(default={"SAC": {"train_freq": 4}, "TD3": {"train_freq": 4}, "TQC": {"train_freq": 4}})
    data: DataConfig = Field(default_factory=DataConfig)
    tuned: bool = False
    trials: Annotated[int, Field(ge=0)] = 0
    folder: AbsolutePath = Path("outputs/zoo")
    ray: RayConfig = Field(default_factory=RayConfig)

    @field_validator("inside")
    @classmethod
    def _all_planned(cls, given: dict[str, int]) -> dict[str, int]:
        if unknown := given.keys() - _INSIDE_DECISIONS.keys():
            raise ValueError(f"{sorted(unknown)} is not known; allowed: {', '.join(_INSIDE_DECISIONS)}")
        return _INSIDE_DECISIONS | given

    @field_validator("environments", "algorithms")
    @classmethod
    def _known(cls, names: list[str], info: Any) -> list[str]:
        allowed = [*ENVIRONMENTS, *DIFFICULTIES] if info.field_name == "environments" else ALGORITHMS
        if unknown := [name for name in names if name not in allowed]:
            raise ValueError(f"{unknown} is not known; allowed: {', '.join(allowed)}")
        return names

    @property
    def runs(self) -> Path:
        """Table of all trainings so far."""
        return self.folder / RUNS

    def cells(self) -> list[ZooTraining]:
        """Return the trainings, seed by seed, so that a run that is cut short has each pair as often."""
        found = found_arguments() if self.tuned else {}
        return [
            ZooTraining(env, f"{name}{TUNED}" if self.tuned else name, seed, self.planned(name, env))
            for seed in self.seeds
            for name in self.algorithms
            for env in self.environments
            if (name != INSIDE or env.removeprefix("vcgym/") in self.inside) and (not self.tuned or pair(name, env) in found)
        ]

    def planned(self, algorithm: str, env: str) -> int:
        """Return the decisions for which a training is planned."""
        return self.inside[env.removeprefix("vcgym/")] if algorithm == INSIDE else self.decisions

    def arguments_of(self, cell: ZooTraining) -> dict[str, Any]:
        """Return the arguments of a training."""
        name = cell.algorithm.removesuffix(TUNED)
        chosen = self.arguments.get(name, {}) | self.arguments.get(pair(name, cell.env), {})
        return chosen | found_arguments()[pair(name, cell.env)] if cell.algorithm.endswith(TUNED) else chosen


def pair(algorithm: str, env: str) -> str:
    """Return an algorithm on an environment as one name, such as SAC/Call-v1."""
    return f"{algorithm}/{env.removeprefix('vcgym/')}"


def found_arguments() -> dict[str, dict[str, Any]]:
    """Return the arguments of conf/zoo_arguments.yaml by `pair`; where the defaults were as good, they are in use, and there is none."""
    read = yaml.safe_load(files("vcgym.conf").joinpath(FOUND).read_text(encoding="utf-8"))
    return {name: one["arguments"] for name, one in read.items() if one["arguments"]}
