"""Training inside the loop: validation, checkpoints between rollouts, and publication as a learned system.

A checkpoint (`vcgym.agents.training.checkpoint`) holds networks, optimisers and three numbers. A killed training resumes from one and ends
with the same bytes.
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
from vcgym.agents.inside.rollout import play
from vcgym.agents.tracking.progress import BEFORE, progress
from vcgym.agents.training import checkpoint
from vcgym.agents.training.trained import Log, Trained, identity_of, newest_checkpoint
from vcgym.baselines.zoo import CARD, LEARNED, save_learned

_FORMAT = 5


def train_inside(config: TrainConfig, settings: InsidePPOConfig, seed: int, log: Log) -> Trained:
    """Train one system and write it to `config.folder`/seed-<seed>/learned.json and .safetensors.

    Raises:
        FileExistsError: the folder holds an earlier training and `config.resume` is false.
        ValueError: the newest checkpoint belongs to another training.
    """
    config.data.export()
    torch.set_num_threads(1)  # its layers are small: a second thread only waits, and would change the sums
    home = config.folder / f"seed-{seed}"
    newest = newest_checkpoint(config, seed)
    learning = Learning(config.env, settings, config.num_envs, config.steps, seed, config.env.options["threads"])
    identity = {"inside": _FORMAT, "vcgym": version("vcgym"), **identity_of(config, seed)}
    if newest is not None:
        learning.load_state_dict(checkpoint.read(newest, identity))
    validation = learning.task.worlds("validation", config.evaluation_episodes)
    with progress(f"training InsidePPO on {config.env.id}, seed {seed}: decisions", config.steps) as report:
        report(learning.decisions, "" if newest is None else BEFORE)

        def validate() -> tuple[Evaluation, list[float]]:
            found, r = _validate(learning, validation)
            metrics = {"validation/return_mean": found.return_mean, "validation/return_sd": found.return_sd}
            log(metrics | {"validation/r": float(np.mean(r))} if r else metrics, learning.decisions)
            mean = f"R of a validation call {np.mean(r):.2f}" if r else f"return of a validation call {found.return_mean:.2f}"
            report(learning.decisions, f"mean {mean}")
            return found, r

        while learning.decisions < config.steps:
            log(learning.train_step(), learning.decisions)
            if learning.rollouts % config.evaluate_every == 0:
                validate()
            if learning.rollouts % config.checkpoint_every == 0:
                checkpoint.write(checkpoint.folder_of(home), learning.decisions, learning.state_dict(), identity)
        found, r = validate()
    checkpoint.write(checkpoint.folder_of(home), learning.decisions, learning.state_dict(), identity)
    if not (home / f"{LEARNED}{CARD}").exists():
        _publish(home, config, learning, found, r)
    return Trained(home, learning.decisions, found)


def _validate(learning: Learning, kinds: Sequence[Any]) -> tuple[Evaluation, list[float]]:
    """Return the return of calls with the rules as they are ranked, and the mean R of each kind, if R is what ranks them."""
    played = [play(learning.task, learning.ranked(), worlds, np.arange(len(worlds))) for worlds in kinds]
    returns = [one.returned for one in played]
    rated = [float(one.rated.mean()) for one in played if one.rated is not None]
    return Evaluation(float(np.mean(returns)), float(np.std(returns)), np.size(returns)), rated


def _publish(home: Path, config: TrainConfig, learning: Learning, found: Evaluation, r: Sequence[float]) -> None:
    rated = {"end": float(np.mean(r)), **(dict(zip(learning.task.kinds, r, strict=True)) if len(r) > 1 else {})} if r else {}
    study = {
        "config": config.decisive(), "seed": learning.seed, "validation_return": round(found.return_mean, 6),
        **({"validation_r": {name: round(one, 3) for name, one in rated.items()}} if rated else {}),
        "budget": {"packets": learning.packets, "decisions": learning.decisions},
    }  # fmt: skip
    controls = " and ".join(learning.networks)
    description = f"Learned {controls} by PPO inside the loop, seed {learning.seed}"
    source, system = f"vcgym train algorithm=inside_ppo on {config.env.id}", learning.system
    save_learned(home, LEARNED, system.rules, study, description, source, system.pacing)
