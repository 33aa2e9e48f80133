"""Check that a checkpoint fits a model, before anything is restored: a wrong shape or index would crash compiled code."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vcgym.agents.training.learners import Model

_NUMPY_WORDS = 624  # state size of numpy's Mersenne Twister
_EPISODES = 10_000


def require_fit(
    arrays: Mapping[str, NDArray[Any]], scalars: Mapping[str, Any], model: Model, optimisers: Mapping[str, torch.optim.Optimizer]
) -> None:  # fmt: skip
    """Raise ValueError with field, value and allowed values unless a checkpoint fits a model.

    Torch checks the arrays of the networks; `set_state` of the environment checks its own.
    """
    sessions, observation = model.n_envs, model.observation_space
    wanted = {
        "rollout/last_observation": ((sessions, *(observation.shape or ())), observation.dtype),
        "rollout/episode_starts": ((sessions,), np.dtype(bool)),
        "normaliser/return_mean": ((), np.dtype(float)),
        "normaliser/return_variance": ((), np.dtype(float)),
        "normaliser/returns": ((sessions,), np.dtype(float)),
        "monitor/returns": ((sessions,), None),
        "monitor/lengths": ((sessions,), None),
        "random/numpy": ((_NUMPY_WORDS,), np.dtype(np.uint32)),
    }
    for name, (shape, dtype) in wanted.items():
        found = arrays[name]
        if found.shape != shape or (dtype is not None and found.dtype != dtype):
            raise ValueError(f"{name} is {found.dtype}{found.shape}; allowed: {dtype or 'any type'}{shape}")
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise ValueError(f"{name} holds {found[~np.isfinite(found)][0]}; allowed: finite values")
    for name in ("steps", "updates"):
        _require_whole(name, scalars[name], 1 << 53)
    _require_whole("random_numpy.pos", scalars["random_numpy"]["pos"], _NUMPY_WORDS)
    if not isinstance(scalars["episodes"], list) or len(scalars["episodes"]) > _EPISODES:
        raise ValueError(f"episodes is no list of at most {_EPISODES}")
    _require_moments(arrays, optimisers)


def _require_whole(name: str, value: object, largest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= largest:
        raise ValueError(f"{name} is {value!r}; allowed: a whole number from 0 to {largest}")


def _require_moments(arrays: Mapping[str, NDArray[Any]], optimisers: Mapping[str, torch.optim.Optimizer]) -> None:
    """Raise ValueError for optimiser moments whose shape differs from their parameters: torch accepts any shape."""
    for name_of, optimiser in optimisers.items():
        parameters = [tuple(parameter.shape) for group in optimiser.param_groups for parameter in group["params"]]
        for name, found in arrays.items():
            if name.startswith(f"{name_of}/"):
                shape = parameters[_index(name, len(parameters))]
                if found.shape not in ((), shape):
                    raise ValueError(f"{name} has the shape {found.shape}; allowed: {shape}")


def _index(name: str, count: int) -> int:
    text = name.split("/")[1]
    if not text.isascii() or not text.isdecimal() or int(text) >= count:
        raise ValueError(f"{name} is of parameter {text!r}; allowed: 0 to {count - 1}")
    return int(text)
