"""Smallest delay over the last 2000 ms of a stream of one packet per 10-ms slot, whatever order the packets come in.

A ring by slot, and the place of the smallest value. Only when that one falls out of the window are the others looked through again: once in
a window's time on steady paths, at every packet at worst, while delays rise without a pause.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ring_minimum import newest_smallest
from vcgym.network.playout.in_flight import SLOTS

WINDOW_SLOTS = 200
_MASK = SLOTS - 1
_ABSENT_US = np.int32(2**31 - 1)

SLOT_WINDOW = np.dtype(
    (
        np.record,
        [
            ("newest", "i8"),  # newest slot of which the packet has come, -1 before the first
            ("best", "i8"),  # the newest slot that has the smallest delay
            ("best_us", "i8"),
            ("delay_us", "i4", (SLOTS,)),  # by slot modulo the length
        ],
    )
)


@kernel
def clear_slot_window(window):
    """Forget every packet."""
    window.newest = -1
    window.best = -1
    window.best_us = _ABSENT_US


@kernel
def expect_slot(window, slot):
    """Count the packet of `slot`, the next one, as sent, in place of the one SLOTS before it; exact for delays below 38.9 s."""
    window.delay_us[slot & _MASK] = _ABSENT_US


@kernel
def smallest_delay_us(window, slot, delay_us):
    """Take in the packet of `slot`, which was expected; the smallest delay of the slots from newest - 200 on. An older one is left out."""
    window.newest = max(window.newest, slot)
    if slot < window.newest - WINDOW_SLOTS:
        return window.best_us
    window.delay_us[slot & _MASK] = delay_us
    if delay_us < window.best_us or (delay_us == window.best_us and slot > window.best):
        window.best, window.best_us = slot, delay_us
    elif window.best < window.newest - WINDOW_SLOTS:
        _look_through(window)
    return window.best_us


@kernel
def _look_through(window):
    window.best = newest_smallest(window.delay_us, max(window.newest - WINDOW_SLOTS, 0), window.newest + 1)
    window.best_us = window.delay_us[window.best & _MASK]
