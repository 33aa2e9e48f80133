"""Packets in flight: a calendar that hands them out in order of arrival.

A calendar queue of `SLOTS` buckets, one for each 10-ms slot. Bucket k lists the packets that arrive after the start of slot k - 1 and no
later than the start of slot k. `push` prepends a node to its bucket's list; `sort_bucket` sorts a bucket by (arrival, order of sending)
when its slot begins. Both cost O(1) if arrivals are spread out or in order, and need no heap. Node n < SLOTS is the media packet of the
slot that is n modulo SLOTS; node SLOTS + n is the probe sent in that slot.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US

SLOTS = 4096  # a power of two; limits delays, and the wait for a packet, to 41 s
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
    """Remove all packets."""
    in_flight.head[:] = _NONE
    in_flight.count = 0


@kernel
def push(in_flight, slot, node, path, delay_us):
    """Send a packet. Return False, and send nothing, if its arrival is beyond the calendar.

    Args:
        in_flight: record of IN_FLIGHT, updated.
        slot: int64, slot at whose start the delay begins.
        node: int64, 0 to 2 SLOTS - 1, not in flight.
        path: int64, path of the packet, at least 0.
        delay_us: integer, above 0; the arrival is after the start of the current slot.
    """
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
    """Sort the bucket of `slot`. Call it once, before the first `pop` of that slot."""
    node = in_flight.head[slot & _MASK]
    if node == _NONE or in_flight.next_node[node] == _NONE:
        return
    first = _NONE
    while node != _NONE:
        next_node = in_flight.next_node[node]
        # The list is in reverse order of sending, so a node inserted later goes before nodes with an equal arrival.
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
    """Remove and return the next node of the sorted bucket of `slot`; -1 if it is empty. Empty each bucket before the next slot begins."""
    node = in_flight.head[slot & _MASK]
    if node != _NONE:
        in_flight.head[slot & _MASK] = in_flight.next_node[node]
        in_flight.count -= 1
    return node
