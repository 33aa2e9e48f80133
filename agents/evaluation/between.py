"""Wrappers between a network and its environment at training, replayed on batches of observations, or refused.

A wrapper is replayed if what it does to an observation or an action follows from that alone, from statistics that no longer change, or from
the observations of the call so far; wrappers that only watch, or that change rewards or lengths of calls, leave both as they are.
"""

import copy
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import cloudpickle
import gymnasium
import numpy as np
from gymnasium import wrappers
from gymnasium.vector import VectorRewardWrapper, VectorWrapper
from numpy.typing import NDArray

_WATCH = {
    "AddWhiteNoise", "Autoreset", "DictInfoToList", "HumanRendering", "Monitor", "NormalizeReward", "ObstructView", "OrderEnforcing",
    "PassiveEnvChecker", "RecordEpisodeStatistics", "RecordVideo", "RenderCollection", "TimeLimit", "VecCheckNan", "VecMonitor",
    "VecVideoRecorder",
}  # fmt: skip
_LIBRARIES = ("gymnasium.", "stable_baselines3.")
_HINT = "; rank a function that does the same: agents.NAME=module:name"

Memory = Any
Seen = Callable[[Any, Memory], tuple[Any, Memory]]


class WrapperLayer(NamedTuple):
    """Wrapper on a batch of calls.

    Attributes:
        name: its class.
        see: returns what the network sees, and a memory of the calls, of an observation and the memory; None at the start of the calls.
        do: returns the actions that the environment gets.
    """

    name: str
    see: Seen
    do: Callable[[NDArray[Any]], NDArray[Any]] = lambda actions: actions


class Between(NamedTuple):
    """Layers from the environment outwards, its own spaces, and that of the observations behind the layers."""

    layers: tuple[WrapperLayer, ...]
    observation_space: Any
    action_space: Any
    seen_space: Any

    @property
    def names(self) -> str:
        """Return the names of the layers."""
        return " and ".join(layer.name for layer in self.layers)


def _still(see: Callable[[Any], Any]) -> Seen:
    """Return a layer's `see` without memory."""
    return lambda observations, memory: (see(observations), None)


def around(envs: Any) -> Between:
    """Return what stands between a model and the environments inside its VecEnv.

    Raises:
        ValueError: something that cannot be replayed.
    """
    outside_in: list[WrapperLayer | None] = []
    seen_space = envs.observation_space
    while hasattr(envs, "venv"):
        outside_in.append(_of_vec_env(envs))
        envs = envs.venv
    inside = _inside(envs)
    return inside._replace(layers=(*inside.layers, *(layer for layer in reversed(outside_in) if layer)), seen_space=seen_space)


def _of_vec_env(wrapper: Any) -> WrapperLayer | None:
    """Return the layer of a VecEnvWrapper of Stable-Baselines3."""
    name = type(wrapper).__name__
    if _watches(wrapper):
        return None
    if type(wrapper).__module__.startswith("stable_baselines3."):
        if name == "VecNormalize":
            return normaliser(wrapper) if wrapper.norm_obs else None
        if name == "VecFrameStack":
            return stacked(wrapper.stacked_obs.n_stack, _axis(wrapper.stacked_obs))
        if name == "VecTransposeImage":
            return WrapperLayer(name, _still(wrapper.transpose_observations))
        if name == "VecExtractDictObs":
            return part_of(wrapper.key)
    raise ValueError(f"agent was trained behind {name}, which cannot be replayed{_HINT}")


def normaliser(statistics: Any) -> WrapperLayer:
    """Return VecNormalize with statistics that no longer change."""
    return WrapperLayer("VecNormalize", _still(statistics.normalize_obs))


def part_of(key: str) -> WrapperLayer:
    """Return VecExtractDictObs: one part of an observation."""
    return WrapperLayer("VecExtractDictObs", _still(lambda observations: observations[key]))


def stacked(count: int, axes: Mapping[str, int] | int = -1) -> WrapperLayer:
    """Return VecFrameStack: the last `count` observations along an axis, of each part its own, zeros before the first."""

    def joined(name: str, frames: list[Any]) -> Any:
        return np.concatenate(frames, axis=axes if isinstance(axes, int) else axes.get(name, -1))

    return WrapperLayer("VecFrameStack", partial(_last, count, lambda first: _over(lambda _, part: np.zeros_like(part), first), joined))


def _axis(stacks: Any) -> Mapping[str, int] | int:
    """Return the axis along which Stable-Baselines3 stacks."""
    if hasattr(stacks, "sub_stacked_observations"):
        return {name: 1 if stack.channels_first else -1 for name, stack in stacks.sub_stacked_observations.items()}
    return 1 if stacks.channels_first else -1


def _inside(envs: Any) -> Between:
    """Return what stands inside a VecEnv that wraps no other."""
    if hasattr(envs, "envs") and isinstance(envs.envs, gymnasium.vector.VectorEnv):  # NativeVecEnv
        return _chain(envs.envs, VectorWrapper, _of_batch)
    if isinstance(getattr(envs, "envs", None), list):  # DummyVecEnv
        return scalar(envs.envs[0], len(envs.envs))
    described = str(envs.env_method("__str__", indices=[0])[0]) if hasattr(envs, "env_method") else type(envs).__name__
    names = [name for name in described.strip("<>").split("<")[:-1] if name not in _WATCH]
    if names:
        raise ValueError(f"agent was trained behind {', '.join(names)} in other processes, which cannot be replayed{_HINT}")
    return Between((), envs.observation_space, envs.action_space, envs.observation_space)


