"""Repair packets for the video of a call with an uplink: what a rule adds to each frame, and what it sends again after a report of losses.

The packets of a frame may be followed by repair packets, each a general combination of all packets of the frame and of some frames before
(vcgym.envs.call.sender.repairs.repairing). They stand behind the frame in the send queue and pass pacer, bottleneck and paths like its
packets. The rate rule hears of them by reports, and so does the rule of the protection (`PacketFeedback` in its `update`).

Every byte of a repair packet is paid from a bucket: with each frame it gets the budget's share of the frame's bytes, and it holds at most
that of 60 s at the target. What it cannot pay is left out, and so is what finds the send queue full. The encoder gets the target less the
share that repair packets took of the last second, at most half, as in libwebrtc (fec_controller_default.cc).

After a report of losses the rule may send more for a frame whose expiry is still ahead (`protect_again`). One that goes again fills a gap
of its frame, and has the size of a repair packet for this frame alone.
"""

from typing import Any, NamedTuple

from vcgym.baselines.protection.protect import protect_again, protect_frame, repair_size
from vcgym.baselines.records import NOT_ARRIVED
from vcgym.baselines.rule import update
from vcgym.envs.call.sender.repairs.rows import (
    MASK,
    NONE_LOST,
    VideoRepairs,
    again_number,
    begin_frame,
    frame_of,
    is_repair,
    repair_number,
)
from vcgym.network.bottleneck.send_queue import VIDEO
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel

_BUCKET_S = 60.0
_MOST_OVERHEAD = 0.5


class Extra(NamedTuple):
    """Packets beyond those of the frames, all int64; 0 packets: none."""

    packets: int
    number: int
    size_bytes: int
    expires_us: int


@generic(inlined=True)
def repairs_of_frame(repairs: Any, sender: Any, s: int, frame: Any) -> Any:
    """Remember a captured frame and pay its repair packets; return those that follow it, an Extra.

    Args:
        repairs: VideoRepairs, or NoRepairs; row `s` is updated.
        sender: record of SENDER, whose newest frame it is; read only.
        s: int64, session.
        frame: VideoFrame.
    """
    return Extra(0, 0, 0, 0)


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
def _repairs_of_frame(repairs, sender, s, frame):
    row, expires_us = repairs.rows[s], sender.now_us + frame.remaining_us
    wanted = protect_frame(repairs.rule, repairs.state, s, sender.now_us, frame)
    size = repair_size(frame.packets, frame.longest_bytes)
    begin_frame(row, sender.frame, frame.packets, size, wanted.before, expires_us)
    row.plain_bytes += frame.size_bytes
    row.bucket = min(row.bucket + row.budget * frame.size_bytes, row.budget * _BUCKET_S * sender.target_bps / 8.0)
    paid = _pay(row, wanted.repairs, wanted.size_bytes)
    weight = min(frame.interval_us * 1e-6, 1.0)
    beyond = paid * wanted.size_bytes + row.again_bytes
    row.overhead += weight * (beyond / (frame.size_bytes + beyond) - row.overhead)
    row.again_bytes = 0
    return Extra(paid, repair_number(sender.frame), wanted.size_bytes, expires_us)


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
        number: int64, number of the packet (vcgym.envs.call.sender.repairs.rows).
    """


@learn_of_report.register(VideoRepairs)
def _learn_of_report(repairs, s, feedback, kind, number):
    update(repairs.rule, repairs.state, s, feedback)
    row, named = repairs.rows[s], frame_of(number)
    frame = row.frames[named & MASK]
    if kind != VIDEO or frame.number != named:
        return
    if feedback.arrived_us == NOT_ARRIVED and not is_repair(number):
        frame.lost += 1
        row.oldest_lost = min(row.oldest_lost, named)
    elif feedback.arrived_us != NOT_ARRIVED and (frame.before == 0 or not is_repair(number)):
        frame.told += 1  # a repair packet for more frames may fill a gap of another


@generic(inlined=True)
def next_again(repairs: Any, sender: Any, s: int) -> Any:
    """Return what goes again after a report for the oldest frame that asks for more, an Extra."""
    return Extra(0, 0, 0, 0)


@next_again.register(VideoRepairs)
def _next_again(repairs, sender, s):
    row = repairs.rows[s]
    while row.oldest_lost < sender.frame:
        number = row.oldest_lost
        frame = row.frames[number & MASK]
        row.oldest_lost += 1
        lost, remaining_us = min(frame.lost, frame.packets - frame.told), frame.expires_us - sender.now_us
        frame.lost = 0
        if frame.number == number and lost > 0 and remaining_us > 0:
            packets = _pay(row, protect_again(repairs.rule, repairs.state, s, frame.packets, lost, remaining_us), frame.size)
            row.again_bytes += packets * frame.size
            if packets > 0:
                return Extra(packets, again_number(number), frame.size, frame.expires_us)
    row.oldest_lost = NONE_LOST
    return Extra(0, 0, 0, 0)
