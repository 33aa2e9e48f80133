"""State of each video frame and its repair packets, and the numbers of these.

A packet of video has the number of its frame. A repair packet has one below 0, and so has one that goes again after a report of losses.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel

_FRAMES = 512  # remembered for packets that are still under way, a power of two
MASK = _FRAMES - 1
NONE_LOST = 1 << 62
_AGAIN = 1 << 40

FRAME = np.dtype(
    [
        ("number", "i8"),  # -1: none
        ("packets", "i8"),
        ("size", "i8"),  # bytes of a repair packet for this frame alone
        ("told", "i8"),  # packets reported as arrived, with what fills their gaps; packets lost since the last report
        ("lost", "i8"),
        ("before", "i8"),  # frames before that its repair packets cover too
        ("there", "i8"),  # packets that have arrived
        ("on_time", "i8"),  # by the frame's expiry
        ("repairs", "i8"),  # repair packets that have arrived
        ("again", "i8"),  # packets sent again that have arrived
        ("latest_us", "i8"),  # latest arrival
        ("expires_us", "i8"),
        ("is_solved", "i8"),  # 1: what has come in its stead gives the rest
        ("is_on_time", "i8"),  # 1: by the frame's expiry
    ]
)
REPAIRED_VIDEO = np.dtype(
    (
        np.record,
        [
            ("budget", "f8"),
            ("bucket", "f8"),  # bytes
            ("overhead", "f8"),  # share of repair packets in the bytes of the last second
            ("plain_bytes", "i8"),  # of frames
            ("extra_bytes", "i8"),  # of repair packets that entered the send queue
            ("left_out", "i8"),  # repair packets that the budget did not allow
            ("repaired", "i8"),  # packets on time by repair alone
            ("newest", "i8"),  # newest frame
            ("oldest_lost", "i8"),  # oldest frame with packets reported lost just now, or NONE_LOST
            ("again_bytes", "i8"),  # of what went again since the last frame
            ("frames", FRAME, (_FRAMES,)),  # by number modulo _FRAMES
        ],
    )
)


class VideoRepairs(NamedTuple):
    """Repair packets by a rule; first axis: session."""

    rule: Any
    state: Any
    rows: NDArray[np.void]  # (sessions,) of REPAIRED_VIDEO


@kernel
def start_repairs(row, budget):
    """Clear a row of REPAIRED_VIDEO for a new call with this budget, a share of the bytes of frames at least 0."""
    row.budget = budget
    row.bucket = row.overhead = 0.0
    row.oldest_lost = NONE_LOST
    row.again_bytes = row.plain_bytes = row.extra_bytes = row.left_out = row.repaired = row.newest = 0
    for index in range(_FRAMES):
        row.frames[index].number = -1


@kernel
def begin_frame(row, number, packets, size, before, expires_us):
    """Remember a frame that has been captured.

    Args:
        row: record of REPAIRED_VIDEO, updated.
        number: int64, its number, above that of the frame before.
        packets: int64, its packets.
        size: int64, bytes of a repair packet for it alone.
        before: int64, frames before that its repair packets cover too.
        expires_us: int64, latest useful arrival.
    """
    row.newest = number
    frame = row.frames[number & MASK]
    frame.number, frame.packets, frame.size, frame.before, frame.expires_us = number, packets, size, before, expires_us
    frame.told = frame.lost = frame.there = frame.on_time = frame.repairs = frame.again = 0
    frame.latest_us = frame.is_solved = frame.is_on_time = 0


@kernel
def repair_number(frame):
    """Return the number of the repair packets of a frame."""
    return -1 - frame


@kernel
def again_number(frame):
    """Return the number of the packets that go again for a frame."""
    return -1 - frame - _AGAIN


@kernel
def frame_of(number):
    """Return the frame of a packet of this number."""
    return number if number >= 0 else (-1 - number) & (_AGAIN - 1)


@kernel
def is_repair(number):
    """Return True for a repair packet, False for a packet of video, be it sent again or not."""
    return -_AGAIN <= number < 0
