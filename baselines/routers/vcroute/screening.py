"""The few of many normal draws that may lie below a limit, found without working out the others.

To hold the random bits of all paths against their bars (`draws.py`), side by side, costs a fraction of a nanosecond a path. The few that
pass are then drawn. If none of these comes out below the limit, every path is drawn: so the limit changes what a decision costs and never
what is decided. It is the largest draw that has won of late, so that few paths pass and nearly every decision has one that wins.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.rng import bits64

MANY = 32  # from as many paths on bars pay
TOGETHER = 8  # paths that are looked at together: a word of `passes`
_FEWEST_SLOTS, _MOST_SLOTS = 16, 256  # from limit to limit

AIM = np.dtype(
    (
        np.record,
        [
            ("limit_ms", "f8"),
            ("highest_ms", "f8"),  # draw that has won since the limit was set
            ("next_slot", "i8"),  # when the limit is set anew
        ],
    )
)


class Bars(NamedTuple):
    """Bars of S sessions over their paths, rounded up to TOGETHER; over none for fewer than MANY paths."""

    bar: NDArray[np.uint64]  # (S, paths)
    passes: NDArray[np.uint8]  # (S, paths), 1: what the path draws in this slot may lie below the limit


def allocate_bars(sessions: int, paths: int) -> Bars:
    """Bars that nothing passes."""
    shape = sessions, -(-paths // TOGETHER) * TOGETHER if paths >= MANY else 0
    return Bars(np.zeros(shape, np.uint64), np.zeros(shape, np.uint8))


@kernel
def start_aim(aim):
    """No limit yet."""
    aim.limit_ms = math.inf
    aim.highest_ms = math.inf
    aim.next_slot = 0


@kernel
def renew_limit(aim, slot):
    """Set the limit anew if it is time, which is more often in the beginning; whether it was, so that all bars must follow."""
    if slot < aim.next_slot:
        return False
    aim.limit_ms, aim.highest_ms = aim.highest_ms, -math.inf
    aim.next_slot = slot + min(max(slot, _FEWEST_SLOTS), _MOST_SLOTS)
    return True


@kernel
def hold_against(bars, s, key, counter):
    """Find out which paths pass; their draws of stream `key` follow each other, `counter` is that of path 0."""
    bar, passes = bars.bar[s], bars.passes[s]
    for path in range(bar.size):
        passes[path] = 1 if bits64(key, counter + path) <= bar[path] else 0
