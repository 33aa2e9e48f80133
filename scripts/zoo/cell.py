"""Training of one cell of the zoo: its learning curve over decisions, from checkpoints if it was killed.

The curve is a file beside the checkpoints, one row per evaluation. A checkpoint is written with each evaluation, so a training that goes on
repeats nothing but what came after the last. Processor time, without evaluations and checkpoints, is measured beside it and decides
nothing, so a row repeats on any machine. Inside the loop, where a million decisions take a second, a killed training begins anew.
"""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from pydantic import BaseModel, ValidationError
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from vcgym.agents.config.algorithms import InsidePPOConfig, LibraryConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.inside.learner import Learning
from vcgym.agents.training import checkpoint
from vcgym.agents.training.learners import build_model, fitting, snapshot
from vcgym.agents.training.trained import identity_of
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import read_json, replace_file
from vcgym.network.traces.refusal import faults
from vcgym.scripts.zoo.config import INSIDE, TUNED, ZooConfig, ZooTraining
from vcgym.scripts.zoo.scoring import score_agent, score_systems

CURVE, AGENT = "curve.json", "agent.zip"


class CurvePoint(NamedTuple):
    """An evaluation: decisions and processor time until then, and the mean score on the validation worlds."""

    decisions: int
    cpu_s: float
    score: float


class _Kept(BaseModel):
    is_done: bool
    points: list[CurvePoint]


def train_cell(config: ZooConfig, cell: ZooTraining) -> list[CurvePoint]:
    """Train one cell, or what is left of it, and return its curve; a finished one is read."""
    home = config.folder / str(cell)
    kept = _read(home)
    if kept.get("is_done"):
        return kept["points"]
    config.data.export()
    torch.set_num_threads(1)
    curve = _Curve(config, cell, home, kept.get("points", []))
    (_learn_inside if cell.algorithm == INSIDE else _learn)(config, cell, curve)
    curve.write(is_done=True)
    return curve.points


def train_config(config: ZooConfig, cell: ZooTraining) -> TrainConfig:
    """Return the config of a cell's training, with the form of actions that its algorithm takes."""
    env = EnvConfig(id=cell.env)
    if cell.algorithm == INSIDE:
        inside = InsidePPOConfig(**config.arguments_of(cell))
        return TrainConfig(env=env, algorithm=inside, steps=cell.planned, num_envs=8, seeds=[cell.seed], device="cpu")
    chosen = LibraryConfig.model_validate({"name": cell.algorithm.removesuffix(TUNED), "arguments": config.arguments_of(cell)})
    env = EnvConfig(id=env.id, options=env.options | {"action": fitting(chosen.name, env)})
    return TrainConfig(env=env, algorithm=chosen, steps=cell.planned, num_envs=1, seeds=[cell.seed], device="cpu")


def _read(home: Path) -> dict[str, Any]:
    path = home / CURVE
    if not path.is_file():
        return {}
    try:
        return dict(_Kept.model_validate(read_json(path)))
    except ValidationError as error:
        raise DataError(path, "content", faults(error), "points of a training, and whether it is done") from error


class _Curve:
    """Points of a training so far, and whether another is due."""

    def __init__(self, config: ZooConfig, cell: ZooTraining, home: Path, points: list[CurvePoint]) -> None:
        self.config, self.cell, self.home, self.points = config, cell, home, points
        self.before_s = points[-1].cpu_s if points else 0.0
        self.began_s = time.process_time()

    @property
    def cpu_s(self) -> float:
        """Processor time of training."""
        return self.before_s + time.process_time() - self.began_s

    def is_due(self, decisions: int) -> bool:
        """Return True if a share of the decisions has ended since the last point."""
        last, share = self.points[-1].decisions if self.points else 0, self.cell.planned / self.config.points
        return decisions // share > last // share

    def add(self, decisions: int, scores: Any) -> None:
        """Add a point, if there is none yet after so many decisions; `scores` returns the score of each world."""
        if self.points and self.points[-1].decisions == decisions:
            return
        cpu_s = self.cpu_s
        self.points.append(CurvePoint(decisions, round(cpu_s, 2), round(float(np.mean(scores())), 4)))
        self.before_s, self.began_s = cpu_s, time.process_time()

    def write(self, is_done: bool = False) -> None:
        """Write the points."""
        self.home.mkdir(parents=True, exist_ok=True)
        replace_file(self.home / CURVE, json.dumps({"is_done": is_done, "points": self.points}).encode())


def _learn(config: ZooConfig, cell: ZooTraining, curve: _Curve) -> None:
    training = train_config(config, cell)
    model = build_model(training, cell.seed)
    identity, folder = {"zoo": 1} | identity_of(training, cell.seed), checkpoint.folder_of(curve.home)
    if newest := checkpoint.newest(folder):
        checkpoint.load(newest, model, identity)
    model.set_logger(Logger(None, []))

    def scores() -> list[float]:
        policy: Any = snapshot(model, training)
        split = "train" if config.trials else "validation"
        return score_agent(policy, cell.env, {"action": training.env.options["action"]}, config.worlds, split)

    def keep() -> None:
        curve.add(model.num_timesteps, scores)
        checkpoint.save(folder, model, identity)
        curve.write()
        curve.began_s = time.process_time()

    model.learn(max(cell.planned - model.num_timesteps, 0), callback=_Between(curve, keep), reset_num_timesteps=False)
    curve.add(model.num_timesteps, scores)
    curve.home.mkdir(parents=True, exist_ok=True)
    model.save(curve.home / AGENT)
    assert model.env is not None
    model.env.close()


class _Between(BaseCallback):
    """Callback between rollouts: keeps a point where one is due."""

    def __init__(self, curve: _Curve, keep: Any) -> None:
        super().__init__()
        self.curve, self.keep = curve, keep

    def _on_rollout_start(self) -> None:
        if self.curve.is_due(self.model.num_timesteps):
            self.keep()

    def _on_step(self) -> bool:
        return True


def _learn_inside(config: ZooConfig, cell: ZooTraining, curve: _Curve) -> None:
    curve.points.clear()
    training = train_config(config, cell)
    assert isinstance(training.algorithm, InsidePPOConfig)
    learning = Learning(training.env, training.algorithm, training.num_envs, training.steps, cell.seed)

    def scores() -> list[float]:
        return score_systems(cell.env, [learning.system], config.worlds)[0]

    while learning.decisions < training.steps:
        learning.train_step()
        if curve.is_due(learning.decisions):
            curve.add(learning.decisions, scores)
