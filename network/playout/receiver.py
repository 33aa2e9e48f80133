"""The receiver's queue: which packets come out, in which order, when. One packet per 10-ms slot; times are send times of the call.

Watermark (VCRoute paper, Algorithm 1): on each arrival the watermark becomes max(watermark, timestamp - lag) and every packet at or below
it is emitted in order; a packet strictly below it on arrival is discarded. (The listing emits on <, the paper's example on <=; <= is ours
too.)

Count buffer (VCRoute paper, Figures 3 and 6): insert, then emit the smallest while at least N packets are held, N = ceil(target /
10 ms) + 1, so that the steady wait equals the target; a packet below the last one emitted is discarded.

Published count buffer (the code published with that paper): first emit the smallest while held * 10 ms > target, then insert, so that the
steady wait is the target and a packet more, rounded down to whole packets; nothing is discarded on arrival. A packet that is then emitted
behind a newer one counts as missed, not as emitted: it takes a place in the queue and its turn, and nothing else.

The `event` accounting is kept here: a packet is paid for when it is emitted, and a missing one when the watermark (or the last emitted
packet) passes it.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.in_flight import SLOTS

WATERMARK, COUNT, PUBLISHED = 0, 1, 2
START_LEVEL_US = 80_000  # NetEQ's start delay (libwebrtc delay_manager), used before anything is known
NEVER = -1
_BEGINNING_US = -(1 << 60)
_MASK = SLOTS - 1
_AWAITED, _HELD, _OUT = 0, 1, 2

RECEIVER = np.dtype(
    [
        ("passed", "i8"),  # every packet below it has been emitted or given up
        ("watermark_us", "i8"),
        ("held", "i8"),
        ("stale", "i8"),  # of the held, those that a published count buffer will emit behind a newer one
        ("level_us", "i8"),
        ("last_arrival_us", "i8"),
        ("delay_us_sum", "i8"),  # of the emitted
        ("emitted", "i8"),
        ("missed", "i8"),  # passed without having been emitted
        ("standing", "i1", (SLOTS,)),  # by packet modulo SLOTS
    ]
)


@kernel
def start_receiver(receiver):
    """Empty the queue and the accounts."""
    receiver.passed = 0
    receiver.watermark_us = _BEGINNING_US
    receiver.held = 0
    receiver.stale = 0
    receiver.level_us = START_LEVEL_US
    receiver.last_arrival_us = 0
    receiver.delay_us_sum = 0
    receiver.emitted = 0
    receiver.missed = 0


@kernel
def is_late(receiver, packet, mechanism):
    """Return True if the receiver would discard this packet if it arrived now."""
    if mechanism == WATERMARK:
        return packet * SLOT_US < receiver.watermark_us
    return mechanism == COUNT and packet < receiver.passed


@kernel
def packets_held(target_us, packet_us):
    """Return the packets a count buffer holds before it lets one go: a packet waits `target_us`, rounded up to whole packets."""
    return -(-target_us // packet_us) + 1


@kernel
def _emit(receiver, log, s, packet, now_us):
    receiver.standing[packet & _MASK] = _OUT
    receiver.held -= 1
    receiver.emitted += 1
    receiver.delay_us_sum += now_us - packet * SLOT_US
    if packet < log.shape[1]:
        log[s, packet].emitted_us = now_us


@kernel
def _pass_packet(receiver, log, s, now_us):
    """Move `passed` over one packet: emit it if it is held, give it up if it is awaited. No branch: which of them, nobody can foresee."""
    packet = receiver.passed
    standing = receiver.standing[packet & _MASK]
    is_held = 1 if standing == _HELD else 0
    receiver.standing[packet & _MASK] = _OUT
    receiver.held -= is_held
    receiver.emitted += is_held
    receiver.delay_us_sum += (now_us - packet * SLOT_US) * is_held
    receiver.missed += 1 if standing == _AWAITED else 0
    receiver.passed += 1
    if packet < log.shape[1] and is_held == 1:
        log[s, packet].emitted_us = now_us


@kernel
def expect(receiver, log, s, packet, now_us):
    """Count a packet as sent. The one SLOTS before it, 41 s, is awaited no more: held, it is emitted; awaited, it is given up."""
    if packet - receiver.passed >= SLOTS:
        _pass_packet(receiver, log, s, now_us)
    receiver.standing[packet & _MASK] = _AWAITED


@kernel
def _emit_smallest(receiver, log, s, now_us):
    if receiver.stale > 0:
        receiver.stale -= 1
        receiver.held -= 1
        return
    before = receiver.emitted
    while receiver.emitted == before:
        _pass_packet(receiver, log, s, now_us)


@kernel
def accept(receiver, log, s, packet, now_us, level_us, mechanism):
    """Take in a packet that is not late: insert it, move the watermark (or count), emit what is due.

    Args:
        receiver: RECEIVER record.
        log: records with a field emitted_us, (sessions, packets), or (sessions, 0) to keep none.
        s: row of the log.
        packet: its number; it was sent at ``packet * SLOT_US``.
        now_us: now.
        level_us: lag or target in force from now on, >= 0.
        mechanism: WATERMARK, COUNT or PUBLISHED.
    """
    if mechanism == PUBLISHED:
        while receiver.held * SLOT_US > level_us:
            _emit_smallest(receiver, log, s, now_us)
        if packet < receiver.passed:
            receiver.stale += 1
            receiver.held += 1
            return
    receiver.standing[packet & _MASK] = _HELD
    receiver.held += 1
    if mechanism == WATERMARK:
        receiver.watermark_us = max(receiver.watermark_us, packet * SLOT_US - level_us)
        while receiver.passed * SLOT_US < receiver.watermark_us:
            _pass_packet(receiver, log, s, now_us)
        # At the watermark exactly: emitted if it is here, still welcome if it is not.
        if receiver.passed * SLOT_US == receiver.watermark_us and receiver.standing[receiver.passed & _MASK] == _HELD:
            _emit(receiver, log, s, receiver.passed, now_us)
    elif mechanism == COUNT:
        size = packets_held(level_us, SLOT_US)
        while receiver.held >= size:
            _emit_smallest(receiver, log, s, now_us)


@kernel
def flush(receiver, log, s, packets):
    """End the stream of `packets` packets: emit what is held at the time of the last arrival, outside the latency statistics."""
    while receiver.passed < packets:
        packet = receiver.passed
        if receiver.standing[packet & _MASK] == _HELD:
            receiver.standing[packet & _MASK] = _OUT
            receiver.held -= 1
            if packet < log.shape[1]:
                log[s, packet].emitted_us = receiver.last_arrival_us
                log[s, packet].flushed = True
        _pass_packet(receiver, log, s, receiver.last_arrival_us)
