"""Physical links, a drop-tail FIFO queue, a server of constant rate and the propagation delay each; and the clock of all events.

Packets leave in order, so a link keeps them in a ring, and the first one is its next event. Arithmetic is exact: the server's next free
instant is a microsecond plus a fraction; departures are rounded up to whole microseconds, and rounding errors do not accumulate. A packet
offered while the link is down is lost; packets already on the link continue.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel

NEVER_US = 1 << 62
_MILLION = 1_000_000
MEDIA, CROSS, CODED, MESSAGE = 0, 1, 2, 3  # kinds of packets; a message of kind k is MESSAGE + k

LINK = np.dtype(
    (
        np.record,
        [
            ("rate_bps", "i8"),
            ("propagation_us", "i8"),
            ("limit_packets", "i8"),  # including the packet in service
            ("down", "i8"),
            ("free_us", "i8"),  # next free instant of the server ...
            ("used", "i8"),  # ... plus used / rate microseconds
            ("first", "i8"),  # start of the link's ring
            ("mask", "i8"),
            ("entered", "i8"),
            ("left", "i8"),  # entered packets known to have left the server
            ("taken", "i8"),  # entered packets that have arrived
            ("bytes", "i8"),  # bytes entered
            ("dropped", "i8"),
            ("cut", "i8"),  # packets offered while down
        ],
    )
)

PACKET = np.dtype(
    (
        np.record,
        [
            ("arrives_us", "i8"),  # arrival at the end of the physical link
            ("sent_us", "i8"),  # entry into the overlay link
            ("created_us", "i8"),
            ("number", "i8"),  # packet number in the session, or message number
            ("sequence", "i8"),  # sequence number on the overlay link
            ("plan", "i8"),
            ("size_bytes", "i4"),
            ("kind", "i2"),
            ("session", "i2"),
            ("tree", "i2"),
            ("tail", "i2"),
            ("head", "i2"),
            ("hop", "i2"),  # physical links passed so far
            ("copy_index", "i2"),  # index among the copies sent at once
        ],
    )
)


class Clock(NamedTuple):
    """Next event of each stream, (leaves,), and the winner below each inner node of their tournament tree, (leaves,), with the root at 1.

    Links deliver in order, and sources and flows send in order: each stream has one next event, and a change recomputes only one stream's
    branch. At equal times the stream with the lower number comes first.
    """


    next_us: NDArray[np.int64]
    winner: NDArray[np.int64]


def allocate_clock(streams: int) -> Clock:
    """Return a clock of streams without events."""
    leaves = 1 << max(1, (streams - 1).bit_length())
    return Clock(np.full(leaves, NEVER_US, np.int64), np.zeros(leaves, np.int64))


@kernel
def stop_clock(clock):
    """Remove all events."""
    clock.next_us[:] = NEVER_US
    leaves = clock.next_us.size
    for node in range(leaves - 1, 0, -1):
        clock.winner[node] = clock.winner[2 * node] if 2 * node < leaves else 2 * node - leaves


@kernel
def set_next(clock, stream, next_us):
    """Set the next event of a stream."""
    leaves = clock.next_us.size
    clock.next_us[stream] = next_us
    node = (stream + leaves) >> 1
    while node > 0:
        left, right = 2 * node, 2 * node + 1
        one = clock.winner[left] if left < leaves else left - leaves
        other = clock.winner[right] if right < leaves else right - leaves
        clock.winner[node] = other if clock.next_us[other] < clock.next_us[one] else one
        node >>= 1


@kernel
def earliest(clock):
    """Return the stream with the earliest event."""
    return clock.winner[1]


@kernel
def offer(links, rings, clock, number, now_us, packet):
    """Offer a copy of a packet to a link; return False if it is lost.

    Args:
        links: (L,) of LINK; entry `number` is updated.
        rings: (places,) of PACKET, packets of all links; the link's part is updated.
        clock: Clock; the link's next event is set if the packet is its first.
        number: int64, link, 0 to L - 1.
        now_us: int64, arrival at the link; must not decrease from call to call.
        packet: record of PACKET, not changed; its copy gets the arrival at the end of the link.
    """
    link = links[number]
    if link.down:
        link.cut += 1
        return False
    while link.left < link.entered and rings[link.first + (link.left & link.mask)].arrives_us - link.propagation_us <= now_us:
        link.left += 1
    # The second limit is that of the ring, which also holds the packets that propagate behind the server.
    if link.entered - link.left >= link.limit_packets or link.entered - link.taken > link.mask:
        link.dropped += 1
        return False
    if link.free_us < now_us:
        link.free_us, link.used = now_us, 0
    work = link.used + packet.size_bytes * np.int64(8 * _MILLION)
    took_us = work // link.rate_bps
    link.free_us += took_us
    link.used = work - took_us * link.rate_bps
    index = link.first + (link.entered & link.mask)
    rings[index] = packet
    rings[index].arrives_us = link.free_us + (1 if link.used > 0 else 0) + link.propagation_us
    if link.entered == link.taken:
        set_next(clock, number, rings[index].arrives_us)
    link.entered += 1
    link.bytes += packet.size_bytes
    return True


@kernel
def take(links, rings, clock, number):
    """Remove and return the packet that arrives first at the end of a link, and set the link's next event.

    Args:
        links: (L,) of LINK; entry `number` has at least one packet, and is updated.
        rings: (places,) of PACKET, packets of all links.
        clock: Clock, updated.
        number: int64, link, 0 to L - 1.

    Returns:
        Record of PACKET inside `rings`; a later `offer` may overwrite it.
    """
    link = links[number]
    index = link.first + (link.taken & link.mask)
    link.taken += 1
    next_us = rings[link.first + (link.taken & link.mask)].arrives_us if link.taken < link.entered else np.int64(NEVER_US)
    set_next(clock, number, next_us)
    return rings[index]
