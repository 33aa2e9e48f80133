"""Minimum delay over the last 2000 ms of a stream of one packet per 10-ms slot; packets may arrive in any order.

A ring indexed by slot, with the index of its minimum. The ring is searched again only when the minimum leaves the window: once per window
on steady paths; at worst, while delays rise steadily, at every packet.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record
from vcgym.network.kernels.ring_minimum import newest_smallest
from vcgym.network.playout.in_flight import SLOTS

WINDOW_SLOTS = 200
_MASK = SLOTS - 1
_ABSENT_US = np.int32(2**31 - 1)


@record
class SlotWindow:
    """Delays of a call."""

    newest: int = -1  # newest slot whose packet has arrived, -1 before the first
    best: int = -1  # the newest slot with the minimum delay
    best_us: int = 2**31 - 1
    delay_us: NDArray[np.int32] = np.zeros(SLOTS, np.int32)  # by slot modulo the length


@kernel
def expect_slot(window, slot):
    """Count the packet of `slot`, the next one, as sent; it replaces the one SLOTS before. Exact for delays below 38.9 s."""
    window.delay_us[slot & _MASK] = _ABSENT_US


@kernel
def smallest_delay_us(window, slot, delay_us):
    """Add the delay of an expected `slot`, unless it is before newest - 200; return the minimum delay of the slots from newest - 200 on."""
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
