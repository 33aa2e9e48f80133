"""Spaces as JSON, for cards and checkpoints."""

from typing import Any

import numpy as np
from gymnasium import spaces

from vcgym.network.traces.refusal import shown

_DTYPES = ("float32", "float64", "int32", "int64")
_MAX_CHOICES = 1 << 16


def describe(space: spaces.Space) -> dict[str, Any]:
    """Describe a Box, Discrete or MultiDiscrete space for `build`; bounds are strings because JSON has no infinity.

    Raises:
        TypeError: the space is of another kind.
    """
    if isinstance(space, spaces.Box):
        bounds = {"low": [str(x) for x in space.low.ravel().tolist()], "high": [str(x) for x in space.high.ravel().tolist()]}
        return {"kind": "Box", "shape": list(space.shape), "dtype": str(space.dtype), **bounds}
    if isinstance(space, spaces.Discrete) and space.start == 0:
        return {"kind": "Discrete", "n": int(space.n)}
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1 and not space.start.any():
        return {"kind": "MultiDiscrete", "nvec": space.nvec.tolist()}
    raise TypeError(f"{space} cannot be described; allowed: Box, Discrete from 0, MultiDiscrete from 0 with one axis")


def over_items(space: spaces.Space, old: int, new: int) -> spaces.Space:
    """Return the action space with `new` scores of items instead of `old`, in the first choice or the first coordinates."""
    if isinstance(space, spaces.Discrete):
        return spaces.Discrete(int(space.n) - old + new)
    if isinstance(space, spaces.MultiDiscrete):
        return spaces.MultiDiscrete([int(space.nvec[0]) - old + new, *space.nvec[1:].tolist()])
    if isinstance(space, spaces.Box) and old:
        low, high = (np.concatenate([np.repeat(end[:1], new), end[old:]]) for end in (space.low, space.high))
        return spaces.Box(low, high, dtype=space.dtype.type)
    return space


def build(description: dict[str, Any]) -> spaces.Space:
    """Rebuild a space from the result of `describe`.

    Raises:
        ValueError: the description is malformed.
    """
    kind = description.get("kind")
    try:
        if kind == "Box":
            return _box(**{name: value for name, value in description.items() if name != "kind"})
        if kind == "Discrete":
            return spaces.Discrete(_choices(description["n"]))
        if kind == "MultiDiscrete":
            return spaces.MultiDiscrete([_choices(n) for n in description["nvec"]])
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"space {shown(description)} is malformed: {shown(f'{type(error).__name__}: {error}')}") from error
    raise ValueError(f"kind of space is {shown(kind)}; allowed: Box, Discrete, MultiDiscrete")


def _box(shape: list[int], dtype: str, low: list[str], high: list[str]) -> spaces.Box:
    if dtype not in _DTYPES:
        raise ValueError(f"dtype is {shown(dtype)}; allowed: {', '.join(_DTYPES)}")
    with np.errstate(over="raise"):
        ends = [np.array([float(x) for x in side], dtype).reshape(tuple(shape)) for side in (low, high)]
    return spaces.Box(ends[0], ends[1], dtype=np.dtype(dtype).type)


def _choices(n: object) -> int:
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= _MAX_CHOICES:
        raise ValueError(f"number of choices is {shown(n)}; allowed: 1 to {_MAX_CHOICES}")
    return n
