"""A drop-tail FIFO queue before a link of varying capacity, with the exact departure time of each packet.

A packet's departure time is known when it enters, since later packets cannot overtake it. So departures need no events, and a packet costs
O(1). Integer arithmetic keeps it exact: work is counted in bits times a million, so that a rate in bit/s does `rate` units per microsecond,
and the server's next free instant is a microsecond plus a fraction. Departures are rounded up to whole microseconds; rounding errors do not
accumulate.

The packet in service occupies the queue until it has left; a packet that leaves in the microsecond of another's arrival has left.

If capacity is a trace of delivery opportunities, up to 1500 bytes leave at each: several packets or part of one. The unused rest of an
opportunity is lost if the queue is empty (mahimahi's link emulation, Netravali et al., USENIX ATC 2015, section 3.2).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.bottleneck.capacity.capacity import OPPORTUNITY_BYTES
from vcgym.network.bottleneck.fair_queue import NEVER_US, FairQueue, allocate_fair_queue
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records

DROPPED = -1
NO_MARKS = 1 << 62
MAX_QUEUED = 8192  # packets; a power of two
_MASK = MAX_QUEUED - 1
_MILLION = 1_000_000
_NO_LIMIT_BYTES = 1 << 40


@record
class Link:
    """Queue and server of a bottleneck."""

    limit_packets: int = 0  # including the packet in service
    limit_bytes: int = 0
    free_us: int = -1  # next free instant of the server ...
    used: int = 0  # ... plus used / rate microseconds; for an opportunity, the bytes used
    cycle_us: int = 0  # start of the current cycle of the trace
    place: int = 0  # entry of the trace
    entered: int = 0  # packets accepted so far
    left: int = 0  # accepted packets known to have left
    queued_bytes: int = 0
    dropped: int = 0
    mark_us: int = NO_MARKS  # an ECN-capable packet that would wait longer is marked
    by_events: int = 0  # 1: departures are events of the fair queue
    passed: int = 0  # packets that took a delay that changes ...
    last_us: int = 0  # ... and when the last of them had it behind it


_NEW_LINK = records(Link, 1)


class Queue(NamedTuple):
    """The queues of a batch of bottlenecks; first axis: bottleneck."""

    link: NDArray  # (bottlenecks,) of Link
    departs_us: NDArray[np.int64]  # (bottlenecks, MAX_QUEUED)
    sizes: NDArray[np.int32]  # bytes
    fair: FairQueue  # used by links with `by_events`


def allocate_queue(bottlenecks: int, flows: int = 1) -> Queue:
    """Allocate the queues of `bottlenecks` links for up to `flows` flows each, none started."""
    shape = (bottlenecks, MAX_QUEUED)
    return Queue(records(Link, bottlenecks), np.zeros(shape, np.int64), np.zeros(shape, np.int32), allocate_fair_queue(bottlenecks, flows))


def require_limits(limit_packets: int, limit_bytes: int | None = None) -> tuple[int, int]:
    """Return both limits of a queue for kernels, where None is no limit; raise a ValueError for one out of range, such as 0."""
    for name, value, largest in (("limit_packets", limit_packets, MAX_QUEUED), ("limit_bytes", limit_bytes, _NO_LIMIT_BYTES)):
        if value is not None and not 1 <= value <= largest:
            raise ValueError(f"{name} = {value} of a queue: allowed is 1 to {largest}")
    return limit_packets, _NO_LIMIT_BYTES if limit_bytes is None else limit_bytes


@kernel
def start_link(queue, capacity, s, limit_packets, limit_bytes):
    """Empty the queue of a bottleneck and start its trace, which is already chosen; without marks, and drop-tail.

    `limit_packets` has the packet in service too, 1 to MAX_QUEUED; `limit_bytes` is at least 1.
    """
    queue.link[s] = _NEW_LINK[0]
    link = queue.link[s]
    link.limit_packets, link.limit_bytes, link.cycle_us = limit_packets, limit_bytes, -capacity.start_us[s]
    queue.fair.schedule[s].next_us = NEVER_US


@kernel
def offer(queue, capacity, s, now_us, size_bytes):
    """Offer a packet of at least one byte to a drop-tail queue; arrivals must not decrease from call to call.

    Returns:
        Departure time, int64 microseconds, at least `now_us`; or DROPPED.
    """
    link = queue.link[s]
    while link.left < link.entered and queue.departs_us[s, link.left & _MASK] <= now_us:
        link.queued_bytes -= queue.sizes[s, link.left & _MASK]
        link.left += 1
    if link.entered - link.left >= link.limit_packets or link.queued_bytes + size_bytes > link.limit_bytes:
        link.dropped += 1
        return np.int64(DROPPED)
    departs_us = serve(link, capacity, s, now_us, size_bytes)
    queue.departs_us[s, link.entered & _MASK] = departs_us
    queue.sizes[s, link.entered & _MASK] = size_bytes
    link.entered += 1
    link.queued_bytes += size_bytes
    return departs_us


@kernel
def serve(link, capacity, s, now_us, size_bytes):
    """Schedule a packet on the link behind the earlier ones; its service starts at its arrival, or when the link is free if that is later.

    Free instant and place in the trace of `link` are updated. Return the departure time, int64 microseconds.
    """
    if capacity.rates_bps[capacity.first[s]] > 0:
        return _serve_at_rate(link, capacity, s, now_us, size_bytes)
    return _serve_at_opportunities(link, capacity, s, now_us, size_bytes)


@kernel
def _ends_us(link, capacity, s):
    """Return the start time of the next capacity entry."""
    next_entry = link.place + 1
    if next_entry < capacity.entries[s]:
        return link.cycle_us + capacity.times_us[capacity.first[s] + next_entry]
    return link.cycle_us + capacity.length_us[s] + capacity.times_us[capacity.first[s]]


@kernel
def _next_entry(link, capacity, s):
    link.place += 1
    if link.place == capacity.entries[s]:
        link.place = 0
        link.cycle_us += capacity.length_us[s]


@kernel
def _seek(link, capacity, s, now_us):
    """Move to the trace entry in force at `now_us`, skipping whole cycles of the trace at once."""
    turns = (now_us - link.cycle_us) // capacity.length_us[s]
    if turns > 1:
        link.cycle_us += (turns - 1) * capacity.length_us[s]
    while _ends_us(link, capacity, s) <= now_us:
        _next_entry(link, capacity, s)


@kernel
def _serve_at_rate(link, capacity, s, now_us, size_bytes):
    if link.free_us < now_us or (link.free_us == now_us and link.used == 0):
        link.free_us, link.used = now_us, 0
        _seek(link, capacity, s, now_us)
    work = size_bytes * np.int64(8 * _MILLION)
    while True:
        rate = capacity.rates_bps[capacity.first[s] + link.place]
        ends_us = _ends_us(link, capacity, s)
        # Work left in this entry; limited to avoid overflow when it exceeds any packet.
        rest_us = min(ends_us - link.free_us, np.int64(1 << 62) // rate)
        if work <= rest_us * rate - link.used:
            done = link.used + work
            took_us = done // rate
            link.free_us += took_us
            link.used = done - took_us * rate
            return link.free_us + (1 if link.used > 0 else 0)
        work -= rest_us * rate - link.used
        link.free_us, link.used = ends_us, 0
        _next_entry(link, capacity, s)


@kernel
def _serve_at_opportunities(link, capacity, s, now_us, size_bytes):
    """Return the departure time of a packet; `free_us` is the last used opportunity, `used` the bytes used of it."""
    if link.free_us < now_us:  # the queue is empty, so earlier opportunities are lost
        _seek(link, capacity, s, now_us - 1)
        if link.cycle_us + capacity.times_us[capacity.first[s] + link.place] < now_us:
            _next_entry(link, capacity, s)
        link.used = 0
    rest = size_bytes
    while rest > OPPORTUNITY_BYTES - link.used:
        rest -= OPPORTUNITY_BYTES - link.used
        link.used = 0
        _next_entry(link, capacity, s)
    link.used += rest
    link.free_us = link.cycle_us + capacity.times_us[capacity.first[s] + link.place]
    return link.free_us


@kernel
def is_marked(queue, s, now_us):
    """Return True if an ECN-capable packet that arrives at bottleneck `s` at `now_us` is marked on entry."""
    link = queue.link[s]
    return link.entered > 0 and queue.departs_us[s, (link.entered - 1) & _MASK] - now_us > link.mark_us
