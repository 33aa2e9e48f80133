"""CoDel's control law (RFC 8289) for one queue: decides for each packet taken from the head whether to drop or mark it.

A packet is above the target if its sojourn time is at least the target and more than a maximum-size packet is queued behind it. Once all
packets of an interval were above, one is dropped, and the next `interval / sqrt(count)` later, until one is not above (sections 5.3-5.5).
"""

import math

import numpy as np

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

MAX_PACKET_BYTES = 1500  # RFC 8289 5.2: the interface's MTU
_RECENT = 16  # intervals; RFC 8289 5.5: the drop rate of so recent a dropping state is reused


@record
class CodelState:
    """State of the control law."""

    first_above_us: int = 0  # time from which packets may be dropped; 0: not above
    drop_next_us: int = 0
    count: int = 0  # drops since the dropping state was entered
    last_count: int = 0
    dropping: int = 0


@kernel
def control_law_us(at_us, count, interval_us):
    """Return the time of the next drop after one at `at_us` (RFC 8289 5.5), rounded down."""
    return at_us + np.int64(interval_us / math.sqrt(count))


@kernel
def is_above(codel, stayed_us, bytes_behind, now_us, target_us, interval_us):
    """Return True if the packet taken at `now_us` may be dropped: its queue was above for an interval (RFC 8289 5.3, `dodequeue`).

    It stayed for `stayed_us`, and `bytes_behind` are left in the queue without it. Instants must not decrease from call to call.
    """
    if stayed_us < target_us or bytes_behind <= MAX_PACKET_BYTES:
        codel.first_above_us = 0
        return False
    if codel.first_above_us == 0:
        codel.first_above_us = now_us + interval_us
        return False
    return now_us >= codel.first_above_us


@kernel
def enter_dropping(codel, now_us, interval_us):
    """Enter the dropping state with a drop at `now_us`; continue the drop rate of a recent dropping state (RFC 8289 5.5)."""
    codel.dropping = 1
    delta = codel.count - codel.last_count
    codel.count = delta if delta > 1 and now_us - codel.drop_next_us < _RECENT * interval_us else 1
    codel.drop_next_us = control_law_us(now_us, codel.count, interval_us)
    codel.last_count = codel.count
