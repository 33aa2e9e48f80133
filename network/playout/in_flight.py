"""Packets in flight: a calendar that hands them out in order of arrival.

A calendar queue of `SLOTS` buckets, one for each 10-ms slot. Bucket k lists the packets that arrive after the start of slot k - 1 and no
later than the start of slot k. `push` prepends a node to its bucket's list; `sort_bucket` sorts a bucket by (arrival, order of sending)
when its slot begins. Both cost O(1) if arrivals are spread out or in order, and need no heap.

A node is one packet under way, on one path. Number, kind and path are its fields, so a packet may be under way several times. A node that
has arrived is the next one to be sent again: nodes in use are few and stay close together in memory.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US

SLOTS = 4096  # a power of two; limits delays, and the wait for a packet, to 41 s
NODES = 2 * SLOTS  # a packet and one more, a probe or a copy, in each slot
_MASK = SLOTS - 1
_NONE = -1

NODE = np.dtype(
    (
        np.record,
        [
            ("number", "i4"),  # of the packet: the slot of its capture; of a probe, the slot in which it was sent
            ("delay_us", "i4"),  # from the start of that slot to the arrival
            ("path", "i2"),
            ("next", "i2"),  # node behind it in its list
            ("kind", "i1"),
        ],
    )
)
IN_FLIGHT = np.dtype(
    [
        ("count", "i8"),
        ("used", "i8"),  # nodes from here on have never been sent
        ("free", "i8"),  # first node of the list of those that have arrived, -1: none
        ("head", "i2", (SLOTS,)),  # by bucket
        ("nodes", NODE, (NODES,)),
    ]
)


@kernel
def clear_in_flight(in_flight):
    """Remove all packets."""
    in_flight.head[:] = _NONE
    in_flight.count = 0
    in_flight.used = 0
    in_flight.free = _NONE


@kernel
def arrival_us(node):
    """Return the arrival of a node (record of NODE) in us of the call, int64."""
    return np.int64(node.number) * SLOT_US + node.delay_us


@kernel
def push(in_flight, number, kind, path, delay_us):
    """Send a packet. Return False, and send nothing, if its arrival is beyond the calendar or all nodes are in flight.

    Args:
        in_flight: record of IN_FLIGHT, updated.
        number: int64, slot at whose start the delay begins, 0 to 2^31 - 1.
        kind: int64, kind of the packet, 0 to 127, for the caller of `pop`.
        path: int64, path of the packet, 0 to 2^15 - 1.
        delay_us: int64, above 0; the arrival is after the start of the current slot.
    """
    buckets = (np.uint64(delay_us) + np.uint64(SLOT_US - 1)) // np.uint64(SLOT_US)
    if buckets >= np.uint64(SLOTS):
        return False
    index = in_flight.free
    if index != _NONE:
        in_flight.free = in_flight.nodes[index].next
    elif in_flight.used < NODES:
        index = in_flight.used
        in_flight.used += 1
    else:
        return False
    bucket = (number + np.int64(buckets)) & _MASK
    node = in_flight.nodes[index]
    node.number = number
    node.delay_us = delay_us
    node.path = path
    node.kind = kind
    node.next = in_flight.head[bucket]
    in_flight.head[bucket] = index
    in_flight.count += 1
    return True


@kernel
def sort_bucket(in_flight, slot):
    """Sort the bucket of `slot`. Call it once, before the first `pop` of that slot."""
    nodes, index = in_flight.nodes, in_flight.head[slot & _MASK]
    if index == _NONE or nodes[index].next == _NONE:
        return
    first = _NONE
    while index != _NONE:
        next_index, arrives_us = nodes[index].next, arrival_us(nodes[index])
        # The list is in reverse order of sending, so a node inserted later goes before nodes with an equal arrival.
        before, after = _NONE, first
        while after != _NONE and arrival_us(nodes[after]) < arrives_us:
            before, after = after, nodes[after].next
        nodes[index].next = after
        if before == _NONE:
            first = index
        else:
            nodes[before].next = index
        index = next_index
    in_flight.head[slot & _MASK] = first


@kernel
def pop(in_flight, slot):
    """Remove and return the index of the next node of the sorted bucket of `slot`; -1 if it is empty.

    Its fields can be read until the next `push`. Empty each bucket before the next slot begins.
    """
    index = np.int64(in_flight.head[slot & _MASK])
    if index != _NONE:
        node = in_flight.nodes[index]
        in_flight.head[slot & _MASK] = node.next
        node.next = in_flight.free
        in_flight.free = index
        in_flight.count -= 1
    return index
