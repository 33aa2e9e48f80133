"""Check that a checkpoint fits a model, before anything is restored: a wrong shape or index would crash compiled code."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vcgym.agents.training.learners import Model
from vcgym.network.traces.refusal import shown

_NUMPY_WORDS = 624  # state size of numpy's Mersenne Twister
_EPISODES = 10_000
_MOMENTS = ({"step", "exp_avg", "exp_avg_sq"}, {"step", "square_avg"})  # of Adam, and of A2C's RMSprop
_PROGRESS = "_current_progress_remaining"  # below 0 after the last rollout, which is whole
_SIGNED = "exp_avg"


def require_fit(
    arrays: Mapping[str, NDArray[Any]], scalars: Mapping[str, Any], model: Model, optimisers: Mapping[str, torch.optim.Optimizer],
    held: Mapping[str, torch.Tensor], numbers: Sequence[str],
) -> None:  # fmt: skip
    """Raise ValueError with field, value and allowed values unless a checkpoint fits a model.

    Torch checks the arrays of the networks; `set_state` of the environment checks its own.

    Args:
        arrays: arrays of the checkpoint by name.
        scalars: its other values.
        model: model to restore.
        optimisers: its optimisers by name.
        held: its tensors outside networks and optimisers by name; those of the checkpoint begin with held/.
        numbers: names of its attributes that are numbers.
    """
    sessions, observation = model.n_envs, model.observation_space
    wanted = {
        "rollout/last_observation": ((sessions, *(observation.shape or ())), observation.dtype),
        "rollout/episode_starts": ((sessions,), np.dtype(bool)),
        "normaliser/return_mean": ((), np.dtype(float)),
        "normaliser/return_variance": ((), np.dtype(float)),
        "normaliser/returns": ((sessions,), np.dtype(float)),
        "monitor/returns": ((sessions,), np.dtype(np.float32)),
        "monitor/lengths": ((sessions,), np.dtype(np.int32)),
        "random/numpy": ((_NUMPY_WORDS,), np.dtype(np.uint32)),
    }
    for name, (shape, dtype) in wanted.items():
        found = arrays[name]
        if found.shape != shape or found.dtype != dtype:
            raise ValueError(f"{name} is {found.dtype}{found.shape}; allowed: {dtype}{shape}")
    for name, tensor in held.items():
        found = arrays[f"held/{name}"]
        if found.shape != tuple(tensor.shape):
            raise ValueError(f"held/{name} has the shape {found.shape}; allowed: {tuple(tensor.shape)}")
    for name, found in arrays.items():
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise ValueError(f"{name} holds {found[~np.isfinite(found)][0]}; allowed: finite values")
    if not observation.contains(arrays["rollout/last_observation"][0]) or arrays["normaliser/return_variance"] < 0.0:
        raise ValueError("a last observation or a variance of returns is out of range; allowed: values of the space, and from 0 on")
    for name in ("steps", "updates"):
        _require_whole(name, scalars[name], 1 << 53)
    if sorted(scalars["numbers"]) != sorted(numbers):
        raise ValueError(f"numbers are {shown(sorted(scalars['numbers']))}; allowed: {', '.join(numbers)}")
    for name in numbers:
        _require_number(name, scalars["numbers"][name], lowest=-1.0 if name == _PROGRESS else 0.0)
    _require_whole("random_numpy.pos", scalars["random_numpy"]["pos"], _NUMPY_WORDS)
    _require_number("return_count", scalars["return_count"])
    if not isinstance(scalars["episodes"], list) or len(scalars["episodes"]) > _EPISODES:
        raise ValueError(f"episodes is no list of at most {_EPISODES}")
    for episode in scalars["episodes"]:
        _require_number("r of episodes", abs(episode["r"]))
        _require_whole("l of episodes", episode["l"], 1 << 53)
    for name, optimiser in optimisers.items():
        _require_moments(name, arrays, optimiser)
        _require_groups(name, scalars[name], optimiser)


def _require_number(name: str, value: object, lowest: float = 0.0) -> None:
    if not isinstance(value, float | int) or isinstance(value, bool) or not lowest <= value < np.inf:
        raise ValueError(f"{name} is {value!r}; allowed: a finite number, from {lowest:g} on")


def _require_whole(name: str, value: object, largest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= largest:
        raise ValueError(f"{name} is {value!r}; allowed: a whole number from 0 to {largest}")


def _require_moments(optimiser_name: str, arrays: Mapping[str, NDArray[Any]], optimiser: torch.optim.Optimizer) -> None:
    """Raise ValueError unless the moments of a parameter are those of its optimiser: torch accepts any names, shapes and values."""
    shapes = [tuple(parameter.shape) for group in optimiser.param_groups for parameter in group["params"]]
    found: dict[int, set[str]] = {}
    for name, moment in arrays.items():
        if name.startswith(f"{optimiser_name}/"):
            index, kind = _index(name, len(shapes)), name.split("/", 2)[2]
            found.setdefault(index, set()).add(kind)
            shape = () if kind == "step" else shapes[index]
            typed = moment.dtype == np.float32 or (kind == "step" and moment.dtype == np.int64)
            if moment.shape != shape or not typed or (kind != _SIGNED and moment.min(initial=0) < 0):
                raise ValueError(f"{name} has the shape {moment.shape}, {moment.dtype}; allowed: {shape}, float32, squares and steps >= 0")
    for index, kinds in found.items():
        if kinds not in _MOMENTS:
            raise ValueError(f"{optimiser_name}/{index} has the moments {sorted(kinds)}; allowed: {sorted(_MOMENTS[0])}")


def _require_groups(optimiser_name: str, groups: object, optimiser: torch.optim.Optimizer) -> None:
    """Raise ValueError unless the settings of an optimiser are its own, but for the learning rate."""
    own = json.loads(json.dumps(optimiser.state_dict()["param_groups"]))
    if not isinstance(groups, list) or [_without_rate(group) for group in groups] != [_without_rate(group) for group in own]:
        raise ValueError(f"{optimiser_name} has the settings {shown(groups)}; allowed: those of the model")
    for group in groups:
        _require_number(f"lr of {optimiser_name}", group["lr"])


def _without_rate(group: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "lr"}


def _index(name: str, count: int) -> int:
    text = name.split("/")[1]
    if not text.isascii() or not text.isdecimal() or int(text) >= count:
        raise ValueError(f"{name} is of parameter {text!r}; allowed: 0 to {count - 1}")
    return int(text)
