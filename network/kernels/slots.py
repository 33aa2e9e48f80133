"""The time grid of a call: one packet per slot of 10 ms, worlds made in blocks of slots."""

import numpy as np

from vcgym.network.kernels.jit import kernel

SLOT_US = 10_000
BLOCK_SLOTS = 512
LOST = -1  # in place of a one-way delay: the packet never arrives


@kernel
def slot_at(now_us):
    """Return the slot being played at an instant: the number of packets sent before it."""
    return now_us // SLOT_US


@kernel
def microseconds(duration_ms):
    """Return a duration in ms as int64 microseconds, to the nearest."""
    return np.int64(np.rint(duration_ms * 1000.0))
