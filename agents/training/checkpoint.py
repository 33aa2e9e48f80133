"""Checkpoints between rollouts: a killed training resumes from one and ends with the same bytes as an uninterrupted training.

A checkpoint is a folder `step-<transitions>` with state.pt, one nested dict of tensors and plain values, and training.json: what training
it is of, and the SHA-256 of the state. The state has the model's networks and optimisers, reward normalisation, the replay buffer, the
memory of a recurrent policy, the random states of Python, numpy, torch and the space of actions, the state of the environment, the last
observation and the mask of sessions that have just begun. Torch reads it as weights alone, so nothing that it holds can run. Resuming is
exact on the same platform and software with one torch thread. The environment must provide `get_state() -> dict of arrays` and
`set_state(dict)`.
"""

import hashlib
import io
import json
import random
import re
import shutil
import sys
from collections import deque
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from sb3_contrib import ARS, RecurrentPPO
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

from vcgym.agents.published.new_folder import new_folder
from vcgym.agents.sb3 import NativeVecEnv
from vcgym.agents.tracking.same_study import require_same
from vcgym.agents.training.learners import Model
from vcgym.network.traces.plain_file import inside, read_json, read_plain
from vcgym.network.traces.refusal import shown

STATE = "state.pt"
CARD = "training.json"
KEPT = 2
MAX_BYTES = 1 << 34  # large because of SAC's replay buffer
_NAME = re.compile(r"step-\d{12}")
# Attributes of models that are numbers; the last three only of those with a replay buffer.
_NUMBERS = ("num_timesteps", "_n_updates", "_current_progress_remaining", "_n_calls", "_episode_num", "exploration_rate")
_TRANSITION = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


def folder_of(home: Path) -> Path:
    """Return the folder of the checkpoints of a training in `home`, the folder of its seed; old ones are removed from it.

    Raises:
        DataError: a link leads out of the folder of the study.
    """
    return inside(home.parent, f"{home.name}/checkpoints")


def newest(folder: Path) -> Path | None:
    """Return the checkpoint of `folder` with the most transitions, or None."""
    return max(_checkpoints(folder), default=None)


def _checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints of `folder`, those with the fewest transitions first; a link is none."""
    return sorted(path for path in folder.glob("step-*") if _NAME.fullmatch(path.name) and not path.is_symlink())


def write(folder: Path, steps: int, state: dict[str, Any], identity: dict[str, Any]) -> Path:
    """Write `folder`/step-<transitions>, unless it exists, and remove all but the newest two.

    Args:
        folder: folder of the training's checkpoints.
        steps: transitions so far.
        state: nested dict of arrays, tensors, numbers and texts.
        identity: JSON values that must be equal when training resumes.

    Returns:
        The folder of the checkpoint.
    """
    target = folder / f"step-{steps:012d}"
    if not target.exists():
        content = io.BytesIO()
        torch.save(_plain(state), content)
        card = {"sha256": hashlib.sha256(content.getvalue()).hexdigest(), "identity": identity}
        with new_folder(target) as draft:
            (draft / STATE).write_bytes(content.getvalue())
            (draft / CARD).write_text(json.dumps(card, indent=1) + "\n")
    for old in _checkpoints(folder)[:-KEPT]:
        shutil.rmtree(old)
    return target


def read(checkpoint: Path, identity: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a checkpoint; its arrays are tensors.

    Raises:
        ValueError: it belongs to another training (the message names field, value and expected value), or is damaged.
    """
    card = read_json(checkpoint / CARD)
    require_same(checkpoint, "training", card.get("identity"), identity)
    content = read_plain(checkpoint / STATE, MAX_BYTES)
    if (found := hashlib.sha256(content).hexdigest()) != card.get("sha256"):
        raise ValueError(f"{checkpoint / STATE}: SHA-256 is {found}; allowed: {shown(card.get('sha256'))}, as {CARD} says")
    try:
        state: dict[str, Any] = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds
        allowed = "tensors and plain values, which torch reads as weights alone"
        raise ValueError(f"{checkpoint / STATE} cannot be read: {type(error).__name__}; allowed: {allowed}") from error
    return state


def save(folder: Path, model: Model, identity: dict[str, Any]) -> Path:
    """Write the checkpoint of a model between two rollouts, see `write`."""
    return write(folder, model.num_timesteps, _capture(model), identity)


def load(checkpoint: Path, model: Model, identity: dict[str, Any]) -> None:
    """Restore `model`, its environment and the process's random generators from `checkpoint`.

    Raises:
        ValueError: see `read`; or it does not fit the model.
    """
    state = read(checkpoint, identity)
    try:
        _restore(model, state)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError) as error:
        raise ValueError(f"checkpoint {checkpoint} does not fit: {type(error).__name__} {shown(str(error), 160)}") from error


@runtime_checkable
class Resumable(Protocol):
    """Environment whose state can be saved and restored at any step."""

    def get_state(self) -> dict[str, np.ndarray]: ...

    def set_state(self, state: dict[str, np.ndarray]) -> None: ...


