"""Progress of the calls of a batch, and the state of an environment as plain arrays: its seeds and the decisions in the running calls.

A seed determines a world; a world and the decisions determine a call. So this is the complete state, and restoring it replays the calls.
No array of compiled code is ever read from a state: a forged state is rejected, or equals the state after other decisions.
"""

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.network.kernels import rng
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


class Progress:
    """Seeds of the sessions, and what has been decided in their running calls; see `UnderWay`.

    Args:
        action_space: space of a batch of actions, (sessions, *action).
        option_names: names of the options of a reset, in the order of a line.
    """

    def __init__(self, action_space: spaces.Space[Any], option_names: tuple[str, ...]) -> None:
        sessions, *self._action_shape = action_space.shape or ()
        self._action_type = np.dtype(np.float64 if np.issubdtype(action_space.dtype, np.floating) else np.int64)
        self._option_names = option_names
        self.seeds = np.zeros(sessions, np.uint64)
        self.episodes = np.full(sessions, -1, np.int64)
        self.steps = np.zeros(sessions, np.int64)
        self._decisions: list[NDArray[Any]] = []  # of each step since the start of the oldest call
        self._options = ["\t" * (len(option_names) - 1)] * sessions

    def seed(self, row: int, given: int | None, draws: np.random.Generator) -> None:
        """Let a session begin anew with a given seed, before its first call with any; else its next world derives from the seed it has."""
        if given is not None or self.episodes[row] < 0:
            self.seeds[row] = given if given is not None else draws.integers(1 << 31)
            self.episodes[row] = -1

    def begin(self, row: int, options: dict[str, Any]) -> int:
        """Begin the next call of a session, and return the seed of its world."""
        self.episodes[row] += 1
        self.steps[row] = 0
        self._options[row] = "\t".join(options.get(name) or "" for name in self._option_names)
        episode = int(self.episodes[row])
        return int(self.seeds[row]) if episode == 0 else int(rng.stream_key(self.seeds[row], episode, rng.SCENARIO))

    def drop_past(self) -> None:
        """Drop the actions of before the start of the oldest running call, once calls have begun."""
        del self._decisions[: len(self._decisions) - int(self.steps.max())]

    def decide(self, actions: NDArray[Any]) -> None:
        """Add the actions of a step of all sessions; `steps` counts them for those that play."""
        self._decisions.append(np.array(actions, self._action_type))

    def options_of(self, line: str) -> dict[str, Any]:
        """Return the options of a reset from a line of a state.

        Raises:
            ValueError: the line has another number of options.
        """
        values = line.split("\t") if line or self._option_names else []
        if len(values) != len(self._option_names):
            raise ValueError(f"state of an env: options is {shown(line)}; allowed: {', '.join(self._option_names)}, with tabs between")
        return {name: value for name, value in zip(self._option_names, values, strict=True) if value}

    def forget(self, seeds: NDArray[np.uint64], episodes: NDArray[np.int64]) -> None:
        """Drop all calls; the next ones are those of `episodes`."""
        self.seeds[:], self.episodes[:], self.steps[:] = seeds, episodes - (episodes >= 0), 0
        self._decisions.clear()

    def under_way(self) -> UnderWay:
        """Return the running calls as arrays."""
        steps = np.where(self.episodes < 0, 0, self.steps)
        decisions = np.zeros((int(steps.max()), len(steps), *self._action_shape), self._action_type)
        for before_end in range(len(decisions), 0, -1):
            decided = steps >= before_end
            decisions[-before_end, decided] = self._decisions[-before_end][decided]
        return UnderWay(self.seeds, self.episodes, steps, decisions, self._options)

    def snapshot(self, arguments: str, draws: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return a state as plain arrays by name, with the arguments that it must match and the generator of seeds."""
        inside: Any = draws.bit_generator.state["state"]
        calls = self.under_way()
        texts = {"arguments": arguments, "options": "\n".join(calls.options), "generator": f"{inside['state']},{inside['inc']}"}
        arrays = {name: value.copy() for name, value in calls._asdict().items() if name != "options"}
        return arrays | {name: np.frombuffer(text.encode(), np.uint8).copy() for name, text in texts.items()}

    def restored(self, state: dict[str, NDArray[Any]], arguments: str, draws: np.random.Generator) -> UnderWay:
        """Return the calls of a state of `snapshot` after checking all of it, and set the generator of seeds.

        Raises:
            ValueError: the state is of an env with other arguments; an array is missing, unknown, of another shape or dtype, or out of
                range.
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
        _require_like(found, self.under_way())
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
