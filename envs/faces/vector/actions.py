"""Actions: path, lag, rate and order, in this order, less the controls that the agent does not have.

The level (a lag) stands on a log scale from 10 ms to 1 s: place x in [0, 1] is ``10 ms * 100 ** x``; the rate on one from the call's least
target to its largest. Forms:

    discrete    path: 0..paths-1. Level and rate: 0..31, x = level / 31. Order: its index
    continuous  a score in [-1, 1] per path, the largest wins (ties: the lowest index), and per order. Level and rate: x = (value + 1) / 2
    exact       path and order by index; level in whole microseconds, 0 to 30 s; rate in bit/s, 0: as it is. What a rule says, no grid
"""

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.envs.call.features.scales import LAG_RATIO_LOG, MIN_LAG_US

LEVELS = 32
EXACT_MOST_US = 30_000_000  # well below what the receiver's queue holds (41 s)
EXACT_MOST_BPS = 1_000_000_000
FORMS = ("discrete", "continuous", "exact")


def _level_us(x: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(MIN_LAG_US * np.exp(LAG_RATIO_LOG * np.clip(x, 0.0, 1.0))).astype(np.int64)


_LEVELS_US = _level_us(np.arange(LEVELS) / (LEVELS - 1))


def action_space(
    form: str, paths: int, with_path: bool, with_level: bool, with_rate: bool = False, orders: int = 0
) -> spaces.Space[Any]:  # fmt: skip
    """Return the action space of one session; `with_...`: controls that the agent has; `orders`: how many orders it chooses among."""
    if form == "continuous":
        return spaces.Box(-1.0, 1.0, (paths * with_path + with_level + with_rate + orders,), np.float32)
    sizes = {"path": paths * with_path, "level": LEVELS * with_level, "rate": LEVELS * with_rate, "order": orders}
    held = {control: size for control, size in sizes.items() if size}
    if form == "exact" and not held.keys() <= {"path", "order"}:
        most = np.array([{"level": EXACT_MOST_US, "rate": EXACT_MOST_BPS}.get(control, size - 1) for control, size in held.items()])
        return spaces.Box(np.zeros_like(most), most, dtype=np.int64) if len(most) > 1 else spaces.Box(0, int(most[0]), (), np.int64)
    if len(held) == 1:
        return spaces.Discrete(next(iter(held.values())))
    return spaces.MultiDiscrete(list(held.values()))


class Decided(NamedTuple):
    """Decoded actions, (sessions,) each; zeros for controls that the agent does not have."""

    path: NDArray[np.int64]
    level_us: NDArray[np.int64]
    rate: NDArray[np.float64]  # place on the log scale of targets, 0 to 1; in exact form bit/s
    order: NDArray[np.int64]


def decode(
    form: str, paths: int, action: NDArray[Any], with_path: bool, with_level: bool, with_rate: bool = False, orders: int = 0
) -> Decided:  # fmt: skip
    """Decode batched actions.

    Args:
        form: one of FORMS.
        paths: how many there are.
        action: (sessions, ...) of the batched action space.
        with_path: the agent holds the path.
        with_level: the agent holds the level.
        with_rate: the agent holds the rate.
        orders: among how many orders the agent chooses; 0: it does not.
    """
    none = np.zeros(len(action), np.int64)
    columns = action.reshape(len(action), -1)
    if form == "continuous":
        after_path = paths * with_path
        after_rate = after_path + with_level + with_rate
        places = (columns[:, after_path:after_rate].astype(np.float64) + 1.0) / 2.0
        return Decided(
            np.argmax(columns[:, :paths], axis=1) if with_path else none,
            _level_us(places[:, 0]) if with_level else none,
            places[:, -1] if with_rate else none.astype(np.float64),
            np.argmax(columns[:, after_rate:], axis=1) if orders else none,
        )
    following = iter(columns.astype(np.int64).T)
    path, level, rate, order = (next(following) if held else none for held in (with_path, with_level, with_rate, orders))
    if form == "exact":
        return Decided(path, level, rate.astype(np.float64), order)
    return Decided(path, _LEVELS_US[level] if with_level else none, rate / (LEVELS - 1), order)
