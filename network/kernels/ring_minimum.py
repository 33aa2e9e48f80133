"""The smallest value in a part of a ring, the newest one of several.

A ring is an array whose length is a power of two; number n stands in place n modulo the length. Each pass is a straight loop over at most
two runs of places, which the compiler turns into vector instructions.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel

_NOWHERE = -1


@kernel
def newest_smallest(ring, first, end):
    """Return the newest of the smallest values among the numbers first..end-1: at least one, at most as many as the ring is long."""
    turn = first & -ring.size  # the number in place 0
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
