"""Packets in flight: a calendar that hands them out in order of arrival.

A calendar queue of `SLOTS` buckets, one for each 10-ms slot. Bucket k lists the packets that arrive after the start of slot k - 1 and no
later than the start of slot k. `push` prepends a node to its bucket's list; `sort_bucket` sorts a bucket by (arrival, order of sending)
when its slot begins. Both cost O(1) if arrivals are spread out or in order, and need no heap.

A node is one packet under way, on one path. The packet of each slot has a node for it, n modulo `SLOTS`. Whatever else is under way takes
a free one of the other nodes, with number and kind as fields: a probe, a repair packet, any number of copies of a packet. So a packet may
be under way several times, and the nodes that every call uses in each slot need neither list nor fields, which would cost 3 % of its time.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record
from vcgym.network.kernels.slots import SLOT_US

SLOTS = 4096  # a power of two; limits delays, and the wait for a packet, to 41 s
NODES = 2 * SLOTS
MEDIA, PROBE, COPY, REPAIR = 0, 1, 2, 3  # kinds of packets
_MASK = SLOTS - 1
_NONE = -1


@record
class InFlight:
    """Calendar of a call."""

    count: int = 0
    used: int = SLOTS  # nodes from here on have not been in flight
    free: int = _NONE  # head of the list of the others that have arrived
    arrival_us: NDArray[np.int64] = np.zeros(NODES, np.int64)  # by node
    path: NDArray[np.int16] = np.zeros(NODES, np.int16)
    next_node: NDArray[np.int16] = np.zeros(NODES, np.int16)
    number: NDArray[np.int32] = np.zeros(NODES - SLOTS, np.int32)  # by node - SLOTS
    kind: NDArray[np.int8] = np.zeros(NODES - SLOTS, np.int8)
    age: NDArray[np.int16] = np.zeros(NODES - SLOTS, np.int16)  # slots from that number to the beginning of its delay
    head: NDArray[np.int16] = np.full(SLOTS, _NONE, np.int16)  # by bucket


@kernel
def number_of(in_flight, node, slot):
    """Return the number of the packet of a node that arrives in `slot`: the slot at whose start its delay began, int64."""
    return slot - ((slot - node) & _MASK) if node < SLOTS else np.int64(in_flight.number[node - SLOTS])


@kernel
def kind_of(in_flight, node):
    """Return the kind of the packet of a node: MEDIA, PROBE, COPY or REPAIR, int64."""
    return np.int64(MEDIA) if node < SLOTS else np.int64(in_flight.kind[node - SLOTS])


@kernel
def age_of(in_flight, node):
    """Return the slots between the number of a node's packet and the start of its delay, int64; above 0 for later copies only."""
    return np.int64(0) if node < SLOTS else np.int64(in_flight.age[node - SLOTS])


@kernel
def push(in_flight, number, kind, path, delay_us, age=0):
    """Send a packet. Return False, and send nothing, if its arrival is beyond the calendar or no node is free.

    `number` is 0 to 2^31 - 1; `kind` MEDIA, once for each number, or PROBE, COPY or REPAIR; `path` 0 to 2^15 - 1. The delay, above 0,
    begins `age` slots after that of `number` (0 for MEDIA), so that the arrival is after the start of the current slot.
    """
    buckets = (np.uint64(delay_us) + np.uint64(SLOT_US - 1)) // np.uint64(SLOT_US)
    if buckets >= np.uint64(SLOTS):
        return False
    node = number & _MASK
    if kind != MEDIA:
        node = _take_other(in_flight, number, kind, age)
        if node == _NONE:
            return False
    bucket = (number + age + np.int64(buckets)) & _MASK
    in_flight.arrival_us[node] = (number + age) * SLOT_US + delay_us
    in_flight.path[node] = path
    in_flight.next_node[node] = in_flight.head[bucket]
    in_flight.head[bucket] = node
    in_flight.count += 1
    return True


@kernel
def _take_other(in_flight, number, kind, age):
    """Return a free node from SLOTS on with these fields, -1 if all are in flight."""
    node = in_flight.free
    if node != _NONE:
        in_flight.free = in_flight.next_node[node]
    elif in_flight.used < NODES:
        node = in_flight.used
        in_flight.used += 1
    else:
        return node
    in_flight.number[node - SLOTS] = number
    in_flight.kind[node - SLOTS] = kind
    in_flight.age[node - SLOTS] = age
    return node


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
    """Remove and return the next node of the sorted bucket of `slot`, int64; -1 if it is empty.

    Its fields can be read until the next `push`. Empty each bucket before the next slot begins.
    """
    node = np.int64(in_flight.head[slot & _MASK])
    if node != _NONE:
        in_flight.head[slot & _MASK] = in_flight.next_node[node]
        in_flight.count -= 1
        if node >= SLOTS:
            in_flight.next_node[node] = in_flight.free
            in_flight.free = node
    return node