def scalar(env: gymnasium.Env[Any, Any], sessions: int = 1) -> Between:
    """Return what stands around one environment of `sessions` alike; of none if it is made anew.

    Raises:
        ValueError: something that cannot be replayed.
    """
    return _chain(env, gymnasium.Wrapper, partial(_of_one, sessions))


def _chain(env: Any, kind: type, layer_of: Callable[[Any], WrapperLayer | None]) -> Between:
    single = "single_" if kind is VectorWrapper else ""
    outside_in, seen_space = [], getattr(env, f"{single}observation_space")
    while isinstance(env, kind):
        outside_in.append(layer_of(env))
        env = env.env  # type: ignore[attr-defined]
    layers = tuple(layer for layer in reversed(outside_in) if layer)
    return Between(layers, getattr(env, f"{single}observation_space"), getattr(env, f"{single}action_space"), seen_space)


def _of_one(sessions: int, wrapper: Any) -> WrapperLayer | None:
    """Return the layer of a wrapper of one environment."""
    name = type(wrapper).__name__
    if _watches(wrapper) or (isinstance(wrapper, gymnasium.RewardWrapper) and _has_only(wrapper, gymnasium.RewardWrapper)):
        return None
    if type(wrapper) is wrappers.NormalizeObservation:
        if sessions != 1:
            raise ValueError(f"agent was trained behind {name}, whose statistics are those of each environment; allowed: VecNormalize")
        frozen = copy.copy(wrapper)
        frozen.update_running_mean = False
        return WrapperLayer(name, _still(partial(_each, frozen.observation)))
    if type(wrapper) is wrappers.FrameStackObservation:
        return WrapperLayer(name, partial(_last, wrapper.stack_size, partial(_filler, wrapper), lambda _, frames: np.stack(frames, axis=1)))
    if isinstance(wrapper, gymnasium.ObservationWrapper) and _has_only(wrapper, gymnasium.ObservationWrapper):
        return WrapperLayer(name, _still(partial(_each, partial(_unchanged, wrapper, "observation"))))
    if isinstance(wrapper, gymnasium.ActionWrapper) and _has_only(wrapper, gymnasium.ActionWrapper):
        return WrapperLayer(name, _still(lambda observations: observations), partial(_each, partial(_unchanged, wrapper, "action")))
    raise ValueError(f"agent was trained behind {name}, whose state cannot be replayed{_HINT}")


def _of_batch(wrapper: Any) -> None:
    """Return no layer for a wrapper of a batch that watches it; in autoreset mode SAME_STEP gymnasium has no other for observations."""
    name = type(wrapper).__name__
    if _watches(wrapper) or (isinstance(wrapper, VectorRewardWrapper) and _has_only(wrapper, VectorRewardWrapper)):
        return
    raise ValueError(f"agent was trained behind {name}, whose state cannot be replayed{_HINT}")


def _watches(wrapper: Any) -> bool:
    return type(wrapper).__name__ in _WATCH and type(wrapper).__module__.startswith(_LIBRARIES)


def _has_only(wrapper: Any, base: type) -> bool:
    """Return True if a wrapper steps and resets as its base does: another reset is that of a state."""
    return all(getattr(type(wrapper), name) is getattr(base, name) for name in ("step", "reset"))


def _unchanged(wrapper: Any, what: str, value: Any) -> Any:
    """Call a wrapper's function of one observation or action, which must leave the wrapper as it is.

    Raises:
        ValueError: the wrapper changes: it has a state, which here would be that of all calls.
    """
    before = _state(wrapper)
    result = getattr(wrapper, what)(value)
    if _state(wrapper) != before:
        raise ValueError(f"agent was trained behind {type(wrapper).__name__}, whose state cannot be replayed{_HINT}")
    return result


def _state(wrapper: Any) -> bytes | None:
    """Return the attributes of a wrapper; nothing of one of gymnasium, none of which change."""
    if type(wrapper).__module__.startswith("gymnasium.") and not hasattr(wrapper, "func"):
        return None
    return cloudpickle.dumps({name: value for name, value in vars(wrapper).items() if name != "env"})


def _each(of_one: Callable[[Any], Any], batch: Any) -> Any:
    """Apply a function of one call to each call of a batch."""
    results = [of_one(one) for one in _rows(batch)]
    if isinstance(results[0], dict):
        return {name: np.stack([one[name] for one in results]) for name in results[0]}
    return np.stack(results)


def _rows(batch: Any) -> Iterable[Any]:
    if not isinstance(batch, dict):
        return batch
    return [dict(zip(batch, one, strict=True)) for one in zip(*batch.values(), strict=True)]


def _filler(wrapper: Any, first: Any) -> Any:
    """Return what stands before the first observations in `FrameStackObservation`."""
    if wrapper.padding_type == "reset":
        return first
    return _each(lambda _: wrapper.padding_value, first)


def _last(count: int, filler: Callable[[Any], Any], join: Callable[[str, list[Any]], Any], observations: Any, memory: Memory) -> Any:
    """Return the last `count` observations in one, and as the memory."""
    memory = [*([filler(observations)] * count if memory is None else memory)[1:], observations]
    return _over(lambda name, _: join(name, [frame[name] if name else frame for frame in memory]), observations), memory


def _over(of_part: Callable[[str, Any], Any], observations: Any) -> Any:
    """Apply a function to each part of observations by name, or to observations of a single part, whose name is empty."""
    if isinstance(observations, dict):
        return {name: of_part(name, part) for name, part in observations.items()}
    return of_part("", observations)