def _layers(model: Model) -> tuple[VecNormalize, VecMonitor, Resumable]:
    normaliser = model.env
    assert isinstance(normaliser, VecNormalize)
    monitor = normaliser.venv
    assert isinstance(monitor, VecMonitor)
    assert isinstance(monitor.venv, NativeVecEnv)
    envs = monitor.venv.envs.unwrapped
    if not isinstance(envs, Resumable):
        raise TypeError(f"{envs} has no get_state and set_state; a training on it cannot be checkpointed")
    return normaliser, monitor, envs


def _capture(model: Model) -> dict[str, Any]:
    normaliser, monitor, envs = _layers(model)
    scale = normaliser.ret_rms
    return {
        "parameters": model.get_parameters(),
        "tensors": _tensors(model),
        "numbers": {name: getattr(model, name) for name in _NUMBERS if hasattr(model, name)},
        "replay": _replay(model),
        "rollout": {"last_observation": model._last_obs, "episode_starts": model._last_episode_starts},
        "episodes": [{"r": float(episode["r"]), "l": int(episode["l"])} for episode in model.ep_info_buffer or ()],
        "normaliser": {"mean": float(scale.mean), "var": float(scale.var), "count": float(scale.count), "returns": normaliser.returns},
        "monitor": {"returns": monitor.episode_returns, "lengths": monitor.episode_lengths},
        "env": envs.get_state(),
        "random": {
            "python": random.getstate(),
            "numpy": np.random.get_state(legacy=False),
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state(model.device) if model.device.type == "cuda" else None,
            "actions": model.action_space.np_random.bit_generator.state,
        },
    }


def _restore(model: Model, state: dict[str, Any]) -> None:
    normaliser, monitor, envs = _layers(model)
    model.set_parameters(state["parameters"], device=model.device)
    with torch.no_grad():
        for name, tensor in _tensors(model).items():
            tensor.copy_(state["tensors"][name])
    for name, number in state["numbers"].items():
        setattr(model, name, number)
    if isinstance(model, OffPolicyAlgorithm):
        assert model.replay_buffer is not None
        model.replay_buffer.pos, model.replay_buffer.full = state["replay"]["position"]
        for name, held in _replay(model)["transitions"].items():
            held[:] = state["replay"]["transitions"][name].numpy()
    rollout, scale, counts = (_arrays(state[name]) for name in ("rollout", "normaliser", "monitor"))
    model._last_obs = model._last_original_obs = rollout["last_observation"]  # observations are not normalised
    model._last_episode_starts = rollout["episode_starts"]
    model.ep_info_buffer = deque(state["episodes"], maxlen=model._stats_window_size)
    model.ep_success_buffer = deque(maxlen=model._stats_window_size)
    normaliser.returns = scale.pop("returns")
    vars(normaliser.ret_rms).update({name: np.float64(value) for name, value in scale.items()})
    monitor.episode_returns, monitor.episode_lengths = counts["returns"], counts["lengths"]
    envs.set_state(_arrays(state["env"]))
    monitor.venv._reset_seeds()  # those of the first reset, which is over
    random.setstate(state["random"]["python"])
    np.random.set_state(_arrays(state["random"]["numpy"]))
    model.action_space.np_random.bit_generator.state = state["random"]["actions"]
    torch.set_rng_state(state["random"]["torch"])
    if model.device.type == "cuda":
        torch.cuda.set_rng_state(state["random"]["cuda"], model.device)


def _tensors(model: Model) -> dict[str, torch.Tensor]:
    """Return a model's tensors outside networks and optimisers: entropy weight, ARS's weights, the memory of a recurrent policy."""
    found = {name: getattr(model, name) for name in model._get_torch_save_params()[1]}
    if isinstance(model, ARS):
        found["weights"] = model.weights
    if isinstance(model, RecurrentPPO):
        memory: Any = model._last_lstm_states
        found |= {f"memory_{part}": tensor for part, tensor in enumerate((*memory.pi, *memory.vf))}
    return found


def _replay(model: Model) -> dict[str, Any]:
    """Return the transitions in the replay buffer and its position; nothing for an algorithm without one."""
    if not isinstance(model, OffPolicyAlgorithm):
        return {}
    buffer = model.replay_buffer
    assert buffer is not None
    return {"position": (buffer.pos, buffer.full), "transitions": {name: getattr(buffer, name)[: buffer.size()] for name in _TRANSITION}}


def _plain(value: Any) -> Any:
    """Return a nested dict with tensors in place of arrays.

    Its bytes follow from its content alone: a pickle writes a text or a tensor that occurs twice, as the same object, only once.
    """
    if isinstance(value, dict):
        return {_plain(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.array(value, order="C"))
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone()
    return sys.intern(value) if isinstance(value, str) else value


def _arrays(value: Any) -> Any:
    """Return a nested dict with arrays in place of tensors."""
    if isinstance(value, dict):
        return {key: _arrays(inner) for key, inner in value.items()}
    return value.numpy() if isinstance(value, torch.Tensor) else value
