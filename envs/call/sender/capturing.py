"""Capture of audio and video at the sender, into its queue."""

import numpy as np

from vcgym.baselines.order.scheduler import REJECT, choose_victim
from vcgym.baselines.rule import NEVER_US
from vcgym.envs.call.sender.state import counted, skip_pauses
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO, item_at, put, take_out
from vcgym.network.bottleneck.sources import frame_bytes, packets_of, part_bytes
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel


@kernel
def audio_us(sender):
    """Return the time of the next audio capture, or NEVER_US."""
    at_us = sender.audio_number * sender.audio_every_us
    return at_us if sender.audio_every_us > 0 and at_us < sender.ends_us else np.int64(NEVER_US)


@kernel
def video_us(sender):
    """Return the time of the next frame capture, or NEVER_US."""
    at_us = sender.frame * sender.source.frame_us
    return at_us if sender.has_video and at_us < sender.ends_us else np.int64(NEVER_US)


@kernel
def capture_due(sender, tables, order):
    """Capture from each source that is due, in random order if both are; scheduler `order` chooses the victim of a full queue."""
    audio, video = audio_us(sender) <= sender.now_us, video_us(sender) <= sender.now_us
    video_first = video and rng.uniform(rng.stream_key(sender.seed, 1, rng.SOURCE), sender.frame) < 0.5
    if video_first:
        _capture_video(sender, tables, order)
    if audio:
        _enqueue(sender, order, sender.audio_bytes, AUDIO, sender.audio_number)
        sender.audio_number += 1
    if video and not video_first:
        _capture_video(sender, tables, order)
    skip_pauses(sender)


@kernel
def _capture_video(sender, tables, order):
    audio_bps = sender.audio_bytes * 8e6 / sender.audio_every_us if sender.audio_every_us > 0 else 0.0
    video_bps, source = sender.target_bps - audio_bps, sender.source
    size = frame_bytes(source, tables.series, sender.seed, sender.frame, sender.now_us, video_bps)
    packets = packets_of(source, size)
    for i in range(packets):
        _enqueue(sender, order, part_bytes(size, packets, i), VIDEO, sender.frame)
    sender.frame += 1
    sender.frame_bytes = size


@kernel
def _enqueue(sender, order, size_bytes, kind, frame):
    queue, counts = sender.queue, sender.counts
    counts[kind].created += counted(sender, sender.now_us)
    sender.captured_bytes += size_bytes
    expires_us = sender.now_us + sender.expiry_us
    if queue.waiting >= queue.limit:
        victim = choose_victim(order, queue, kind, expires_us, sender.now_us, int(sender.rtt_us))
        if victim == REJECT:
            counts[kind].rejected += counted(sender, sender.now_us)
            return
        item = item_at(queue, victim)
        counts[item.kind].rejected += counted(sender, item.created_us)
        take_out(queue, victim)
    put(queue, sender.now_us, expires_us, size_bytes, kind, frame)
