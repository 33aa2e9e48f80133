"""Repair of video at the receiver: packets that others give in their stead, and whether in time.

A repair packet is a general combination of all packets of its frame and of some frames before. One that goes again fills a gap in its
frame. Equations with such coefficients give what they can by number alone: frames that lack packets become known together when each gap
has a repair packet of its own, of a frame that covers it and, before them, only known frames. A general linear code gives no less and no
more. The decoder looks back twice as many frames as the repair packets cover before their own (Tambur's code window).

A missing or late packet then counts as on time if the last packet needed came by the frame's expiry. Outcomes are taken in order of
sending.
"""

from typing import Any

import numpy as np

from vcgym.baselines.protection.protect import MOST_BEFORE
from vcgym.envs.call.sender.in_flight import LOST
from vcgym.envs.call.sender.repairs.rows import MASK, VideoRepairs, frame_of, is_repair
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel


@generic(inlined=True)
def repaired_by(repairs: Any, s: int, number: int, arrived_us: int, expires_us: int) -> int:
    """Take in the outcome of a packet of video; return the change of the packets that are on time by repair alone.

    Args:
        repairs: VideoRepairs, or NoRepairs; row `s` is updated.
        s: int64, session.
        number: int64, number of the packet (vcgym.envs.call.sender.repairs.rows); outcomes come in order of sending.
        arrived_us: int64, arrival, or LOST.
        expires_us: int64, latest useful arrival.
    """
    return 0


@repaired_by.register(VideoRepairs)
def _repaired_by(repairs, s, number, arrived_us, expires_us):
    row, named = repairs.rows[s], frame_of(number)
    frame = row.frames[named & MASK]
    if arrived_us == LOST or frame.number != named:
        return 0
    before = row.repaired
    frame.latest_us = max(frame.latest_us, arrived_us)
    if is_repair(number):
        frame.repairs += 1
    elif number < 0:
        frame.again += 1
    else:
        frame.there += 1
        if arrived_us <= expires_us:
            frame.on_time += 1
            row.repaired -= frame.is_on_time  # it was counted as repaired before
    _repair(row, named)
    return row.repaired - before


@kernel
def _repair(row, named):
    """Complete the frames that are known now that a packet of frame `named` has come."""
    if _lacks(row, named) == 0:
        _complete(row, named, named)
    for newest in range(named, min(named + MOST_BEFORE, row.newest) + 1):
        frame = row.frames[newest & MASK]
        if frame.number == newest and frame.repairs > 0 and newest - frame.before <= named:
            for oldest in range(max(newest - 2 * frame.before, 0), newest + 1):
                if _gives(row, oldest, newest):
                    _complete(row, oldest, newest)
                    break


@kernel
def _is_complete(row, number):
    frame = row.frames[number & MASK]
    return frame.number != number or frame.is_solved == 1 or frame.there == frame.packets


@kernel
def _lacks(row, number):
    """Return the gaps of a frame, int64."""
    frame = row.frames[number & MASK]
    return np.int64(0) if _is_complete(row, number) else max(frame.packets - frame.there - frame.again, 0)


@kernel
def _gives(row, oldest, newest):
    """Return True if the repair packets of these frames fill all their gaps, and there are some; each fills the oldest that it can."""
    at, filled = oldest, 0
    gaps = _lacks(row, at)
    for number in range(oldest, newest + 1):
        frame = row.frames[number & MASK]
        if frame.number != number or not _is_known(row, number - frame.before, oldest):
            continue
        for _ in range(frame.repairs):
            while gaps == 0 and at < number:
                at += 1
                gaps = _lacks(row, at)
            if gaps > 0 and at < number - frame.before:
                return False  # neither does a later one
            filled += 1 if gaps > 0 else 0
            gaps -= 1 if gaps > 0 else 0
    while gaps == 0 and at < newest:
        at += 1
        gaps = _lacks(row, at)
    return gaps == 0 and filled > 0


@kernel
def _is_known(row, first, past):
    """Return True if all frames from `first` to before `past` are complete."""
    known = True
    for number in range(max(first, 0), past):
        known = known and _is_complete(row, number)
    return known


@kernel
def _complete(row, oldest, newest):
    """Count the frames as repaired, at the arrival of the last packet needed."""
    at_us = np.int64(0)
    for number in range(oldest, newest + 1):
        if row.frames[number & MASK].number == number:
            at_us = max(at_us, row.frames[number & MASK].latest_us)
    for number in range(oldest, newest + 1):
        frame = row.frames[number & MASK]
        if not _is_complete(row, number):
            frame.is_solved = 1
            frame.is_on_time = 1 if at_us <= frame.expires_us else 0
            row.repaired += (frame.packets - frame.on_time) * frame.is_on_time
