"""The state of a batch as plain arrays: its seeds and the decisions in the running calls.

A seed determines a world; a world and the decisions determine a call. So this is the complete state, and restoring it replays the calls.
No array of compiled code is ever read from a state: a forged state is rejected, or equals the state after other decisions.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.refusal import shown

_BEFORE, _SHOWN = 30, 110  # characters of arguments in an error: before the first difference, and in total
_MAX_EPISODE = 1 << 62


class UnderWay(NamedTuple):
    """Running calls; first axis: session."""

    seeds: NDArray[np.uint64]  # uint64 (sessions,), seed of the first episode since the last seeded reset
    episodes: NDArray[np.int64]  # int64 (sessions,), episodes since then; -1 before the first
    steps: NDArray[np.int64]  # int64 (sessions,), number of decisions in the call
    decisions: NDArray[Any]  # (maximum steps, sessions, *action), aligned at the last step; zeros before a session's first step
    options: list[str]  # a line per session: the options of the reset that started the call


def snapshot(arguments: str, under_way: UnderWay, draws: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Return a state as plain arrays by name.

    Args:
        arguments: arguments that a state must match.
        under_way: the calls.
        draws: the generator of seeds.
    """
    inside: Any = draws.bit_generator.state["state"]
    texts = {"arguments": arguments, "options": "\n".join(under_way.options), "generator": f"{inside['state']},{inside['inc']}"}
    arrays = {name: value.copy() for name, value in under_way._asdict().items() if name != "options"}
    return arrays | {name: np.frombuffer(text.encode(), np.uint8).copy() for name, text in texts.items()}


def restore(state: dict[str, NDArray[Any]], arguments: str, like: UnderWay, draws: np.random.Generator) -> UnderWay:
    """Return the calls of a state of `snapshot` after checking all of it, and set the generator.

    Args:
        state: result of `snapshot`.
        arguments: arguments that it must match.
        like: calls of the same shapes and types, except for the number of steps.
        draws: the generator of seeds, to be set.

    Raises:
        ValueError: the state is of an env with other arguments; an array is missing, unknown, of another shape or dtype, or out of range.
    """
    given = _text(state, "arguments")
    if given != arguments:
        same = next((n for n, (one, other) in enumerate(zip(given, arguments, strict=False)) if one != other), 0)
        start = max(0, same - _BEFORE)
        raise ValueError(f"state of another env: ...{shown(given[start:], _SHOWN)}; allowed: ...{shown(arguments[start:], _SHOWN)}")
    wanted = {*UnderWay._fields, "arguments", "generator"}
    if set(state) != wanted:
        raise ValueError(f"state of another env: arrays {shown(sorted(set(state) ^ wanted))} do not match")
    options = _text(state, "options").split("\n")
    found = UnderWay(state["seeds"], state["episodes"], state["steps"], state["decisions"], options)
    _require_like(found, like)
    inside, inc = _whole_numbers(_text(state, "generator"))
    draws.bit_generator.state = {**draws.bit_generator.state, "state": {"state": inside, "inc": inc}}
    return found


def _text(state: dict[str, NDArray[Any]], name: str) -> str:
    return state[name].tobytes().decode(errors="replace") if name in state else f"no {name}"


def _require_like(found: UnderWay, like: UnderWay) -> None:
    """Reject calls of other shapes or types, and impossible counts."""
    for name in ("seeds", "episodes", "steps", "decisions"):
        value, wanted = getattr(found, name), getattr(like, name)
        shape = wanted.shape if name != "decisions" else (*value.shape[:1], *wanted.shape[1:])
        if value.dtype != wanted.dtype or value.shape != shape:
            raise ValueError(f"state of another env: {name} is {value.dtype}{value.shape}, allowed {wanted.dtype}{shape}")
    most = 0 if (found.episodes < 0).any() else len(found.decisions)  # no decision before all sessions have started
    for name, low, high in (("episodes", -1, _MAX_EPISODE), ("steps", 0, most)):
        value = getattr(found, name)
        wrong = value[(value < low) | (value > high)]
        if wrong.size:
            raise ValueError(f"state of an env: {name} is {wrong[0]}; allowed: {low} to {high}")
    if len(found.options) != len(found.seeds):
        raise ValueError(f"state of an env: options has {len(found.options)} lines; allowed: {len(found.seeds)}")


def _whole_numbers(text: str) -> tuple[int, int]:
    """Return state and increment of numpy's PCG64."""
    numbers = [int(part) if part.isascii() and part.isdecimal() and len(part) < 40 else 1 << 128 for part in text.split(",")]
    if len(numbers) != 2 or max(numbers) >= 1 << 128:
        raise ValueError(f"state of an env: generator is {shown(text)}; allowed: two whole numbers of 128 bits")
    return numbers[0], numbers[1]
