"""Repair packets for the video of a call with an uplink: what a rule adds to each frame, and what the receiver repairs with it.

The packets of a frame may be followed by repair packets, each a general combination of all packets of the frame and of some frames before.
They stand behind the frame in the send queue and pass pacer, bottleneck and paths like its packets. The rate rule hears of them by reports,
and so does the rule of the protection (`PacketFeedback` in its `update`).

Packets that are missing in consecutive frames become known together when, from each of these frames on, as many repair packets have
arrived as packets are missing, and the frames before that these cover are known: a general linear code gives no less and no more. The
decoder looks back twice as many frames as repair packets cover before their own (Tambur's code window). A missing or late packet then
counts as on time if the last packet needed came by the frame's expiry. Outcomes are taken in order of sending.

Every byte of a repair packet is paid from a bucket: with each frame it gets the budget's share of the frame's bytes, and it holds at most
that of 60 s at the target. What it cannot pay is left out, and so is what finds the send queue full. The encoder gets the target less the
share that repair packets took of the last second, at most half, as in libwebrtc (fec_controller_default.cc).

After a report of losses the rule may send more for a frame whose expiry is still ahead (`protect_again`). These are repair packets of the
frame too: one that goes again fills the same gap, and nothing else.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.protect import protect_again, protect_frame
from vcgym.baselines.records import NOT_ARRIVED
from vcgym.baselines.rule import update
from vcgym.envs.call.sender.in_flight import LOST
from vcgym.network.bottleneck.send_queue import VIDEO
from vcgym.network.bottleneck.sources import part_bytes
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel
from vcgym.network.playout.packet_size import MOST_COVERED, repair_bytes

_FRAMES = 512  # remembered for packets that are still under way, a power of two
_MASK = _FRAMES - 1
_BUCKET_S = 60.0
_MOST_OVERHEAD = 0.5
NONE_LOST = 1 << 62

FRAME = np.dtype(
    [
        ("number", "i8"),  # -1: none
        ("packets", "i8"),
        ("size", "i8"),  # bytes of a repair packet
        ("told", "i8"),  # packets and repair packets reported as arrived; as lost since the last report
        ("lost", "i8"),
        ("before", "i8"),  # frames before that its repair packets cover too
        ("there", "i8"),  # packets that have arrived
        ("on_time", "i8"),  # by the frame's expiry
        ("repairs", "i8"),  # repair packets that have arrived
        ("latest_us", "i8"),  # latest arrival
        ("expires_us", "i8"),
        ("is_solved", "i8"),  # 1: its repair packets and those after it give the rest
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
    row.again_bytes = row.plain_bytes = row.extra_bytes = row.left_out = row.repaired = 0
    for index in range(_FRAMES):
        row.frames[index].number = -1


@kernel
def _begin_frame(frame, number, packets, before, expires_us):
    frame.number = number
    frame.packets = packets
    frame.before = before
    frame.expires_us = expires_us
    frame.told = frame.lost = frame.there = frame.on_time = frame.repairs = frame.latest_us = frame.is_solved = frame.is_on_time = 0


@kernel
def repair_size(packets, longest):
    """Return the bytes of a repair packet of a frame of so many packets, int64; `longest` is the size of the longest, with its headers."""
    return repair_bytes(min(packets, MOST_COVERED), longest)


@generic(inlined=True)
def repairs_of_frame(repairs: Any, sender: Any, s: int, size_bytes: int, packets: int) -> int:
    """Remember a captured frame and pay its repair packets; return how many follow it, 0 without repairs.

    Args:
        repairs: VideoRepairs, or NoRepairs; row `s` is updated.
        sender: record of SENDER; read only.
        s: int64, session.
        size_bytes: int64, size of the frame.
        packets: int64, its packets.
    """
    return 0


@kernel
def _pay(row, wanted, size):
    """Pay as many of the wanted repair packets as the bucket allows; return how many."""
    paid = 0
    while paid < wanted and row.bucket >= size:
        row.bucket -= size
        paid += 1
    row.left_out += wanted - paid
    return paid


@repairs_of_frame.register(VideoRepairs)
def _repairs_of_frame(repairs, sender, s, size_bytes, packets):
    row = repairs.rows[s]
    wanted = protect_frame(repairs.rule, repairs.state, s, sender.now_us, packets, sender.expiry_us)
    _begin_frame(row.frames[sender.frame & _MASK], sender.frame, packets, wanted.before, sender.now_us + sender.expiry_us)
    row.plain_bytes += size_bytes
    row.bucket = min(row.bucket + row.budget * size_bytes, row.budget * _BUCKET_S * sender.target_bps / 8.0)
    size = repair_size(packets, part_bytes(size_bytes, packets, 0))
    row.frames[sender.frame & _MASK].size = size
    paid = _pay(row, wanted.repairs, size)
    weight = min(sender.source.frame_us * 1e-6, 1.0)
    beyond = paid * size + row.again_bytes
    row.overhead += weight * (beyond / (size_bytes + beyond) - row.overhead)
    row.again_bytes = 0
    return paid


@generic(inlined=True)
def media_share(repairs: Any, s: int) -> float:
    """Return the share of the target that is left for the encoder, 1 without repairs."""
    return 1.0


@media_share.register(VideoRepairs)
def _media_share(repairs, s):
    return 1.0 - min(repairs.rows[s].overhead, _MOST_OVERHEAD)


@generic(inlined=True)
def note_repair(repairs: Any, s: int, size_bytes: int) -> None:
    """Count a repair packet that has entered the send queue."""


@note_repair.register(VideoRepairs)
def _note_repair(repairs, s, size_bytes):
    repairs.rows[s].extra_bytes += size_bytes


@generic(inlined=True)
def learn_of_report(repairs: Any, s: int, feedback: Any, kind: int, number: int) -> None:
    """Give the rule of the repairs the outcome of a reported packet; without repairs do nothing.

    Args:
        repairs: VideoRepairs, or NoRepairs; row `s` is updated.
        s: int64, session.
        feedback: PacketFeedback of the packet.
        kind: int64, VIDEO or AUDIO.
        number: int64, number of the frame, of a repair packet `repair_number`.
    """


@learn_of_report.register(VideoRepairs)
def _learn_of_report(repairs, s, feedback, kind, number):
    update(repairs.rule, repairs.state, s, feedback)
    row, named = repairs.rows[s], number if number >= 0 else repair_number(number)
    frame = row.frames[named & _MASK]
    if kind == VIDEO and frame.number == named:
        has_arrived = feedback.arrived_us != NOT_ARRIVED
        frame.told += 1 if has_arrived else 0
        frame.lost += 0 if has_arrived else 1
        row.oldest_lost = row.oldest_lost if has_arrived else min(row.oldest_lost, named)


class Again(NamedTuple):
    """Packets that go again for a frame, all int64; 0 packets: no frame asks for more."""

    packets: int
    frame: int
    size_bytes: int
    expires_us: int


@generic(inlined=True)
def next_again(repairs: Any, sender: Any, s: int) -> Any:
    """Return what goes again after a report for the oldest frame that asks for more, an Again."""
    return Again(0, 0, 0, 0)


@next_again.register(VideoRepairs)
def _next_again(repairs, sender, s):
    row = repairs.rows[s]
    while row.oldest_lost < sender.frame:
        number = row.oldest_lost
        frame = row.frames[number & _MASK]
        row.oldest_lost += 1
        lost, remaining_us = min(frame.lost, frame.packets - frame.told), frame.expires_us - sender.now_us
        frame.lost = 0
        if frame.number == number and lost > 0 and remaining_us > 0:
            packets = _pay(row, protect_again(repairs.rule, repairs.state, s, frame.packets, lost, remaining_us), frame.size)
            row.again_bytes += packets * frame.size
            if packets > 0:
                return Again(packets, number, frame.size, frame.expires_us)
    row.oldest_lost = NONE_LOST
    return Again(0, 0, 0, 0)


@generic(inlined=True)
def repaired_by(repairs: Any, s: int, number: int, arrived_us: int, expires_us: int) -> int:
    """Take in the outcome of a packet of video; return the change of the packets that are on time by repair alone.

    Args:
        repairs: VideoRepairs, or NoRepairs; row `s` is updated.
        s: int64, session.
        number: int64, number of the frame, of a repair packet `repair_number`; outcomes come in order of sending.
        arrived_us: int64, arrival, or LOST.
        expires_us: int64, latest useful arrival.
    """
    return 0


@repaired_by.register(VideoRepairs)
def _repaired_by(repairs, s, number, arrived_us, expires_us):
    row = repairs.rows[s]
    newest = number if number >= 0 else repair_number(number)
    frame = row.frames[newest & _MASK]
    if arrived_us == LOST or frame.number != newest:
        return 0
    before = row.repaired
    frame.latest_us = max(frame.latest_us, arrived_us)
    if number < 0:
        frame.repairs += 1
    else:
        frame.there += 1
        if arrived_us <= expires_us:
            frame.on_time += 1
            row.repaired -= frame.is_on_time  # it was counted as repaired before
    oldest = _oldest_solved(row, newest)
    if oldest <= newest:
        _complete(row, oldest, newest)
    return row.repaired - before


@kernel
def _is_complete(row, number):
    frame = row.frames[number & _MASK]
    return frame.number != number or frame.is_solved == 1 or frame.there == frame.packets


@kernel
def _oldest_solved(row, newest):
    """Return the first of the frames up to `newest` that its repair packets and theirs give together, newest + 1 if there is none."""
    span = row.frames[newest & _MASK].before
    for oldest in range(max(newest - 2 * span, 0), newest + 1):
        known = not _is_complete(row, oldest)
        for number in range(max(oldest - span, 0), oldest):
            known = known and _is_complete(row, number)
        if known and _has_enough(row, oldest, newest):
            return oldest
    return newest + 1


@kernel
def _has_enough(row, oldest, newest):
    """Return True if from each frame on at least as many repair packets have arrived as packets are missing."""
    spare = 0
    for number in range(newest, oldest - 1, -1):
        frame = row.frames[number & _MASK]
        spare += frame.repairs - (0 if _is_complete(row, number) else frame.packets - frame.there)
        if spare < 0:
            return False
    return True


@kernel
def _complete(row, oldest, newest):
    """Count the frames as repaired, at the arrival of the last packet needed."""
    at_us = np.int64(0)
    for number in range(oldest, newest + 1):
        at_us = max(at_us, row.frames[number & _MASK].latest_us)
    for number in range(oldest, newest + 1):
        frame = row.frames[number & _MASK]
        if not _is_complete(row, number):
            frame.is_solved = 1
            frame.is_on_time = 1 if at_us <= frame.expires_us else 0
            row.repaired += (frame.packets - frame.on_time) * frame.is_on_time


@kernel
def repair_number(frame):
    """Return the number of the repair packets of a frame, below 0; of such a number the frame."""
    return -1 - frame
