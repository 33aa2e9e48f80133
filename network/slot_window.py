"""Smallest delay over the last 2000 ms of a stream of one packet per 10-ms slot, whatever order the packets come in.

A ring by slot, and the place of the smallest value. Only when that one falls out of the window are the others looked through again: once in
a window's time on steady paths, at every packet at worst, while delays rise without a pause.
"""

import numpy as np

from vcgym.network.jit import kernel

WINDOW_SLOTS = 200
_PLACES = 256  # a power of two above the slots in a window, both ends included
_MASK = _PLACES - 1
_ABSENT_US = 2**62

SLOT_WINDOW = np.dtype(
    (
        np.record,
        [
            ("newest", "i8"),  # newest slot seen, -1 before the first
            ("best", "i8"),  # the newest slot that has the smallest delay
            ("best_us", "i8"),
            ("delay_us", "i8", (_PLACES,)),  # by slot modulo the length
        ],
    )
)


@kernel
def clear_slot_window(window):
    """Forget every packet."""
    window.newest = -1
    window.best = -1
    window.best_us = _ABSENT_US
    window.delay_us[:] = _ABSENT_US


@kernel
def smallest_delay_us(window, slot, delay_us):
    """Take in the packet of `slot` (>= 0) and return the smallest delay of the slots from newest - 200 on; an older one is left out."""
    if slot > window.newest:
        for absent in range(max(window.newest + 1, slot - _MASK), slot):
            window.delay_us[absent & _MASK] = _ABSENT_US
        window.newest = slot
    elif slot < window.newest - WINDOW_SLOTS:
        return window.best_us
    window.delay_us[slot & _MASK] = delay_us
    if delay_us < window.best_us or (delay_us == window.best_us and slot > window.best):
        window.best, window.best_us = slot, delay_us
    elif window.best < window.newest - WINDOW_SLOTS:
        _look_through(window)
    return window.best_us


@kernel
def _look_through(window):
    window.best_us = _ABSENT_US
    for slot in range(max(window.newest - WINDOW_SLOTS, 0), window.newest + 1):
        if window.delay_us[slot & _MASK] <= window.best_us:
            window.best, window.best_us = slot, window.delay_us[slot & _MASK]
