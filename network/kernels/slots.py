"""The time grid of a call: slots of 10 ms, with a packet in each unless frames are longer; worlds are generated in blocks of slots."""

import numpy as np

from vcgym.network.kernels.jit import kernel

SLOT_US = 10_000
BLOCK_SLOTS = 512
LOST = -1  # stored as the one-way delay of a packet that never arrives


@kernel
def slot_at(now_us):
    """Return the slot of an instant."""
    return now_us // SLOT_US


@kernel
def packet_at(now_us, packet_ms):
    """Return the number of the packet that leaves at an instant, if one leaves each `packet_ms`."""
    return np.int64(now_us // microseconds(packet_ms))


@kernel
def microseconds(duration_ms):
    """Return a duration in ms as int64 microseconds, rounded to the nearest."""
    return np.int64(np.rint(duration_ms * 1000.0))
