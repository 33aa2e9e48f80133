"""Wrappers between a saved model of Stable-Baselines3 and its environment, which its zip does not name.

A stack of observations follows from its spaces, a normaliser from the file that `VecNormalize.save` wrote, and that such a file is missing
from the last observation of the training, which the zip holds.
"""

import io
import pickle
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from vcgym.agents.evaluation.between import Between, WrapperLayer, normaliser, part_of, stacked
from vcgym.network.traces.plain_file import read_plain

_MAX_BYTES = 1 << 26
_ARRAYS = {
    ("collections", "OrderedDict"), ("numpy", "dtype"), ("numpy", "ndarray"), ("numpy.random._pcg64", "PCG64"),
    ("numpy.random._pickle", "__bit_generator_ctor"), ("numpy.random._pickle", "__generator_ctor"),
    ("numpy.random.bit_generator", "SeedSequence"), ("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence"),
    *((f"numpy.{core}.{module}", name) for core in ("core", "_core") for module, name in (
        ("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))),
}  # fmt: skip
_STATISTICS = {
    ("stable_baselines3.common.running_mean_std", "RunningMeanStd"), ("stable_baselines3.common.vec_env.vec_normalize", "VecNormalize"),
}  # fmt: skip
_SPACES = {"Box", "Dict", "Discrete", "MultiBinary", "MultiDiscrete", "Tuple"}


class _Restricted(pickle.Unpickler):
    """Unpickler of statistics, arrays and spaces alone."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ARRAYS | _STATISTICS or (module.startswith("gymnasium.spaces.") and name in _SPACES):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it names {module}.{name}; allowed: VecNormalize, its statistics, arrays of numpy and spaces")


class Normaliser(NamedTuple):
    """File of a normaliser, and whether the user has named it; one that only lies beside the model may be of another."""

    file: Path
    is_named: bool = True


def beside(model: Path) -> Normaliser | None:
    """Return the file of a normaliser beside a zip, by the names that `CheckpointCallback`, the zoo and the docs of the library give it."""
    numbered = re.sub(r"_(\d+_steps)$", r"_vecnormalize_\1", model.stem)
    names = (f"{numbered}.pkl" if numbered != model.stem else "", f"{model.stem}_vecnormalize.pkl", "vecnormalize.pkl", "vec_normalize.pkl")
    return next((Normaliser(file, False) for name in names if name and (file := model.with_name(name)).is_file()), None)


def read_normaliser(file: Path) -> Any:
    """Read what `VecNormalize.save` wrote, without running anything that the file names.

    Raises:
        ValueError: it is something else.
        DataError: it cannot be read.
    """
    content = read_plain(file, _MAX_BYTES)
    try:
        found = _Restricted(io.BytesIO(content)).load()
        if type(found).__name__ != "VecNormalize":
            raise ValueError(f"it holds a {type(found).__name__}")
        if not isinstance(found.observation_space, spaces.Space):
            raise ValueError("it has no space of observations")
        if found.norm_obs:
            statistics = found.obs_rms if isinstance(found.obs_rms, dict) else {"": found.obs_rms}
            numbers = [np.asarray(getattr(one, name), float) for one in statistics.values() for name in ("mean", "var")]
            if not all(np.isfinite(one).all() for one in [*numbers, np.asarray([found.clip_obs, found.epsilon], float)]):
                raise ValueError("its statistics are not finite")
    except Exception as error:  # a broken pickle may raise anything
        raise ValueError(f"normalize is {file}: {type(error).__name__} {error}; allowed: a file that VecNormalize.save wrote") from error
    return found


def completed(between: Between, model: Any, file: Normaliser | None) -> Between | None:
    """Return what stood between a saved model and its environment; None: it observes something else.

    Args:
        between: what is known of it: the environment's space, or that behind the wrappers that `make_vec_env` wrote down.
        model: model of the library without an environment.
        file: file of its normaliser; None: there is none.

    Raises:
        ValueError: spaces, file and last observation contradict each other.
    """
    space, observed, layers = between.seen_space, model.observation_space, list(between.layers)
    if isinstance(space, spaces.Dict) and isinstance(observed, spaces.Box):
        names = [name for name, part in space.items() if _stack(part, observed)]
        if len(names) != 1:
            return None
        space, layers = space[names[0]], [*layers, part_of(names[0])]
    count = _stack(space, observed)
    if not count:
        return None
    statistics = read_normaliser(file.file) if file else None
    if statistics is not None and not statistics.norm_obs:
        statistics = None
    after: list[WrapperLayer] = [] if count == 1 else [stacked(count)]
    if statistics is not None:
        shapes = {_shapes(space): 0, _shapes(observed): len(after)}  # before or behind the stack
        found = _shapes(statistics.observation_space)
        if found not in shapes:
            raise ValueError(f"normalize is {file.file}, for observations of {found}; the agent has {_shapes(observed)}")  # type: ignore[union-attr]
        after.insert(shapes[found], normaliser(statistics))
    _compare_last(model, space, count, file if statistics is not None else None)
    return between._replace(layers=(*layers, *after), seen_space=observed)


def _shapes(space: spaces.Space[Any]) -> Any:
    return tuple((name, part.shape) for name, part in space.items()) if isinstance(space, spaces.Dict) else space.shape


def _stack(space: spaces.Space[Any], observed: spaces.Space[Any]) -> int:
    """Return how many observations of a space stand next to each other in that of a model; 0: it observes something else.

    Raises:
        ValueError: the shapes agree and the ranges do not.
    """
    if isinstance(space, spaces.Dict) and isinstance(observed, spaces.Dict):
        counts = {_stack(part, observed[name]) if name in observed.spaces else 0 for name, part in space.items()}
        return counts.pop() if len(counts) == 1 and space.keys() == observed.keys() else 0
    if not (isinstance(space, spaces.Box) and isinstance(observed, spaces.Box)) or len(space.shape) != len(observed.shape):
        return 0
    count, rest = divmod(observed.shape[-1], max(space.shape[-1], 1))
    if rest or observed.shape[:-1] != space.shape[:-1]:
        return 0
    ends = (np.repeat(end, count, axis=-1) for end in (space.low, space.high))
    if all(map(np.array_equal, ends, (observed.low, observed.high))) and observed.dtype == space.dtype:
        return count
    if count > 1:
        return 0
    low, high = observed.low.min(), observed.high.max()
    raise ValueError(
        f"agent observes {observed.dtype} from {low:g} to {high:g}, the environment has {space.dtype} from {space.low.min():g} to "
        f"{space.high.max():g}: it was trained behind a wrapper that the zip does not name; allowed: VecNormalize with its file, or "
        "module:name of a function that does the same"
    )


def _compare_last(model: Any, space: spaces.Space[Any], count: int, file: Normaliser | None) -> None:
    """Compare the last observation of a training with the ranges of the environment.

    Raises:
        ValueError: it is outside, and no normaliser is there; or inside, and one lies beside that the user has not named.
    """
    last = getattr(model, "_last_obs", None)
    if last is None:
        return
    parts = [(space[name], last[name]) for name in space] if isinstance(space, spaces.Dict) else [(space, last)]
    is_raw = all(_inside(part, np.asarray(seen), count) for part, seen in parts)
    if file is None and not is_raw:
        raise ValueError(
            "the last observation of the agent in training is outside the ranges of the environment, as behind VecNormalize; "
            "give the file that VecNormalize.save wrote: agent_options.NAME.normalize=FILE"
        )
    if file is not None and is_raw and not file.is_named:
        raise ValueError(
            f"{file.file} lies beside it, but the last observation of the agent in training was not normalised; "
            "say agent_options.NAME.normalize=FILE or agent_options.NAME.normalize=null"
        )


def _inside(space: Any, seen: Any, count: int) -> bool:
    low, high = (np.concatenate([end] * count, axis=-1) for end in (space.low, space.high))
    return bool((((seen >= low) & (seen <= high)) | (seen == 0)).all())
