"""Accumulated jitter over a window of sent time.

Algorithm 2 of WMJitter (arXiv 2310.05054); the same running sum as in NetEQ's 2020 delay manager. Let d be the difference of one-way delay
to the last arrived packet, kept for 2000 ms of sent time and removed in order of arrival:

    J = 0;  J = max(0, J + d) for each d of the window in order of arrival
      = one_way_delay - min(one_way_delay over the window and over the packet just before its oldest d)

A d is removed only after all earlier arrivals. So the predecessor's delay of d counts as long as the newest sent time among all d up to
that one is within 2000 ms of the newest overall. A ring stores those delays in order of arrival, each with that sent time, and one entry
for delays that expire together: never more than 201 at one packet per 10 ms. The ring keeps the index of its minimum and is searched again
only when the minimum is removed.

A send queue that empties may let more packets leave within 2000 ms than the ring holds: the window then has the last 256.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records
from vcgym.network.kernels.ring_minimum import newest_smallest

JITTER_WINDOW_US = 2_000_000
NO_JITTER = -1  # jitter of the first packet

_PLACES = 256  # a power of two above 201
_MASK = _PLACES - 1
_NEVER_US = -(2**62)
_NO_DELAY_US = np.iinfo(np.int64).max


@record
class JitterWindow:
    end: int = 0  # number of entries so far; entry n is at index n modulo the length
    best: int = 0  # number of the newest entry with the minimum delay
    best_us: int = _NO_DELAY_US
    best_expiry_us: int = 0
    newest_us: int = _NEVER_US  # newest sent time of a packet with a d
    last_delay_us: int = 0
    started: int = 0
    delay_us: NDArray[np.int64] = np.zeros(_PLACES, np.int64)
    expiry_us: NDArray[np.int64] = np.full(_PLACES, _NEVER_US)


EMPTY_WINDOW = records(JitterWindow, 1)


@kernel
def empty_window(owner):
    """Remove all packets from the `window` of a record."""
    owner.window = EMPTY_WINDOW[0]


@kernel
def accumulated_jitter(window, sent_us, arrived_us):
    """Add one arrived packet and return its accumulated jitter J (us), NO_JITTER for the first one; `window` is a JitterWindow."""
    delay_us, before_us = arrived_us - sent_us, window.last_delay_us
    window.last_delay_us = delay_us
    if window.started == 0:
        window.started = 1
        return NO_JITTER
    window.newest_us = max(window.newest_us, sent_us)
    _append(window, before_us, window.newest_us)
    if window.best_expiry_us < window.newest_us - JITTER_WINDOW_US or window.best < window.end - _PLACES:
        _look_through(window)
    return max(0, delay_us - window.best_us)


@kernel
def _append(window, delay_us, expiry_us):
    last = (window.end - 1) & _MASK
    if window.expiry_us[last] == expiry_us:
        delay_us = min(window.delay_us[last], delay_us)
    else:
        last = window.end & _MASK
        window.expiry_us[last] = expiry_us
        window.end += 1
    window.delay_us[last] = delay_us
    if delay_us <= window.best_us:
        window.best, window.best_us, window.best_expiry_us = window.end - 1, delay_us, expiry_us


@kernel
def _look_through(window):
    """Find the minimum delay among the entries after the removed minimum; all entries before it have been removed too."""
    first = window.best + 1
    while window.expiry_us[first & _MASK] < window.newest_us - JITTER_WINDOW_US:
        first += 1
    window.best = newest_smallest(window.delay_us, first, window.end)
    window.best_us = window.delay_us[window.best & _MASK]
    window.best_expiry_us = window.expiry_us[window.best & _MASK]
