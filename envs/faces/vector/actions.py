"""Actions: path, lag, rate and order, in this order, without the controls that the agent does not have.

The lag (for a count buffer: the target) is on a log scale from 10 ms to 1 s: x in [0, 1] is ``10 ms * 100 ** x``. The rate is on a log
scale from the call's minimum target to its maximum. Forms:

    discrete    path: 0..paths-1. Lag and rate: a in 0..31, x = a / 31. Order: its index
    continuous  path and order: a score in [-1, 1] each, the largest wins (ties: the lowest index). Lag and rate: x = (value + 1) / 2
    exact       path and order: index. Lag: whole microseconds, 0 to 30 s. Rate: bit/s, 0: unchanged. Decisions of rules, not discretised
    relative    path: 0 stays, 1 takes the other path with the smallest expected delay (`vcgym.envs.call.features.relative`). Lag: a
                headroom above the newest delay (`vcgym.envs.call.headroom`), 5 ms * 32 ** (a / 7). Rate and order as in discrete
"""

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.envs.call.features.relative import slot_count
from vcgym.envs.call.features.scales import LAG_RATIO_LOG, MIN_LAG_US

LEVELS = 32
EXACT_MAX_US = 30_000_000  # well below the capacity of the receiver's queue (41 s)
EXACT_MAX_BPS = 1_000_000_000
FORMS = ("discrete", "continuous", "exact", "relative")
HEADROOMS_US = np.rint(5000.0 * 32.0 ** (np.arange(8) / 7)).astype(np.int64)  # 5 to 160 ms


def _lag_us(x: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(MIN_LAG_US * np.exp(LAG_RATIO_LOG * np.clip(x, 0.0, 1.0))).astype(np.int64)


_LAGS_US = _lag_us(np.arange(LEVELS) / (LEVELS - 1))


def action_space(
    form: str, paths: int, with_path: bool, with_lag: bool, with_rate: bool = False, orders: int = 0
) -> spaces.Space[Any]:  # fmt: skip
    """Return the action space of one session; `with_...`: controls of the agent; `orders`: number of schedulers it chooses among."""
    if form == "continuous":
        return spaces.Box(-1.0, 1.0, (paths * with_path + with_lag + with_rate + orders,), np.float32)
    choices, lags = (slot_count(paths), len(HEADROOMS_US)) if form == "relative" else (paths, LEVELS)
    sizes = {"path": choices * with_path, "lag": lags * with_lag, "rate": LEVELS * with_rate, "order": orders}
    sizes = {control: size for control, size in sizes.items() if size}
    if form == "exact" and not sizes.keys() <= {"path", "order"}:
        high = np.array([{"lag": EXACT_MAX_US, "rate": EXACT_MAX_BPS}.get(control, size - 1) for control, size in sizes.items()])
        return spaces.Box(np.zeros_like(high), high, dtype=np.int64) if len(high) > 1 else spaces.Box(0, int(high[0]), (), np.int64)
    if len(sizes) == 1:
        return spaces.Discrete(next(iter(sizes.values())))
    return spaces.MultiDiscrete(list(sizes.values()))


class Decided(NamedTuple):
    """Decoded actions, (sessions,) each; zeros for controls that the agent does not have."""

    path: NDArray[np.int64]
    lag_us: NDArray[np.int64]
    rate: NDArray[np.float64]  # position on the log scale of targets, 0 to 1; in exact form bit/s
    order: NDArray[np.int64]


def decode(
    form: str, paths: int, action: NDArray[Any], with_path: bool, with_lag: bool, with_rate: bool = False, orders: int = 0,
    slots: NDArray[np.int64] | None = None,
) -> Decided:  # fmt: skip
    """Decode batched actions.

    Args:
        form: one of FORMS.
        paths: number of paths.
        action: (sessions, ...) of the batched action space.
        with_path: True if the agent sets the path.
        with_lag: True if the agent sets the lag.
        with_rate: True if the agent sets the rate.
        orders: number of schedulers among which the agent chooses; 0: it does not.
        slots: (sessions, slots), for form relative: the path in each slot.
    """
    none = np.zeros(len(action), np.int64)
    columns = action.reshape(len(action), -1)
    if form == "continuous":
        after_path = paths * with_path
        after_rate = after_path + with_lag + with_rate
        positions = (columns[:, after_path:after_rate].astype(np.float64) + 1.0) / 2.0
        return Decided(
            np.argmax(columns[:, :paths], axis=1) if with_path else none,
            _lag_us(positions[:, 0]) if with_lag else none,
            positions[:, -1] if with_rate else none.astype(np.float64),
            np.argmax(columns[:, after_rate:], axis=1) if orders else none,
        )
    next_column = iter(columns.astype(np.int64).T)
    path, lag, rate, order = (next(next_column) if one else none for one in (with_path, with_lag, with_rate, orders))
    if form == "exact":
        return Decided(path, lag, rate.astype(np.float64), order)
    if slots is not None:
        path = slots[np.arange(len(slots)), path] if with_path else none
        return Decided(path, HEADROOMS_US[lag] if with_lag else none, rate / (LEVELS - 1), order)
    return Decided(path, _LAGS_US[lag] if with_lag else none, rate / (LEVELS - 1), order)
