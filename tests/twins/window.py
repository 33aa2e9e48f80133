"""Running minimum over the last 2000 ms of media time, with packets in any order.

The state is a monotone queue per session, sorted by sent time. An entry is dropped when another one has no earlier sent time and no larger
value, so sent times and values increase from the head on, and the head is the minimum. An in-order entry costs O(1) amortised; a reordered
one costs the number of entries that overtook it.
"""

from typing import NamedTuple

import numpy as np

from vcgym.network.kernels.jit import kernel

WINDOW_US = 2_000_000
BEFORE_ALL_US = -(2**62)


RING = np.dtype((np.record, [("head", "i8"), ("entries", "i8"), ("newest_us", "i8")]))
ENTRY = np.dtype((np.record, [("sent_us", "i8"), ("value_us", "i8")]))


class Window(NamedTuple):
    """State of S windows; the first axis is the session."""

    ring: np.recarray  # (S,) of RING: place of the first entry, number of entries, largest sent time seen
    entry: np.recarray  # (S, capacity) of ENTRY: number q stands in place (head + q) % capacity


def allocate_window(sessions: int, capacity: int) -> Window:
    """Allocate windows; call `clear_window` for each session before use.

    Args:
        sessions: S.
        capacity: at least the number of packets sent within any 2000 ms, both ends included. An entry is one packet inside the window, so
            no more entries can come together. Packets every d microseconds: 2_000_000 // d + 1.
    """
    return Window(np.zeros(sessions, RING).view(np.recarray), np.zeros((sessions, capacity), ENTRY).view(np.recarray))


@kernel
def clear_window(window, s):
    """Empty the window of session `s`."""
    ring = window.ring[s]
    ring.head = 0
    ring.entries = 0
    ring.newest_us = BEFORE_ALL_US


@kernel
def window_minimum(window, s):
    """Return the minimum over packets with sent time >= newest - 2000 ms. At least one must have been added."""
    return window.entry[s, window.ring[s].head].value_us


@kernel
def window_add(window, s, sent_us, value_us):
    """Add one packet; a packet older than the window has no effect."""
    ring, entry = window.ring[s], window.entry
    ring.newest_us = max(ring.newest_us, sent_us)
    oldest_us = ring.newest_us - WINDOW_US
    while ring.entries > 0 and entry[s, ring.head].sent_us < oldest_us:
        ring.head = _place(ring, entry, 1)
        ring.entries -= 1
    if sent_us < oldest_us:
        return
    after = ring.entries
    while after > 0 and entry[s, _place(ring, entry, after - 1)].sent_us > sent_us:
        after -= 1
    if after < ring.entries and entry[s, _place(ring, entry, after)].value_us <= value_us:
        return
    first = after
    while first > 0 and entry[s, _place(ring, entry, first - 1)].value_us >= value_us:
        first -= 1
    _replace(ring, entry, s, first, after)
    new = entry[s, _place(ring, entry, first)]
    new.sent_us = sent_us
    new.value_us = value_us


@kernel
def _place(ring, entry, number):
    place = ring.head + number
    return place if place < entry.shape[1] else place - entry.shape[1]


@kernel
def _replace(ring, entry, s, first, after):
    """Replace entries first..after-1 (none if equal) by one entry, moving the later ones."""
    shift = 1 - (after - first)
    behind = ring.entries - after
    for step in range(behind if shift != 0 else 0):
        number = ring.entries - 1 - step if shift > 0 else after + step
        source, target = entry[s, _place(ring, entry, number)], entry[s, _place(ring, entry, number + shift)]
        target.sent_us = source.sent_us
        target.value_us = source.value_us
    ring.entries += shift
