"""CoDel (RFC 8289) and FQ-CoDel (RFC 8290) before the link: a packet is served in turn, or dropped at the head of its flow's queue.

Arrivals can change the order of departures, so a departure is an event: at `next_us` the link is free and takes a packet. Flows are
identified by number, without a hash; with `fair` 0 all flows share one queue, which is CoDel. If CoDel would drop an ECN-capable packet, it
is marked and sent instead (RFC 8289 5.5 with the marks of the Linux kernel). The link works as in queue.py: without drops, a single queue
has the same departure times as the drop-tail queue.

On overflow the head of the longest flow's queue is dropped (RFC 8290 4.1). The packet on the link does not count as queued.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.bottleneck.codel import CodelState, control_law_us, enter_dropping, is_above
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records, restart

ROOM = 2048  # packets over all flows
NOTHING = -1
NEVER_US = 1 << 62
_OFF, _NEW, _OLD = 0, 1, 2  # the list that contains a flow's queue


@record
class QueuedPacket:
    """Packet in a queue."""

    entered_us: int = 0
    number: int = 0  # set by the sender of the packet
    size_bytes: np.int32 = np.int32(0)
    flow: np.int16 = np.int16(0)
    following: np.int16 = np.int16(0)  # next packet in its queue, or next free entry
    capable: np.int8 = np.int8(0)  # 1: ECN-capable
    marked: np.int8 = np.int8(0)


@record
class FlowQueue:
    """Queue of a flow."""

    first: int = NOTHING  # first packet; NOTHING if empty
    last: int = NOTHING
    bytes: int = 0
    waiting: int = 0  # packets of the flow in any queue
    credits: int = 0  # bytes it may still send in this turn
    list: int = 0
    following: int = NOTHING  # next queue in its list
    codel: CodelState


@record
class Schedule:
    """Queues of all flows before a link."""

    next_us: int = NEVER_US  # time at which the link takes a packet, or NEVER_US
    busy_until_us: int = -1
    fair: int = 0  # 0: one queue for all flows
    target_us: int = 0
    interval_us: int = 0
    quantum: int = 0  # bytes
    waiting: int = 0
    bytes: int = 0
    free: int = 0  # first free entry
    first: NDArray[np.int64] = np.full(3, NOTHING)  # first queue of each list
    last: NDArray[np.int64] = np.full(3, NOTHING)
    dropped: int = 0
    marked: int = 0
    out_index: int = 0  # entry of the packet that left last
    out_us: int = 0  # its departure from the link and its outages


_EMPTY, _EMPTY_QUEUE = records(Schedule, 1), records(FlowQueue, 1)


class FairQueue(NamedTuple):
    """Queues of flows before a batch of links; first axis: bottleneck."""

    schedule: NDArray  # (bottlenecks,) of Schedule
    flows: NDArray  # (bottlenecks, flows) of FlowQueue
    packets: NDArray  # (bottlenecks, ROOM + 1) of QueuedPacket


def allocate_fair_queue(bottlenecks: int, flows: int) -> FairQueue:
    """Allocate the queues of `flows` flows before each link, none started."""
    return FairQueue(records(Schedule, bottlenecks), records(FlowQueue, bottlenecks, flows), records(QueuedPacket, bottlenecks, ROOM + 1))


@kernel
def start_fair_queue(fair_queue, s, fair, target_us, interval_us, quantum):
    """Empty the queues before a link: one per flow (FQ-CoDel) or, with `fair` 0, one for all flows (CoDel).

    CoDel's target and interval are above 0; `quantum`, at least 1, are the bytes that a flow may send per turn.
    """
    fair_queue.schedule[s] = _EMPTY[0]
    schedule = fair_queue.schedule[s]
    schedule.fair, schedule.target_us, schedule.interval_us, schedule.quantum = fair, target_us, interval_us, quantum
    restart(fair_queue.flows[s], _EMPTY_QUEUE)
    for index in range(ROOM + 1):
        fair_queue.packets[s, index].following = index + 1


@kernel
def enqueue(fair_queue, s, flow_number, number, size_bytes, capable, now_us, limit_packets, limit_bytes):
    """Insert a packet of a flow, and drop packets at the head of the longest queue while a limit of all flows is exceeded.

    `flow_number` is 0 for the first call, else the flow's index plus one; by `number` its sender recognises it when it leaves; `capable` 1:
    it is ECN-capable. `now_us` is not before any earlier event of this link. `limit_packets`: 1 to ROOM; sizes and `limit_bytes`: at least
    1.
    """
    schedule = fair_queue.schedule[s]
    f = flow_number if schedule.fair == 1 else 0
    index = schedule.free
    packet, flow = fair_queue.packets[s, index], fair_queue.flows[s, f]
    schedule.free = packet.following
    packet.entered_us, packet.number, packet.size_bytes, packet.flow = now_us, number, size_bytes, flow_number
    packet.following, packet.capable, packet.marked = NOTHING, capable, 0
    if flow.first == NOTHING:
        flow.first = index
    else:
        fair_queue.packets[s, flow.last].following = index
    flow.last = index
    flow.bytes += size_bytes
    fair_queue.flows[s, flow_number].waiting += 1
    if schedule.waiting == 0:
        # No packet waited, so no departure was due: an idle link takes this packet at once, a busy one when it is free.
        schedule.next_us = max(now_us, schedule.busy_until_us)
    schedule.waiting += 1
    schedule.bytes += size_bytes
    # An empty flow that returns is new and comes before the old ones, so a flow of few packets does not wait behind them (RFC 8290 4.1).
    if flow.list == _OFF:
        flow.credits = schedule.quantum
        _append(fair_queue, s, _NEW, f)
    # The new packet is queued first, so it may itself be the one to go: alone in the longest queue.
    while schedule.waiting > limit_packets or schedule.bytes > limit_bytes:
        _take(fair_queue, s, _longest(fair_queue, s))
        schedule.dropped += 1
    if schedule.waiting == 0:
        schedule.next_us = NEVER_US


@kernel
def dequeue(fair_queue, s, now_us):
    """Remove the packet that leaves at `now_us`; return its entry, valid until the next insertion, or NOTHING."""
    schedule = fair_queue.schedule[s]
    schedule.next_us = NEVER_US
    while True:
        which = _NEW if schedule.first[_NEW] != NOTHING else _OLD
        f = schedule.first[which]
        if f == NOTHING:
            return NOTHING
        flow = fair_queue.flows[s, f]
        # The turn is used up: with a new quantum the flow waits behind all others, also if it was new (RFC 8290 4.2).
        if flow.credits <= 0:
            flow.credits += schedule.quantum
            _remove_first(fair_queue, s, which)
            _append(fair_queue, s, _OLD, f)
            continue
        index = _codel_dequeue(fair_queue, s, f, now_us)
        if index != NOTHING:
            flow.credits -= fair_queue.packets[s, index].size_bytes
            return index
        _remove_first(fair_queue, s, which)
        if which == _NEW:
            _append(fair_queue, s, _OLD, f)  # so that it cannot return as new at once (RFC 8290 4.2)


@kernel
def link_is_busy(fair_queue, s, until_us):
    """Mark the link as busy until `until_us`, when it takes the next queued packet."""
    schedule = fair_queue.schedule[s]
    schedule.busy_until_us = until_us
    if schedule.waiting > 0:
        schedule.next_us = until_us


@kernel
def _append(fair_queue, s, which, f):
    schedule, flow = fair_queue.schedule[s], fair_queue.flows[s, f]
    flow.list, flow.following = which, NOTHING
    if schedule.first[which] == NOTHING:
        schedule.first[which] = f
    else:
        fair_queue.flows[s, schedule.last[which]].following = f
    schedule.last[which] = f


@kernel
def _remove_first(fair_queue, s, which):
    schedule = fair_queue.schedule[s]
    flow = fair_queue.flows[s, schedule.first[which]]
    schedule.first[which] = flow.following
    flow.list = _OFF


@kernel
def _longest(fair_queue, s):
    longest = 0
    for f in range(fair_queue.flows.shape[1]):
        if fair_queue.flows[s, f].bytes > fair_queue.flows[s, longest].bytes:
            longest = f
    return longest


@kernel
def _take(fair_queue, s, f):
    """Remove the packet at the head of a flow's queue; its entry becomes free, but is unchanged until the next insertion."""
    schedule, flow = fair_queue.schedule[s], fair_queue.flows[s, f]
    index = flow.first
    if index == NOTHING:
        return NOTHING
    packet = fair_queue.packets[s, index]
    flow.first = packet.following
    flow.bytes -= packet.size_bytes
    fair_queue.flows[s, packet.flow].waiting -= 1
    schedule.waiting -= 1
    schedule.bytes -= packet.size_bytes
    packet.following = schedule.free
    schedule.free = index
    return index


