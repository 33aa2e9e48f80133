"""Training with an algorithm of `learners` on the native vector environment: validation, checkpoints and publication.

The hydra script and the sweep both call `train`; the caller chooses where metrics are logged.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.utils import get_device, safe_mean

from vcgym.agents.config.algorithms import InsidePPOConfig, LibraryConfig, OfflineConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.evaluation.evaluate import Evaluation, evaluate
from vcgym.agents.inside.learner import Learning
from vcgym.agents.networks.policy import AgentPolicy
from vcgym.agents.offline.recorded import require_set
from vcgym.agents.published.export import publish
from vcgym.agents.published.new_folder import new_folder
from vcgym.agents.published.spaces import describe
from vcgym.agents.tracking.progress import BEFORE, OnProgress, progress
from vcgym.agents.training import checkpoint
from vcgym.agents.training.inside import train_inside
from vcgym.agents.training.learners import Model, build_model, name_of, require_learnable, snapshot
from vcgym.agents.training.offline import train_offline
from vcgym.agents.training.trained import Log, Trained, identity_of, newest_checkpoint

_VALIDATION_SEED = 0
_CHECKPOINT_FORMAT = 8
ZIP = "agent.zip"
"""File of an agent of the library, in the folder of the agent."""


def require_trainable(config: TrainConfig) -> None:
    """Raise early the errors that would occur during training, by building one session of each split used.

    Raises:
        FileExistsError: see `train`.
        ValueError: an argument of the environment is out of range, agents do not support its actions or have nothing to decide, or the
            device does not exist.
        DataError: data is missing or broken.
    """
    _require_device(config)
    for seed in config.seeds:
        newest_checkpoint(config, seed)
    if isinstance(config.algorithm, InsidePPOConfig):
        alone = config.env.model_copy(update={"options": config.env.options | {"worlds": 1}})
        Learning(alone, config.algorithm, config.algorithm.replicas, 1, 0)
        return
    if isinstance(config.algorithm, OfflineConfig):
        require_set(config.algorithm.dataset, config.env)
        return
    for split in ("train", "validation"):
        envs = make_envs(config.env, 1, split)
        try:
            require_learnable(config.algorithm, config.env, envs)
        finally:
            envs.close()


def train(config: TrainConfig, seed: int, log: Log = lambda metrics, steps: None) -> Trained:
    """Train one agent and publish it under `config.folder`/seed-<seed>/agent; inside the loop, as a system in `config.folder`/seed-<seed>.

    Raises:
        FileExistsError: the folder holds an earlier training and `config.resume` is false.
        ValueError: the newest checkpoint belongs to another training, or the device does not exist.
    """
    _require_device(config)
    if isinstance(config.algorithm, InsidePPOConfig):
        return train_inside(config, config.algorithm, seed, log)
    if isinstance(config.algorithm, OfflineConfig):
        return train_offline(config, config.algorithm, seed, log)
    config.data.export()
    torch.set_num_threads(config.threads)
    home = config.folder / f"seed-{seed}"
    newest = newest_checkpoint(config, seed)
    model = build_model(config, seed)
    validation_envs = make_envs(config.env, config.evaluation_episodes, "validation")
    try:
        identity = _identity(config, seed, model)
        if newest is not None:
            checkpoint.load(newest, model, identity)
        model.set_logger(Logger(None, [_Forward(log)]))
        rounded = 1 if isinstance(config.algorithm, LibraryConfig) else config.rollout
        planned = -(-config.steps // rounded) * rounded
        title = f"training {name_of(config.algorithm)} on {config.env.id}, seed {seed}: decisions"
        with progress(title, planned) as report_progress:
            report_progress(model.num_timesteps, "" if newest is None else BEFORE)
            callback = _BetweenRollouts(config, checkpoint.folder_of(home), identity, validation_envs, log, report_progress)
            model.learn(max(config.steps - model.num_timesteps, 0), callback=callback, reset_num_timesteps=False)
            validation = callback.evaluate()
        checkpoint.save(checkpoint.folder_of(home), model, identity)
        if not (home / "agent").exists():
            _publish(home / "agent", model, config, seed)
        return Trained(home / "agent", model.num_timesteps, validation)
    finally:
        validation_envs.close()
        assert model.env is not None
        model.env.close()


def _publish(folder: Path, model: Model, config: TrainConfig, seed: int) -> None:
    """Write a set network with its card, or the zip of an algorithm of the library, which `agents.NAME=.../agent.zip` ranks."""
    agent = snapshot(model, config)
    if isinstance(agent, AgentPolicy):
        algorithm, steps = name_of(config.algorithm), model.num_timesteps
        publish(folder, agent, algorithm=algorithm, steps=steps, seed=seed, config_hash=config.digest())
        return
    with new_folder(folder) as draft:
        model.save(draft / ZIP)


def _require_device(config: TrainConfig) -> None:
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is 'cuda', but torch finds no GPU; allowed: 'auto' or 'cpu'")


def _identity(config: TrainConfig, seed: int, model: Model) -> dict[str, Any]:
    """Return the values that must be equal for a resumed training to equal an uninterrupted one."""
    parts: dict[str, Any] = {"format": _CHECKPOINT_FORMAT, "vcgym": version("vcgym"), "device": get_device(config.device).type}
    parts |= {"observation_space": describe(model.observation_space), "action_space": describe(model.action_space)}
    return parts | identity_of(config, seed)


class _Forward(KVWriter):
    """Writer that passes SB3's metrics of each rollout to `log`."""

    def __init__(self, log: Log):
        self.log = log

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        self.log({name: float(value) for name, value in key_values.items()}, step)

    def close(self) -> None:
        pass


class _BetweenRollouts(BaseCallback):
    """Callback between rollouts: evaluates, then saves a checkpoint, each at its interval."""

    model: Model

    def __init__(
        self, config: TrainConfig, folder: Path, identity: dict[str, Any], validation_envs: Any, log: Log, report_progress: OnProgress
    ) -> None:
        super().__init__()
        self.config, self.folder, self.identity = config, folder, identity
        self.validation_envs, self.log, self.report_progress = validation_envs, log, report_progress

    def evaluate(self) -> Evaluation:
        result = evaluate(snapshot(self.model, self.config), self.validation_envs, _VALIDATION_SEED)
        self.log({"validation/return_mean": result.return_mean, "validation/return_sd": result.return_sd}, self.num_timesteps)
        self.report_progress(self.num_timesteps, f"mean return of a validation call {result.return_mean:.3f}")
        return result

    def _on_training_start(self) -> None:
        self.seen = self.num_timesteps

    def _on_rollout_start(self) -> None:
        if self._passed(self.config.evaluate_every):
            self.evaluate()
        if self._passed(self.config.checkpoint_every):
            checkpoint.save(self.folder, self.model, self.identity)
        self.seen = self.model.num_timesteps

    def _passed(self, rollouts: int) -> bool:
        """Return True if a multiple of so many rollouts was passed since rollouts last began."""
        every = rollouts * self.config.rollout
        return self.model.num_timesteps // every > self.seen // every

    def _on_rollout_end(self) -> None:
        episodes = self.model.ep_info_buffer
        mean = f"mean return of a call {safe_mean([episode['r'] for episode in episodes]):.3f}" if episodes else "no call has ended yet"
        self.report_progress(self.num_timesteps, mean)

    def _on_step(self) -> bool:
        return True
