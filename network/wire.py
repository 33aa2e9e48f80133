"""Packets in flight: a calendar that hands them out in order of arrival.

A calendar of `SLOTS` days, one for each 10-ms slot. Day k has what is there by the beginning of slot k and was not a slot before, as a
short list sorted by (arrival, order of sending), so that sending and arriving cost O(1) where arrivals are spread, with no heap.
Node n < SLOTS is the media packet sent in a slot that is n modulo SLOTS; node SLOTS + n is the probe sent in it.
"""

import numpy as np

from vcgym.network.jit import kernel
from vcgym.network.world import SLOT_US

SLOTS = 4096  # a power of two; bounds a delay, and how long a packet may be waited for, to 41 s
_MASK = SLOTS - 1
_NONE = -1

WIRE = np.dtype(
    [
        ("in_flight", "i8"),
        ("arrival_us", "i8", (2 * SLOTS,)),  # by node
        ("next_node", "i4", (2 * SLOTS,)),
        ("path", "i2", (2 * SLOTS,)),
        ("head", "i4", (SLOTS,)),  # by day
        ("tail", "i4", (SLOTS,)),
    ]
)


@kernel
def clear_wire(wire):
    """Forget everything in flight."""
    wire.head[:] = _NONE
    wire.in_flight = 0


@kernel
def push(wire, slot, node, path, arrival_us):
    """Send `node` in `slot`, to arrive later than that; False (and nothing sent) if it would arrive beyond the calendar."""
    day = -(-arrival_us // SLOT_US)
    if day - slot >= SLOTS:
        return False
    day &= _MASK
    wire.arrival_us[node] = arrival_us
    wire.path[node] = path
    wire.in_flight += 1
    here = wire.head[day]
    if here == _NONE:
        wire.head[day] = node
        wire.tail[day] = node
        wire.next_node[node] = _NONE
    elif wire.arrival_us[wire.tail[day]] <= arrival_us:
        wire.next_node[wire.tail[day]] = node
        wire.tail[day] = node
        wire.next_node[node] = _NONE
    else:
        before = _NONE
        while wire.arrival_us[here] <= arrival_us:
            before, here = here, wire.next_node[here]
        wire.next_node[node] = here
        if before == _NONE:
            wire.head[day] = node
        else:
            wire.next_node[before] = node
    return True


@kernel
def pop(wire, slot):
    """The next node of day `slot`, or -1. Every day is emptied before the next one begins."""
    node = wire.head[slot & _MASK]
    if node != _NONE:
        wire.head[slot & _MASK] = wire.next_node[node]
        wire.in_flight -= 1
    return node
