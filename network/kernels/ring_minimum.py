"""Index of the minimum in a part of a ring; among equal values the newest.

A ring is an array whose length is a power of two; item n is stored at index n modulo the length. Each pass loops over at most two
contiguous runs, which the compiler vectorises.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel

_NOWHERE = -1


@kernel
def newest_smallest(ring, first, end):
    """Return the number of the newest minimum among items first..end-1: at least one item, at most the length of the ring."""
    turn = first & -ring.size  # the item at index 0
    old, new = ring[first - turn : end - turn], ring[: max(end - turn - ring.size, 0)]
    smallest = min(_smallest(old), _smallest(new))
    newest = _last(new, smallest)
    return turn + ring.size + newest if newest != _NOWHERE else first + _last(old, smallest)


@kernel
def _smallest(values):
    smallest = np.int64(np.iinfo(np.int64).max)
    for index in range(values.size):
        smallest = min(smallest, np.int64(values[index]))
    return smallest


@kernel
def _last(values, value):
    last = _NOWHERE
    for index in range(values.size):
        last = index if values[index] == value else last
    return last
