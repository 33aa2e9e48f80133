"""Training inside the loop: validation, checkpoints between rollouts, and publication as a learned system.

A checkpoint is a folder `step-<decisions>` like those of `vcgym.agents.training.checkpoint`: weights, moments of Adam and three numbers. A
killed training resumes from one and ends with the same bytes.
"""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.evaluate import Evaluation
from vcgym.agents.inside.learner import Learning
from vcgym.agents.inside.recorder import accounts_of
from vcgym.agents.inside.tasks import Task, task_of
from vcgym.agents.tracking.progress import BEFORE, progress
from vcgym.agents.training import checkpoint
from vcgym.agents.training.trained import Log, Trained, identity_of, newest_checkpoint
from vcgym.baselines.systems import System
from vcgym.baselines.zoo import CARD, LEARNED, save_learned
from vcgym.envs.call.rewards.reward import allocate_state, begin_row, write_rewards

_FORMAT = 4


def train_inside(config: TrainConfig, settings: InsidePPOConfig, seed: int, log: Log) -> Trained:
    """Train one system and write it to `config.folder`/seed-<seed>/learned.json and .safetensors.

    Raises:
        FileExistsError: the folder holds an earlier training and `config.resume` is false.
        ValueError: the newest checkpoint belongs to another training.
    """
    config.data.export()
    torch.set_num_threads(1)  # its layers are small: a second thread only waits, and would change the sums
    home, threads = config.folder / f"seed-{seed}", config.env.options["threads"]
    newest, task = newest_checkpoint(config, seed), task_of(config.env, settings.kinds)
    learning = Learning(task, settings, config.num_envs, config.steps, seed, threads)
    identity = {"inside": _FORMAT, "vcgym": version("vcgym"), **identity_of(config, seed)}
    if newest is not None:
        _restore(newest, learning, identity)
    validation = task.worlds("validation", config.evaluation_episodes)
    with progress(f"training InsidePPO on {config.env.id}, seed {seed}: decisions", config.steps) as report:
        report(learning.decisions, "" if newest is None else BEFORE)

        def validate() -> tuple[Evaluation, list[float]]:
            found, r = _validate(task, learning.system, validation, threads)
            metrics = {"validation/return_mean": found.return_mean, "validation/return_sd": found.return_sd}
            log(metrics | {"validation/r": float(np.mean(r))} if r else metrics, learning.decisions)
            mean = f"R of a validation call {np.mean(r):.2f}" if r else f"return of a validation call {found.return_mean:.2f}"
            report(learning.decisions, f"mean {mean}")
            return found, r

        while learning.decisions < config.steps:
            log(learning.turn(), learning.decisions)
            if learning.rollouts % config.evaluate_every == 0:
                validate()
            if learning.rollouts % config.checkpoint_every == 0:
                _save(checkpoint.folder_of(home), learning, identity)
        found, r = validate()
    _save(checkpoint.folder_of(home), learning, identity)
    if not (home / f"{LEARNED}{CARD}").exists():
        _publish(home, config, learning, found, r)
    return Trained(home, learning.decisions, found)


def _validate(task: Task, system: System, kinds: Sequence[Any], threads: int) -> tuple[Evaluation, list[float]]:
    """Return the return of calls with the rules as they are ranked, and the mean R of each kind, if R is what ranks them."""
    returns, ratings = [], []
    for worlds in kinds:
        rows, returned = np.arange(len(worlds)), np.zeros(len(worlds))
        batch = task.batch(system.rules, worlds, len(worlds), threads)
        state, accounts = allocate_state(task.reward, len(worlds)), accounts_of(task.reward, task.counted(batch))
        task.start(batch, worlds, rows)
        for row in rows:
            begin_row(task.reward, state, accounts, row)
        batch.play(rows)
        write_rewards(task.reward, state, accounts, rows, returned)
        returns.append(returned)
        ratings.append(task.rating(batch))
    return Evaluation(float(np.mean(returns)), float(np.std(returns)), np.size(returns)), [r for r in ratings if r is not None]


def _publish(home: Path, config: TrainConfig, learning: Learning, found: Evaluation, r: Sequence[float]) -> None:
    rated = {"end": float(np.mean(r)), **dict(zip(learning.settings.kinds, r, strict=False))} if r else {}
    study = {
        "config": config.decisive(), "seed": learning.seed, "validation_return": round(found.return_mean, 6),
        **({"validation_r": {name: round(one, 3) for name, one in rated.items()}} if rated else {}),
        "budget": {"packets": learning.packets, "decisions": learning.decisions},
    }  # fmt: skip
    controls = " and ".join(learning.policies)
    description = f"Learned {controls} by PPO inside the loop, seed {learning.seed}"
    source, system = f"vcgym train algorithm=inside_ppo on {config.env.id}", learning.system
    save_learned(home, LEARNED, system.rules, study, description, source, system.pacing)


def _tensors(learning: Learning) -> dict[str, torch.Tensor]:
    """Return the tensors of a training by name; those of an optimiser are its moments."""
    found: dict[str, torch.Tensor] = {}
    for control, policy in learning.policies.items():
        found |= {f"{control}/policy/{name}": tensor for name, tensor in policy.state_dict().items()}
        for index, moments in learning.optimisers[control].state_dict()["state"].items():
            found |= {f"{control}/optimiser/{index}/{name}": tensor for name, tensor in moments.items()}
    return found


def _save(folder: Path, learning: Learning, identity: dict[str, Any]) -> None:
    arrays = {name: tensor.detach().numpy() for name, tensor in _tensors(learning).items()}
    scalars = {"steps": learning.decisions, "rollouts": learning.rollouts, "packets": learning.packets}
    checkpoint.write(folder, learning.decisions, arrays, scalars, identity)


def _restore(newest: Path, learning: Learning, identity: dict[str, Any]) -> None:
    arrays, scalars = checkpoint.read(newest, identity)
    learning.start_moments()
    own = _tensors(learning)
    for name in [*own, *(arrays.keys() - own.keys())]:
        shapes = [None if name not in held else tuple(held[name].shape) for held in (arrays, own)]
        if shapes[0] != shapes[1] or not np.isfinite(arrays[name]).all():
            raise ValueError(f"checkpoint {newest}: {name} has the shape {shapes[0]}; allowed: {shapes[1]}, and finite values")
        own[name].detach().copy_(torch.from_numpy(arrays[name]))
    for name in ("steps", "rollouts", "packets"):
        if not isinstance(scalars.get(name), int) or not 0 <= scalars[name] < 1 << 53:
            raise ValueError(f"checkpoint {newest}: {name} is {scalars.get(name)!r}; allowed: a whole number from 0 on")
    learning.decisions, learning.rollouts, learning.packets = (scalars[name] for name in ("steps", "rollouts", "packets"))
