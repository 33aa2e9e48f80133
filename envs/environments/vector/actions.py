"""Actions: one column per control of the agent, in the order of the table of controls (`vcgym.baselines.controls.control`).

A control is a choice among options (path, order) or a quantity on a log scale (playout, rate). Forms:

    discrete    choice: 0..options-1. Quantity: a in 0..31, its position x = a / 31
    continuous  choice: a score in [-1, 1] per option, the largest wins (ties: the lowest index). Quantity: x = (value + 1) / 2
    exact       choice: index. Quantity: whole number in the unit of rules (us, bit/s; rate 0: unchanged), not discretised
    relative    path: 0 stays, 1 takes the other path with the smallest expected delay (`vcgym.envs.call.features.relative`). Playout: a
                headroom above the newest delay (`vcgym.envs.call.paths.effects`), 5 ms * 32 ** (a / 7). Others as in discrete
    relative_discrete    the columns of relative as one number, the last column counting fastest
    relative_continuous  path: one number, above 0 takes the other path. Playout: a headroom of 5 ms * 32 ** x. Others as in continuous

A position x in 0..1 stands for ``low * (high / low) ** x``; for playout the ends are 10 ms and 1 s, for the rate those of the call.
"""

import functools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.baselines.controls.control import CONTROLS, Control, LogScale, OneOf
from vcgym.envs.call.features.relative import slot_count
from vcgym.envs.environments.vector.settings import RELATIVE

LEVELS = 32
FORMS = ("discrete", "continuous", "exact", *RELATIVE)

Options = Mapping[Control, int]
"""Control of the agent -> number of its options; 1 for a quantity."""
Decisions = dict[Control, NDArray[Any]]
"""Control -> (sessions,) decisions: index of an option; a quantity in the unit of rules, or if its scale is the call's, its position."""


def options_of(controls: Iterable[Control], paths: int) -> Options:
    """Return the number of options of each control of an agent, in the order of the table."""
    chosen = [(control, CONTROLS[control].decision) for control in sorted(controls, key=list(Control).index)]
    return {control: (len(of.names) or paths) if isinstance(of, OneOf) else 1 for control, of in chosen}


def _scale(control: Control) -> LogScale | None:
    """Return the scale of a quantity; None for a choice."""
    found = CONTROLS[control].decision
    return found if isinstance(found, LogScale) else None


def action_counts(controls: Iterable[Control], paths: int, form: str = "discrete") -> dict[Control, int]:
    """Return the number of actions of each control of an agent in form discrete or relative."""
    return {control: _count(form, control, options) for control, options in options_of(controls, paths).items()}


def _count(form: str, control: Control, options: int) -> int:
    if scale := _scale(control):
        return len(scale.relative) if form in RELATIVE and scale.relative else LEVELS
    return slot_count(options) if form in RELATIVE and control is Control.PATH else options


HEADROOMS_US = np.array(getattr(_scale(Control.PLAYOUT), "relative", ()))


def action_space(form: str, options: Options) -> spaces.Space[Any]:
    """Return the action space of one session."""
    if form in ("continuous", "relative_continuous"):
        return spaces.Box(-1.0, 1.0, (sum(_widths(form, options)),), np.float32)
    if form == "exact" and any(map(_scale, options)):
        high = np.array([scale.exact_max if (scale := _scale(control)) else count - 1 for control, count in options.items()])
        return spaces.Box(np.zeros_like(high), high, dtype=np.int64) if len(high) > 1 else spaces.Box(0, int(high[0]), (), np.int64)
    sizes = _sizes(form, options)
    return spaces.Discrete(math.prod(sizes)) if len(sizes) == 1 or form == "relative_discrete" else spaces.MultiDiscrete(sizes)


def _sizes(form: str, options: Options) -> list[int]:
    return [_count(form, control, count) for control, count in options.items()]


def _widths(form: str, options: Options) -> list[int]:
    """Return the numbers of each control in a continuous form."""
    return [1 if form == "relative_continuous" and control is Control.PATH else count for control, count in options.items()]


def decode(form: str, options: Options, action: NDArray[Any], slots: NDArray[np.int64] | None = None) -> Decisions:
    """Decode batched actions.

    Args:
        form: one of FORMS.
        options: see `Options`.
        action: (sessions, ...) of the batched action space.
        slots: (sessions, slots), for the relative forms: the path in each slot.
    """
    columns = action.reshape(len(action), -1)
    if form in ("continuous", "relative_continuous"):
        parts = np.split(columns, np.cumsum(_widths(form, options))[:-1], axis=1)
        return {control: _of_scores(control, scores, slots) for control, scores in zip(options, parts, strict=True)}
    if form == "relative_discrete":
        columns = np.stack(np.unravel_index(columns[:, 0], _sizes(form, options)), axis=1)
    decided = dict(zip(options, columns.astype(np.int64).T, strict=True))
    return decided if form == "exact" else {control: _of_index(control, index, slots) for control, index in decided.items()}


def _of_scores(control: Control, scores: NDArray[Any], slots: NDArray[np.int64] | None) -> NDArray[Any]:
    if scale := _scale(control):
        x = (scores[:, 0].astype(np.float64) + 1.0) / 2.0
        return _on(scale._replace(low=scale.relative[0], high=scale.relative[-1]) if slots is not None and scale.relative else scale, x)
    if slots is not None and control is Control.PATH:
        return slots[np.arange(len(slots)), np.minimum(scores[:, 0] > 0.0, slots.shape[1] - 1)]
    return np.argmax(scores, axis=1)


def _of_index(control: Control, index: NDArray[np.int64], slots: NDArray[np.int64] | None) -> NDArray[Any]:
    if scale := _scale(control):
        return np.array(scale.relative)[index] if slots is not None and scale.relative else _levels(scale)[index]
    return slots[np.arange(len(slots)), index] if slots is not None and control is Control.PATH else index


@functools.cache
def _levels(scale: LogScale) -> NDArray[Any]:
    return _on(scale, np.arange(LEVELS) / (LEVELS - 1))


def _on(scale: LogScale, x: NDArray[np.float64]) -> NDArray[Any]:
    """Return the quantities at positions on a scale; on a scale of the call, the positions."""
    return np.rint(scale.low * np.exp(math.log(scale.high / scale.low) * np.clip(x, 0.0, 1.0))).astype(np.int64) if scale.low else x
