"""The moving state of a batch as plain arrays, and back."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.batch import CallBatch
from vcgym.envs.features import Senses
from vcgym.network.world import WorldDraw


def _arrays(prefix: str, value: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Arrays inside nested NamedTuples, with dotted names."""
    if isinstance(value, np.ndarray):
        yield prefix, value
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for name in value._fields:
            yield from _arrays(f"{prefix}.{name}", getattr(value, name))


def _living(batch: CallBatch, senses: Senses, own: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    found = {f"env.{name}": value for name, value in own.items()}
    parts = {
        "calls": batch.calls, "tables": batch.tables, "router": batch.router_state, "receiver": batch.receiver_state,
        "history": batch.history, "senses": senses, "world": batch.world.rows, "delay_us": batch.world.delay_us,
    }  # fmt: skip
    for name, part in parts.items():
        found.update(_arrays(name, part))
    return found


def _plain(value: NDArray[Any]) -> NDArray[Any]:
    """A copy without structure: records as bytes."""
    return np.ascontiguousarray(value).view(np.uint8).copy() if value.dtype.names else value.copy()


def snapshot(
    arguments: str, batch: CallBatch, senses: Senses, own: dict[str, NDArray[Any]], draws: np.random.Generator
) -> dict[str, NDArray[Any]]:  # fmt: skip
    """Everything that moves, as plain arrays by name; a drawn world goes by its name, its parameters stand in the world's rows."""
    state = {name: _plain(value) for name, value in _living(batch, senses, own).items()}
    names = "\n".join(f"{draw.pair}\t{draw.stratum}\t{draw.seed}" if draw else "" for draw in batch.draws)
    state["draws"] = np.frombuffer(names.encode(), np.uint8).copy()
    state["arguments"] = np.frombuffer(arguments.encode(), np.uint8).copy()
    inside: Any = draws.bit_generator.state["state"]
    state["generator"] = np.frombuffer(f"{inside['state']},{inside['inc']}".encode(), np.uint8).copy()
    return state


def _named(line: str) -> WorldDraw | None:
    if not line:
        return None
    pair, stratum, seed = line.split("\t")
    return WorldDraw(pair, stratum, int(seed), {})


def restore(
    state: dict[str, NDArray[Any]],
    arguments: str,
    batch: CallBatch,
    senses: Senses,
    own: dict[str, NDArray[Any]],
    draws: np.random.Generator,
) -> None:
    """Write a state of `snapshot` back.

    Raises:
        ValueError: the state of an env of other arguments, or an array is missing, unknown or of another shape or dtype.
    """
    given = state["arguments"].tobytes().decode() if "arguments" in state else "no arguments"
    if given != arguments:
        raise ValueError(f"state of another env: {given}; allowed: {arguments}")
    living = _living(batch, senses, own)
    wanted_names = set(living) | {"arguments", "draws", "generator"}
    if set(state) != wanted_names:
        raise ValueError(f"state of another env: arrays {sorted(set(state) ^ wanted_names)} do not match")
    for name, value in living.items():
        wanted = _plain(value)
        if state[name].shape != wanted.shape or state[name].dtype != wanted.dtype:
            raise ValueError(
                f"state of another env: {name} is {state[name].dtype}{state[name].shape}, allowed {wanted.dtype}{wanted.shape}"
            )
    for name, value in living.items():
        value[...] = state[name].view(value.dtype).reshape(value.shape) if value.dtype.names else state[name]
    lines = state["draws"].tobytes().decode().split("\n")
    batch.draws = [_named(line) for line in lines]
    inside, inc = state["generator"].tobytes().decode().split(",")
    draws.bit_generator.state = {**draws.bit_generator.state, "state": {"state": int(inside), "inc": int(inc)}}
