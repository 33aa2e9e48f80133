"""The earliest event of many time-ordered streams: a tournament tree in which a change recomputes only one stream's branch.

Links deliver packets in FIFO order, and sources and flows send in order. So each stream has one next event, and a change costs the
logarithm of the number of streams. At equal times the stream with the lower number comes first.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel

NEVER_US = 1 << 62


class Clock(NamedTuple):
    """Tournament tree of streams: `next_us` (leaves,), and the winner below each inner node, (leaves,), with the root at 1."""

    next_us: NDArray[np.int64]
    winner: NDArray[np.int64]


def allocate_clock(streams: int) -> Clock:
    """Return a clock of streams without events."""
    leaves = 1 << max(1, (streams - 1).bit_length())
    return Clock(np.full(leaves, NEVER_US, np.int64), np.zeros(leaves, np.int64))


@kernel
def stop_clock(clock):
    """Remove all events."""
    clock.next_us[:] = NEVER_US
    leaves = clock.next_us.size
    for node in range(leaves - 1, 0, -1):
        clock.winner[node] = clock.winner[2 * node] if 2 * node < leaves else 2 * node - leaves


@kernel
def set_next(clock, stream, next_us):
    """Set the next event of a stream."""
    leaves = clock.next_us.size
    clock.next_us[stream] = next_us
    node = (stream + leaves) >> 1
    while node > 0:
        left, right = 2 * node, 2 * node + 1
        one = clock.winner[left] if left < leaves else left - leaves
        other = clock.winner[right] if right < leaves else right - leaves
        clock.winner[node] = other if clock.next_us[other] < clock.next_us[one] else one
        node >>= 1


@kernel
def earliest(clock):
    """Return the stream with the earliest event."""
    return clock.winner[1]
