"""Checkpoints between rollouts: a killed training resumes from one and ends with the same bytes as an uninterrupted training.

A checkpoint is a folder `step-<transitions>` with state.safetensors (all arrays), state.json (all other values) and manifest.json (the
SHA-256 of both, checked before use). It contains the model, optimisers, reward normalisation, the replay buffer, the memory of a recurrent
policy, the random states of Python, numpy, torch and the space of actions, the state of the environment, the last observation and the mask
of sessions that have just begun. What of these an algorithm has is read off its model, so each algorithm of the library has one form.
Nothing is pickled. Resuming is exact on the same platform and software with one torch thread. The environment must provide
`get_state() -> dict of arrays` and `set_state(dict)`.
"""

import json
import random
import re
import shutil
from collections import deque
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from safetensors.numpy import save as to_bytes
from sb3_contrib import ARS, RecurrentPPO
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

from vcgym.agents.published.new_folder import new_folder
from vcgym.agents.sb3 import NativeVecEnv
from vcgym.agents.training.learners import Model
from vcgym.agents.training.manifest import read_files, write_files
from vcgym.agents.training.restorable import require_fit
from vcgym.baselines.tensors import tensors_of
from vcgym.network.traces.plain_file import inside, parse_json
from vcgym.network.traces.refusal import shown

ARRAYS = "state.safetensors"
SCALARS = "state.json"
KEPT = 2
_NAME = re.compile(r"step-\d{12}")


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


def write(folder: Path, steps: int, arrays: dict[str, np.ndarray], scalars: dict[str, Any], identity: dict[str, Any]) -> Path:
    """Write `folder`/step-<transitions>, unless it exists, and remove all but the newest two.

    Args:
        folder: folder of the training's checkpoints.
        steps: transitions so far.
        arrays: arrays of the training's state by name.
        scalars: its other values, in JSON.
        identity: JSON values that must be equal when training resumes.

    Returns:
        The folder of the checkpoint.
    """
    target = folder / f"step-{steps:012d}"
    if not target.exists():
        with new_folder(target) as draft:
            write_files(draft, {ARRAYS: to_bytes(arrays), SCALARS: json.dumps({"identity": identity, **scalars}, indent=1).encode()})
    for old in _checkpoints(folder)[:-KEPT]:
        shutil.rmtree(old)
    return target


