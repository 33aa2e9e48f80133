"""The send queue: packets that wait for a transmission opportunity, oldest first, of bounded length. A scheduler chooses among them."""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records

VIDEO, AUDIO = 0, 1  # kinds, and their priorities: higher is more important
KINDS = 2
MAX_WAITING = 1024  # a power of two
_MASK = MAX_WAITING - 1


@record
class Item:
    """Packet in a queue."""

    created_us: int = 0
    expires_us: int = 0  # latest useful arrival at the receiver
    size_bytes: int = 0  # including all headers
    kind: int = VIDEO
    frame: int = 0


@record
class SendQueue:
    """Queue of a sender."""

    limit: int = 0  # packets, 1 to MAX_WAITING
    first: int = 0
    waiting: int = 0
    bytes: int = 0
    governs: int = 0  # index of the active scheduler, if there are several
    packets: NDArray[np.void] = records(Item, MAX_WAITING)


@kernel
def item_at(queue, i):
    """Return the i-th oldest packet, 0 <= i < waiting."""
    return queue.packets[(queue.first + i) & _MASK]


@kernel
def put(queue, created_us, expires_us, size_bytes, kind, frame):
    """Append a packet to a queue with `waiting` below `limit`; `created_us` is not below that of the packet before.

    `size_bytes`, at least 1, has all headers; `kind` is VIDEO or AUDIO; `frame` the number of the video frame or of the audio packet.
    """
    item = queue.packets[(queue.first + queue.waiting) & _MASK]
    item.created_us, item.expires_us, item.size_bytes, item.kind, item.frame = created_us, expires_us, size_bytes, kind, frame
    queue.waiting += 1
    queue.bytes += size_bytes


@kernel
def take_out(queue, i):
    """Remove the i-th oldest packet; older packets move up."""
    queue.bytes -= item_at(queue, i).size_bytes
    for index in range(i, 0, -1):
        target, source = item_at(queue, index), item_at(queue, index - 1)
        target.created_us, target.expires_us = source.created_us, source.expires_us
        target.size_bytes, target.kind, target.frame = source.size_bytes, source.kind, source.frame
    queue.first = (queue.first + 1) & _MASK
    queue.waiting -= 1
