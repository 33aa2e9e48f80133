"""A drop-tail first-in-first-out queue before a link of changing capacity: the exact instant at which each packet leaves.

Whoever enters such a queue knows when it will leave, as nothing behind it can overtake: so there is no event for a departure, and a packet
costs O(1). Arithmetic is in integers and exact: work is counted in bits times a million, so that a rate in bit/s does `rate` of it in a
microsecond, and the server's next free instant is a microsecond and a share of one. Departures are rounded up to whole microseconds; the
rounding does not add up.

The packet in service takes room in the queue until it has left; one that leaves in the very microsecond in which another comes has gone.

Where capacity is a trace of opportunities, up to 1500 bytes leave at each, of several packets or a part of one; what an opportunity has
over is lost when nothing waits (mahimahi's link emulation, Netravali et al., USENIX ATC 2015, section 3.2).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.bottleneck.capacity.capacity import OPPORTUNITY_BYTES
from vcgym.network.bottleneck.fair_queue import NEVER_US, FairQueue, allocate_fair_queue
from vcgym.network.kernels.jit import kernel

DROPPED = -1
NO_MARKS = 1 << 62
MAX_QUEUED = 8192  # packets; a power of two
_MASK = MAX_QUEUED - 1
_MILLION = 1_000_000
_NO_LIMIT_BYTES = 1 << 40

LINK = np.dtype(
    (
        np.record,
        [
            ("limit_packets", "i8"),  # waiting and in service
            ("limit_bytes", "i8"),
            ("free_us", "i8"),  # the server is free from here on ...
            ("used", "i8"),  # ... plus used / rate microseconds; of an opportunity, the bytes that have left at it
            ("cycle_us", "i8"),  # when the present turn of the trace began
            ("place", "i8"),  # in the trace
            ("entered", "i8"),  # packets let in so far
            ("left", "i8"),  # of them, those known to have left
            ("queued_bytes", "i8"),
            ("dropped", "i8"),
            ("mark_us", "i8"),  # an ECN-capable packet that would wait longer is marked, or NO_MARKS
            ("by_events", "i8"),  # 1: packets leave by events of the fair queue
        ],
    )
)


class Queue(NamedTuple):
    """The queues of a batch of bottlenecks; first axis the bottleneck."""

    link: NDArray  # (bottlenecks,) of LINK
    departs_us: NDArray[np.int64]  # (bottlenecks, MAX_QUEUED)
    sizes: NDArray[np.int32]  # bytes
    fair: FairQueue  # in use where a link says `by_events`


def allocate_queue(bottlenecks: int, flows: int = 1) -> Queue:
    """Allocate the queues of `bottlenecks` links for up to `flows` flows each, none started."""
    shape = (bottlenecks, MAX_QUEUED)
    return Queue(
        np.zeros(bottlenecks, LINK), np.zeros(shape, np.int64), np.zeros(shape, np.int32), allocate_fair_queue(bottlenecks, flows)
    )


def require_limits(limit_packets: int, limit_bytes: int | None = None) -> tuple[int, int]:
    """Return both limits of a queue as the kernel takes them; None is no limit.

    Raises:
        ValueError: a limit out of its range, a length of 0 included.
    """
    for name, value, largest in (("limit_packets", limit_packets, MAX_QUEUED), ("limit_bytes", limit_bytes, _NO_LIMIT_BYTES)):
        if value is not None and not 1 <= value <= largest:
            raise ValueError(f"{name} = {value} of a queue: allowed is 1 to {largest}")
    return limit_packets, _NO_LIMIT_BYTES if limit_bytes is None else limit_bytes


@kernel
def start_link(queue, capacity, s, limit_packets, limit_bytes):
    """Empty the queue of bottleneck `s` and begin its trace."""
    link = queue.link[s]
    link.limit_packets, link.limit_bytes = limit_packets, limit_bytes
    link.cycle_us = -capacity.start_us[s]
    link.free_us, link.mark_us, link.by_events = -1, NO_MARKS, 0
    queue.fair.schedule[s].next_us = NEVER_US
    link.used = link.place = link.entered = link.left = link.queued_bytes = link.dropped = 0


@kernel
def offer(queue, capacity, s, now_us, size_bytes):
    """Offer a packet to bottleneck `s`; return when it will have left, in microseconds, or DROPPED. Times never fall."""
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
    """Put a packet that came at `now_us` on the link behind those before it; return when it will have left."""
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
    """Move to the entry of the trace that holds at `now_us`, whole cycles of the trace at once."""
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
        # What the rest of this entry can do; a rest that could do any packet is not multiplied out, which would overflow.
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
    """Return when a packet leaves; `free_us` is the opportunity used last, `used` the bytes that left at it."""
    if link.free_us < now_us:  # nothing waits, and what is over at opportunities before is lost
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
    """Return True if an ECN-capable packet that comes to bottleneck `s` at `now_us` enters marked, if it enters."""
    link = queue.link[s]
    return link.entered > 0 and queue.departs_us[s, (link.entered - 1) & _MASK] - now_us > link.mark_us


@kernel
def queued(queue, s, now_us):
    """Return the number of packets that wait or are served at bottleneck `s`."""
    link, n = queue.link[s], np.int64(0)
    for entry in range(link.left, link.entered):
        n += queue.departs_us[s, entry & _MASK] > now_us
    return n
