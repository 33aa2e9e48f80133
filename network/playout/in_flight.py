"""Packets in flight: a calendar that hands them out in order of arrival.

A calendar queue of `SLOTS` buckets, one for each 10-ms slot. Bucket k lists what has arrived by the beginning of slot k and had not a slot
earlier. Sending puts a node in front of its bucket's list; a bucket is sorted by (arrival, order of sending) when its slot comes. So both
cost O(1) where arrivals are spread, or come as they were sent, with no heap. Node n < SLOTS is the media packet sent in a slot that is n
modulo SLOTS; node SLOTS + n is the probe sent in it.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US

SLOTS = 4096  # a power of two; bounds a delay to 41 s, and how long a packet is waited for
_MASK = SLOTS - 1
_NONE = -1

IN_FLIGHT = np.dtype(
    [
        ("count", "i8"),
        ("arrival_us", "i8", (2 * SLOTS,)),  # by node
        ("next_node", "i4", (2 * SLOTS,)),
        ("path", "i2", (2 * SLOTS,)),
        ("head", "i4", (SLOTS,)),  # by bucket
    ]
)


@kernel
def clear_in_flight(in_flight):
    """Forget everything in flight."""
    in_flight.head[:] = _NONE
    in_flight.count = 0


@kernel
def push(in_flight, slot, node, path, delay_us):
    """Send `node` in `slot`, to arrive after `delay_us` > 0; False (and nothing sent) if it would arrive beyond the calendar."""
    buckets = (np.uint64(delay_us) + np.uint64(SLOT_US - 1)) // np.uint64(SLOT_US)
    if buckets >= np.uint64(SLOTS):
        return False
    bucket = (slot + np.int64(buckets)) & _MASK
    in_flight.arrival_us[node] = slot * SLOT_US + delay_us
    in_flight.path[node] = path
    in_flight.next_node[node] = in_flight.head[bucket]
    in_flight.head[bucket] = node
    in_flight.count += 1
    return True


@kernel
def sort_bucket(in_flight, slot):
    """Sort the bucket of `slot`, once, before it is emptied."""
    node = in_flight.head[slot & _MASK]
    if node == _NONE or in_flight.next_node[node] == _NONE:
        return
    first = _NONE
    while node != _NONE:
        next_node = in_flight.next_node[node]
        # What was sent last comes first here, so that of equal arrivals the later one put in stands before.
        before, after = _NONE, first
        while after != _NONE and in_flight.arrival_us[after] < in_flight.arrival_us[node]:
            before, after = after, in_flight.next_node[after]
        in_flight.next_node[node] = after
        if before == _NONE:
            first = node
        else:
            in_flight.next_node[before] = node
        node = next_node
    in_flight.head[slot & _MASK] = first


@kernel
def pop(in_flight, slot):
    """Return the next node of the bucket of `slot`, which has been sorted, or -1. Every bucket is emptied before the next one begins."""
    node = in_flight.head[slot & _MASK]
    if node != _NONE:
        in_flight.head[slot & _MASK] = in_flight.next_node[node]
        in_flight.count -= 1
    return node
