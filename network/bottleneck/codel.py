"""The law of CoDel (RFC 8289) for one queue: it is told of each packet taken from the head, and says when one is to be dropped or marked.

A packet that stayed at least the target, with more than a packet of the largest size behind it, is above. Once all packets of an interval
were above, one is dropped, and the next `interval / sqrt(count)` later, until one is not above (sections 5.3 to 5.5).
"""

import math

import numpy as np

from vcgym.network.kernels.jit import kernel

MAX_PACKET_BYTES = 1500  # RFC 8289 5.2: the interface's MTU
_RECENT = 16  # intervals; RFC 8289 5.5: a drop rate that is so young is a good start

CODEL = np.dtype(
    [
        ("first_above_us", "i8"),  # packets may be dropped from then on; 0: not above
        ("drop_next_us", "i8"),
        ("count", "i8"),  # drops since the dropping state was entered
        ("last_count", "i8"),
        ("dropping", "i8"),
    ]
)


@kernel
def clear_codel(codel):
    """Begin with an empty queue."""
    codel.first_above_us = codel.drop_next_us = codel.count = codel.last_count = codel.dropping = 0


@kernel
def control_law_us(at_us, count, interval_us):
    """Return when the next drop is due after one at `at_us` (RFC 8289 5.5), rounded down."""
    return at_us + np.int64(interval_us / math.sqrt(count))


@kernel
def is_above(codel, stayed_us, bytes_behind, now_us, target_us, interval_us):
    """Return True if the packet taken at `now_us` may be dropped: its queue was above for an interval (RFC 8289 5.3, `dodequeue`)."""
    if stayed_us < target_us or bytes_behind <= MAX_PACKET_BYTES:
        codel.first_above_us = 0
        return False
    if codel.first_above_us == 0:
        codel.first_above_us = now_us + interval_us
        return False
    return now_us >= codel.first_above_us


@kernel
def enter_dropping(codel, now_us, interval_us):
    """Enter the dropping state with a drop at `now_us`; the rate of a state left a short while ago goes on (RFC 8289 5.5)."""
    codel.dropping = 1
    delta = codel.count - codel.last_count
    codel.count = delta if delta > 1 and now_us - codel.drop_next_us < _RECENT * interval_us else 1
    codel.drop_next_us = control_law_us(now_us, codel.count, interval_us)
    codel.last_count = codel.count
