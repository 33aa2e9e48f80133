"""Accumulated jitter over a window of sent time.

Algorithm 2 of WMJitter (arXiv 2310.05054); the same running sum as the 2020 delay manager of NetEQ. With d = difference of one-way delay to
the last arrived packet, kept for 2000 ms of sent time and dropped from the oldest arrival on,

    J = 0;  J = max(0, J + d) for each d of the window in order of arrival
      = one_way_delay - min(one_way_delay over the window and over the packet just before its oldest d)

Since a d leaves only when all that arrived before it have left, the predecessor's delay of d counts as long as the newest sent time among
all d up to that one is within 2000 ms of the newest of all. A ring holds those delays in order of arrival with the newest sent time each
counts by, and one entry for those that count equally long: at one packet per 10 ms never more than 201. The place of the smallest is known;
only when it leaves are the others looked through again.
"""

import numpy as np

from vcgym.network.jit import kernel

JITTER_WINDOW_US = 2_000_000
NO_JITTER = -1  # of the first packet

_PLACES = 256  # a power of two above 201
_MASK = _PLACES - 1
_NEVER_US = np.iinfo(np.int64).min

JITTER_WINDOW = np.dtype(
    (
        np.record,
        [
            ("first", "i8"),  # entries first..end-1, number n in place n modulo the length
            ("end", "i8"),
            ("best", "i8"),  # number of the newest entry that has the smallest delay
            ("best_us", "i8"),
            ("newest_us", "i8"),  # newest sent time of a packet that has a d
            ("last_delay_us", "i8"),
            ("started", "i8"),
            ("delay_us", "i8", (_PLACES,)),
            ("expiry_us", "i8", (_PLACES,)),
        ],
    )
)


@kernel
def reset_window(window):
    """Forget every packet."""
    window.first = 0
    window.end = 0
    window.newest_us = _NEVER_US
    window.started = 0


@kernel
def accumulated_jitter(window, sent_us, arrived_us):
    """Take in one arrived packet and return its accumulated jitter J (us), NO_JITTER for the first one.

    Raises:
        ValueError: more than 256 packets of increasing sent time within 2000 ms.
    """
    delay_us, before_us = arrived_us - sent_us, window.last_delay_us
    window.last_delay_us = delay_us
    if window.started == 0:
        window.started = 1
        return NO_JITTER
    window.newest_us = max(window.newest_us, sent_us)
    _append(window, before_us, window.newest_us)
    while window.newest_us - window.expiry_us[window.first & _MASK] > JITTER_WINDOW_US:
        window.first += 1
    if window.best < window.first:
        _look_through(window)
    return max(0, delay_us - window.best_us)


@kernel
def _append(window, delay_us, expiry_us):
    last = (window.end - 1) & _MASK
    if window.end > window.first and window.expiry_us[last] == expiry_us:
        window.delay_us[last] = min(window.delay_us[last], delay_us)
    else:
        if window.end - window.first == _PLACES:
            raise ValueError("jitter window: more than 256 packets of rising sent time in 2000 ms; allowed are packets of at least 8 ms")
        last = window.end & _MASK
        window.delay_us[last] = delay_us
        window.expiry_us[last] = expiry_us
        window.end += 1
    if window.end - window.first == 1 or delay_us <= window.best_us:
        window.best, window.best_us = window.end - 1, window.delay_us[last]


@kernel
def _look_through(window):
    window.best, window.best_us = window.first, window.delay_us[window.first & _MASK]
    for number in range(window.first + 1, window.end):
        if window.delay_us[number & _MASK] <= window.best_us:
            window.best, window.best_us = number, window.delay_us[number & _MASK]
