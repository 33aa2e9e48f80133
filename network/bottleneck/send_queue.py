"""The send queue: packets that wait for a transmission opportunity, oldest first, of bounded length. A scheduler chooses among them."""

import numpy as np

from vcgym.network.kernels.jit import kernel

VIDEO, AUDIO = 0, 1  # kinds, and their priorities: higher is more important
KINDS = 2
MAX_WAITING = 1024  # a power of two
_MASK = MAX_WAITING - 1

ITEM = np.dtype(
    (
        np.record,
        [
            ("created_us", "i8"),
            ("expires_us", "i8"),  # latest useful arrival at the receiver
            ("size_bytes", "i8"),  # including all headers
            ("kind", "i8"),
            ("frame", "i8"),
        ],
    )
)

SEND_QUEUE = np.dtype(
    (
        np.record,
        [
            ("limit", "i8"),
            ("first", "i8"),
            ("waiting", "i8"),
            ("bytes", "i8"),
            ("governs", "i8"),  # index of the active scheduler, if there are several
            ("packets", ITEM, (MAX_WAITING,)),
        ],
    )
)


@kernel
def clear_send_queue(queue, limit):
    """Empty the queue and limit it to `limit` packets, 1 to MAX_WAITING."""
    queue.limit, queue.first, queue.waiting, queue.bytes, queue.governs = limit, 0, 0, 0, 0


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
