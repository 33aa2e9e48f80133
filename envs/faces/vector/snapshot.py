"""The moving state of a batch as plain arrays, and back."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.refusal import shown

Check = Callable[[dict[str, NDArray[Any]]], None]

_BEFORE, _SHOWN = 30, 110  # characters of arguments that an error repeats: before the first that differs, and in all


def _arrays(prefix: str, value: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays inside nested NamedTuples, with dotted names."""
    if isinstance(value, np.ndarray):
        yield prefix, value
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for name in value._fields:
            yield from _arrays(f"{prefix}.{name}", getattr(value, name))


def _flat(living: dict[str, Any]) -> dict[str, NDArray[Any]]:
    return {name: value for prefix, part in living.items() for name, value in _arrays(prefix, part)}


def _plain(value: NDArray[Any]) -> NDArray[Any]:
    """Return a copy without structure: records as bytes."""
    return np.ascontiguousarray(value).view(np.uint8).copy() if value.dtype.names else value.copy()


def snapshot(arguments: str, living: dict[str, Any], worlds: list[str], draws: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Return all mutable state as plain arrays by name.

    Args:
        arguments: what a state must agree on.
        living: arrays, or nested NamedTuples of them, by name.
        worlds: a line for each session that names its world.
        draws: the generator of seeds.
    """
    state = {name: _plain(value) for name, value in _flat(living).items()}
    state["draws"] = np.frombuffer("\n".join(worlds).encode(), np.uint8).copy()
    state["arguments"] = np.frombuffer(arguments.encode(), np.uint8).copy()
    inside: Any = draws.bit_generator.state["state"]
    state["generator"] = np.frombuffer(f"{inside['state']},{inside['inc']}".encode(), np.uint8).copy()
    return state


def restore(
    state: dict[str, NDArray[Any]], arguments: str, living: dict[str, Any], draws: np.random.Generator, check: Check
) -> list[str]:  # fmt: skip
    """Write a state of `snapshot` back, once all of it has been checked; return its names of worlds.

    Args:
        state: of `snapshot`.
        arguments: what it must agree on.
        living: arrays to be written, or nested NamedTuples of them, by name.
        draws: the generator of seeds, to be set.
        check: raises ValueError on arrays, by name, whose values are out of range.

    Raises:
        ValueError: the state of an env of other arguments; an array is missing, unknown, of another shape or dtype, or out of range.
    """
    found = state["arguments"].tobytes().decode(errors="replace") if "arguments" in state else "no arguments"
    if found != arguments:
        same = next((n for n, (one, other) in enumerate(zip(found, arguments, strict=False)) if one != other), 0)
        start = max(0, same - _BEFORE)
        raise ValueError(f"state of another env: ...{shown(found[start:], _SHOWN)}; allowed: ...{shown(arguments[start:], _SHOWN)}")
    arrays = _flat(living)
    wanted_names = set(arrays) | {"arguments", "draws", "generator"}
    if set(state) != wanted_names:
        raise ValueError(f"state of another env: arrays {shown(sorted(set(state) ^ wanted_names))} do not match")
    for name, value in arrays.items():
        wanted = _plain(value)
        if state[name].shape != wanted.shape or state[name].dtype != wanted.dtype:
            raise ValueError(
                f"state of another env: {name} is {state[name].dtype}{state[name].shape}, allowed {wanted.dtype}{wanted.shape}"
            )
    given = {
        name: state[name].view(value.dtype).reshape(value.shape) if value.dtype.names else state[name] for name, value in arrays.items()
    }
    check(given)
    for name, value in arrays.items():
        value[...] = given[name]
    inside, inc = state["generator"].tobytes().decode().split(",")
    draws.bit_generator.state = {**draws.bit_generator.state, "state": {"state": int(inside), "inc": int(inc)}}
    return state["draws"].tobytes().decode().split("\n")
