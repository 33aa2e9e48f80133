"""Actions: how what an agent says becomes a path and a level.

The level (a lag) stands on a log scale from 10 ms to 1 s: place x in [0, 1] is ``10 ms * 100 ** x``. Forms:

    discrete    path: 0..paths-1. Level: 0..31, x = level / 31
    continuous  a score in [-1, 1] per path, the largest wins (ties: the lowest index). Level: x = (value + 1) / 2
    exact       path index; level in whole microseconds, 0 to 30 s. What a rule says, and no grid in between
"""

import math
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.network.jit import kernel

LEVELS = 32
LEVEL_LEAST_US, LEVEL_MOST_US = 10_000, 1_000_000
_RATIO_LOG = math.log(LEVEL_MOST_US / LEVEL_LEAST_US)
EXACT_MOST_US = 30_000_000  # well below what the receiver's queue holds (41 s)
FORMS = ("discrete", "continuous", "exact")


@kernel
def level_place(level_us):
    """Place of a level on the log scale, -1 (10 ms or less) to 1 (1 s or more)."""
    inside = min(max(level_us, LEVEL_LEAST_US), LEVEL_MOST_US)
    return 2.0 * math.log(inside / LEVEL_LEAST_US) / _RATIO_LOG - 1.0


def _level_us(x: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(LEVEL_LEAST_US * np.exp(_RATIO_LOG * np.clip(x, 0.0, 1.0))).astype(np.int64)


def action_space(form: str, paths: int, with_path: bool, with_level: bool) -> spaces.Space[Any]:
    """The space of one session's action; `with_path` and `with_level` say which levers the agent holds."""
    if form == "continuous":
        return spaces.Box(-1.0, 1.0, (paths * with_path + with_level,), np.float32)
    if with_path and not with_level:
        return spaces.Discrete(paths)
    if form == "discrete":
        return spaces.MultiDiscrete([paths, LEVELS]) if with_path else spaces.Discrete(LEVELS)
    if with_path:
        return spaces.Box(np.zeros(2, np.int64), np.array([paths - 1, EXACT_MOST_US]), dtype=np.int64)
    return spaces.Box(0, EXACT_MOST_US, (), np.int64)


def decode(form: str, paths: int, with_path: bool, with_level: bool, action: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Batched actions as (path index, level in us); a lever that the agent does not hold comes out as zeros.

    Args:
        form: one of FORMS.
        paths: how many there are.
        with_path: the agent holds the path.
        with_level: the agent holds the level.
        action: (sessions, ...) of the batched action space.
    """
    none = np.zeros(len(action), np.int64)
    if form == "continuous":
        level = _level_us((action[:, -1].astype(np.float64) + 1.0) / 2.0) if with_level else none
        return (np.argmax(action[:, :paths], axis=1) if with_path else none), level
    columns = action.reshape(len(action), -1)
    path = columns[:, 0].astype(np.int64) if with_path else none
    if not with_level:
        return path, none
    level = columns[:, -1].astype(np.int64)
    return path, _level_us(level / (LEVELS - 1)) if form == "discrete" else level
