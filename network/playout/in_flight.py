"""Packets in flight: a calendar that hands them out in order of arrival.

A calendar of `SLOTS` days, one for each 10-ms slot. Day k has what is there by the beginning of slot k and was not a slot before, as a
short list. Sending puts a node in front of its day's list; a day is sorted by (arrival, order of sending) when it comes. So both cost O(1)
where arrivals are spread, or come as they were sent, with no heap. Node n < SLOTS is the media packet sent in a slot that is n modulo
SLOTS; node SLOTS + n is the probe sent in it.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US

SLOTS = 4096  # a power of two; bounds a delay to 41 s, and how long a packet is waited for
_MASK = SLOTS - 1
_NONE = -1

WIRE = np.dtype(
    [
        ("in_flight", "i8"),
        ("arrival_us", "i8", (2 * SLOTS,)),  # by node
        ("next_node", "i4", (2 * SLOTS,)),
        ("path", "i2", (2 * SLOTS,)),
        ("head", "i4", (SLOTS,)),  # by day
    ]
)


@kernel
def clear_wire(wire):
    """Forget everything in flight."""
    wire.head[:] = _NONE
    wire.in_flight = 0


@kernel
def push(wire, slot, node, path, delay_us):
    """Send `node` in `slot`, to arrive after `delay_us` > 0; False (and nothing sent) if it would arrive beyond the calendar."""
    days = (np.uint64(delay_us) + np.uint64(SLOT_US - 1)) // np.uint64(SLOT_US)
    if days >= np.uint64(SLOTS):
        return False
    day = (slot + np.int64(days)) & _MASK
    wire.arrival_us[node] = slot * SLOT_US + delay_us
    wire.path[node] = path
    wire.next_node[node] = wire.head[day]
    wire.head[day] = node
    wire.in_flight += 1
    return True


@kernel
def sort_day(wire, slot):
    """Put day `slot` in order, once, before it is emptied."""
    node = wire.head[slot & _MASK]
    if node == _NONE or wire.next_node[node] == _NONE:
        return
    first = _NONE
    while node != _NONE:
        following = wire.next_node[node]
        # What was sent last comes first here, so that of equal arrivals the later one put in stands before.
        before, here = _NONE, first
        while here != _NONE and wire.arrival_us[here] < wire.arrival_us[node]:
            before, here = here, wire.next_node[here]
        wire.next_node[node] = here
        if before == _NONE:
            first = node
        else:
            wire.next_node[before] = node
        node = following
    wire.head[slot & _MASK] = first


@kernel
def pop(wire, slot):
    """Return the next node of day `slot`, which has been sorted, or -1. Every day is emptied before the next one begins."""
    node = wire.head[slot & _MASK]
    if node != _NONE:
        wire.head[slot & _MASK] = wire.next_node[node]
        wire.in_flight -= 1
    return node
