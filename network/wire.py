"""Packets in flight: a calendar that hands them out in order of arrival.

A calendar of `SLOTS` buckets of 10 ms, each a short list sorted by (arrival, order of sending), so that sending and arriving cost O(1)
where arrivals are spread and no heap is needed. Node n < SLOTS is the media packet sent in a slot that is n modulo SLOTS; node SLOTS + n
is the probe sent in it.
"""

import numpy as np

from vcgym.network.jit import kernel
from vcgym.network.world import SLOT_US

SLOTS = 4096  # a power of two; bounds a delay, and how long a packet may be waited for, to 41 s
_MASK = SLOTS - 1
_NONE = -1

WIRE = np.dtype(
    [
        ("cursor", "i8"),  # the bucket being emptied
        ("in_flight", "i8"),
        ("arrival_us", "i8", (2 * SLOTS,)),  # by node
        ("next_node", "i4", (2 * SLOTS,)),
        ("path", "i2", (2 * SLOTS,)),
        ("head", "i4", (SLOTS,)),  # by bucket
        ("tail", "i4", (SLOTS,)),
    ]
)


@kernel
def clear_wire(wire):
    """Forget everything in flight."""
    wire.head[:] = _NONE
    wire.cursor = 0
    wire.in_flight = 0


@kernel
def push(wire, node, path, arrival_us):
    """Send `node`; False (and nothing sent) if it would arrive beyond the calendar."""
    day = arrival_us // SLOT_US
    if day - wire.cursor >= _MASK:
        return False
    wire.arrival_us[node] = arrival_us
    wire.path[node] = path
    wire.in_flight += 1
    bucket = day & _MASK
    last = wire.tail[bucket]
    if wire.head[bucket] == _NONE:
        wire.head[bucket] = node
        wire.tail[bucket] = node
        wire.next_node[node] = _NONE
    elif wire.arrival_us[last] <= arrival_us:
        wire.next_node[last] = node
        wire.tail[bucket] = node
        wire.next_node[node] = _NONE
    else:
        before, here = _NONE, wire.head[bucket]
        while wire.arrival_us[here] <= arrival_us:
            before, here = here, wire.next_node[here]
        wire.next_node[node] = here
        if before == _NONE:
            wire.head[bucket] = node
        else:
            wire.next_node[before] = node
    return True


@kernel
def pop(wire, until_us):
    """The next node to arrive at or before `until_us`, or -1. Calls must not go back in time."""
    last_bucket = until_us // SLOT_US
    if wire.in_flight == 0:
        wire.cursor = max(wire.cursor, last_bucket)
        return _NONE
    while wire.head[wire.cursor & _MASK] == _NONE:
        if wire.cursor >= last_bucket:
            return _NONE
        wire.cursor += 1
    bucket = wire.cursor & _MASK
    node = wire.head[bucket]
    if wire.arrival_us[node] > until_us:
        return _NONE
    wire.head[bucket] = wire.next_node[node]
    wire.in_flight -= 1
    return node