def read(checkpoint: Path, identity: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays and other values of a checkpoint.

    Raises:
        ValueError: it belongs to another training (the message names field, value and expected value), or differs from its manifest.
    """
    content_of_arrays, content_of_scalars = read_files(checkpoint, (ARRAYS, SCALARS))
    scalars = parse_json(checkpoint / SCALARS, content_of_scalars)
    found = scalars.get("identity")
    if not isinstance(found, dict):
        raise ValueError(f"{checkpoint / SCALARS}: identity is {shown(found)}; allowed: an object")
    for field in [*identity, *(found.keys() - identity.keys())]:
        if field not in found or field not in identity or found[field] != identity[field]:
            raise ValueError(
                f"checkpoint {checkpoint} is of another training: {shown(field)[1:-1]} is {shown(found.get(field, 'absent'))}, "
                f"expected {shown(identity.get(field, 'absent'))}"
            )
    return tensors_of(checkpoint / ARRAYS, content_of_arrays), scalars


def save(folder: Path, model: Model, identity: dict[str, Any]) -> Path:
    """Write the checkpoint of a model between two rollouts, see `write`."""
    return write(folder, model.num_timesteps, *_capture(model), identity)


def load(checkpoint: Path, model: Model, identity: dict[str, Any]) -> None:
    """Restore `model`, its environment and the process's random generators from `checkpoint`.

    Raises:
        ValueError: see `read`; or it does not fit the model.
    """
    arrays, scalars = read(checkpoint, identity)
    try:
        _restore(model, arrays, scalars)
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


def _capture(model: Model) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    normaliser, monitor, envs = _layers(model)
    optimisers = {name: optimiser.state_dict() for name, optimiser in _optimisers(model).items()}
    draws = np.random.get_state(legacy=False)
    assert isinstance(draws, dict)
    assert model._last_obs is not None
    assert model._last_episode_starts is not None
    arrays = {f"policy/{name}": tensor.cpu().numpy() for name, tensor in model.policy.state_dict().items()}
    for name_of, optimiser in optimisers.items():
        for index, moments in optimiser["state"].items():
            arrays |= {f"{name_of}/{index}/{name}": torch.as_tensor(moment).cpu().numpy() for name, moment in moments.items()}
    arrays |= {f"held/{name}": tensor.detach().cpu().numpy() for name, tensor in _tensors(model).items()} | _capture_buffer(model)
    arrays |= {
        "rollout/last_observation": np.asarray(model._last_obs),
        "rollout/episode_starts": model._last_episode_starts,
        "normaliser/return_mean": np.asarray(normaliser.ret_rms.mean),
        "normaliser/return_variance": np.asarray(normaliser.ret_rms.var),
        "normaliser/returns": normaliser.returns,
        "monitor/returns": monitor.episode_returns,
        "monitor/lengths": monitor.episode_lengths,
        "random/numpy": draws["state"]["key"],
        "random/torch": torch.get_rng_state().numpy(),
    }
    if model.device.type == "cuda":
        arrays["random/cuda"] = torch.cuda.get_rng_state(model.device).numpy()
    arrays |= {f"env/{name}": np.asarray(value) for name, value in envs.get_state().items()}
    scalars = {
        "steps": model.num_timesteps,
        "updates": model._n_updates,
        "numbers": {name: getattr(model, name) for name in _NUMBERS if hasattr(model, name)},
        "random_actions": model.action_space.np_random.bit_generator.state,
        **{name: optimiser["param_groups"] for name, optimiser in optimisers.items()},
        "return_count": float(normaliser.ret_rms.count),
        "random_python": random.getstate(),
        "random_numpy": {"pos": draws["state"]["pos"], "has_gauss": draws["has_gauss"], "gauss": draws["gauss"]},
        "episodes": [{"r": float(episode["r"]), "l": int(episode["l"])} for episode in model.ep_info_buffer or ()],
    }
    return {name: np.array(array, order="C") for name, array in arrays.items()}, scalars


def _restore(model: Model, arrays: dict[str, np.ndarray], scalars: dict[str, Any]) -> None:
    normaliser, monitor, envs = _layers(model)
    held = _tensors(model)
    require_fit(arrays, scalars, model, _optimisers(model), held, [name for name in _NUMBERS if hasattr(model, name)])
    model.policy.load_state_dict({name: torch.from_numpy(array) for name, array in _part(arrays, "policy").items()})
    for name_of, optimiser in _optimisers(model).items():
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for key, array in _part(arrays, name_of).items():
            index, name = key.split("/")
            moments.setdefault(int(index), {})[name] = torch.from_numpy(array)
        optimiser.load_state_dict({"state": moments, "param_groups": scalars[name_of]})
    with torch.no_grad():
        for name, tensor in held.items():
            tensor.copy_(torch.from_numpy(arrays[f"held/{name}"]))
    _restore_buffer(model, _part(arrays, "buffer"))
    model.num_timesteps = scalars["steps"]
    model._n_updates = scalars["updates"]
    for name, number in scalars["numbers"].items():
        setattr(model, name, number)
    model.action_space.np_random.bit_generator.state = scalars["random_actions"]
    model._last_obs = arrays["rollout/last_observation"]
    model._last_original_obs = arrays["rollout/last_observation"]  # observations are not normalised
    model._last_episode_starts = arrays["rollout/episode_starts"]
    model.ep_info_buffer = deque(scalars["episodes"], maxlen=model._stats_window_size)
    model.ep_success_buffer = deque(maxlen=model._stats_window_size)
    normaliser.ret_rms.mean, normaliser.ret_rms.var = arrays["normaliser/return_mean"], arrays["normaliser/return_variance"]
    normaliser.ret_rms.count = scalars["return_count"]
    normaliser.returns = arrays["normaliser/returns"]
    monitor.episode_returns, monitor.episode_lengths = arrays["monitor/returns"], arrays["monitor/lengths"]
    envs.set_state(_part(arrays, "env"))
    monitor.venv._reset_seeds()  # those of the first reset, which is over

    version, words, gauss = scalars["random_python"]
    random.setstate((version, tuple(words), gauss))
    rest = scalars["random_numpy"]
    draws = {"bit_generator": "MT19937", **rest, "state": {"key": arrays["random/numpy"], "pos": rest["pos"]}}
    np.random.set_state(draws)
    torch.set_rng_state(torch.from_numpy(arrays["random/torch"]))
    if model.device.type == "cuda":
        torch.cuda.set_rng_state(torch.from_numpy(arrays["random/cuda"]), model.device)


def _optimisers(model: Model) -> dict[str, torch.optim.Optimizer]:
    """Return the optimisers, keyed by the name of their saved state."""
    return {key: attrgetter(name)(model) for name in model._get_torch_save_params()[0] if (key := _OPTIMISERS.get(name))}


_OPTIMISERS = {
    "policy.optimizer": "optimiser", "actor.optimizer": "optimiser_actor", "critic.optimizer": "optimiser_critic",
    "ent_coef_optimizer": "optimiser_entropy",
}  # fmt: skip
_NUMBERS = ("_current_progress_remaining", "_n_calls", "_episode_num", "exploration_rate")  # the others with a replay buffer alone
_BUFFER = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


def _tensors(model: Model) -> dict[str, torch.Tensor]:
    """Return a model's tensors outside networks and optimisers: entropy weight, ARS's weights, the memory of a recurrent policy."""
    found = {name: getattr(model, name) for name in model._get_torch_save_params()[1]}
    if isinstance(model, ARS):
        found["weights"] = model.weights
    if isinstance(model, RecurrentPPO):
        memory: Any = model._last_lstm_states
        found |= {f"memory_{part}": tensor for part, tensor in enumerate((*memory.pi, *memory.vf))}
    return found


def _capture_buffer(model: Model) -> dict[str, np.ndarray]:
    """Return the transitions of the replay buffer; nothing for an algorithm without one."""
    if not isinstance(model, OffPolicyAlgorithm):
        return {}
    buffer = model.replay_buffer
    assert buffer is not None
    position = {"buffer/position": np.array([buffer.pos, buffer.full], np.int64)}
    return position | {f"buffer/{name}": getattr(buffer, name)[: buffer.size()] for name in _BUFFER}


def _restore_buffer(model: Model, arrays: dict[str, np.ndarray]) -> None:
    if not isinstance(model, OffPolicyAlgorithm):
        return
    buffer = model.replay_buffer
    assert buffer is not None
    position, full = (int(one) for one in arrays["position"])
    if not 0 <= position < buffer.buffer_size or full not in (0, 1):
        raise ValueError(f"buffer/position is {arrays['position']}; allowed: 0 to {buffer.buffer_size - 1}, and 1 if it is full")
    rows = buffer.buffer_size if full else position
    for name in _BUFFER:
        held = getattr(buffer, name)
        if arrays[name].shape != (rows, *held.shape[1:]):
            raise ValueError(f"buffer/{name} has the shape {arrays[name].shape}; allowed: {(rows, *held.shape[1:])}")
        held[:rows] = arrays[name]
    buffer.pos, buffer.full = position, bool(full)


def _part(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(f"{prefix}/"): array for name, array in arrays.items() if name.startswith(f"{prefix}/")}