@kernel
def _take_and_judge(fair_queue, s, f, now_us):
    """Remove the head of a queue; return its entry, and True if it may be dropped."""
    schedule, flow = fair_queue.schedule[s], fair_queue.flows[s, f]
    index = _take(fair_queue, s, f)
    if index == NOTHING:
        # An empty queue is below the target.
        flow.codel.first_above_us = 0
        return index, False
    stayed_us = now_us - fair_queue.packets[s, index].entered_us
    return index, is_above(flow.codel, stayed_us, flow.bytes, now_us, schedule.target_us, schedule.interval_us)


@kernel
def _mark(fair_queue, s, index):
    """Mark a packet; return False if it is not ECN-capable."""
    packet = fair_queue.packets[s, index]
    packet.marked = packet.capable
    fair_queue.schedule[s].marked += packet.capable
    return packet.capable == 1


@kernel
def _codel_dequeue(fair_queue, s, f, now_us):
    """Remove the packet of a flow that CoDel sends (RFC 8289 5.5, `deque`); return its entry, or NOTHING."""
    schedule, codel = fair_queue.schedule[s], fair_queue.flows[s, f].codel
    index, above = _take_and_judge(fair_queue, s, f, now_us)
    if codel.dropping == 0:
        if above:
            # A mark replaces the drop, so the marked packet is sent. After a drop the next packet is sent, whatever its sojourn time.
            if not _mark(fair_queue, s, index):
                schedule.dropped += 1
                index, _ = _take_and_judge(fair_queue, s, f, now_us)
            enter_dropping(codel, now_us, schedule.interval_us)
        return index
    if not above:
        codel.dropping = 0
    # If packets leave rarely, several drops may be due by now: they follow each other until one lies ahead or a packet is not above.
    while codel.dropping == 1 and now_us >= codel.drop_next_us:
        codel.count += 1
        if _mark(fair_queue, s, index):
            codel.drop_next_us = control_law_us(codel.drop_next_us, codel.count, schedule.interval_us)
            return index
        schedule.dropped += 1
        index, above = _take_and_judge(fair_queue, s, f, now_us)
        if above:
            codel.drop_next_us = control_law_us(codel.drop_next_us, codel.count, schedule.interval_us)
        else:
            codel.dropping = 0
    return index
