"""The receiver's queue: which packets come out, in which order, when. One packet per 10-ms slot; times are send times of the call.

Watermark (VCRoute paper, Algorithm 1): on each arrival the watermark becomes max(watermark, timestamp - lag) and every packet at or below
it is emitted in order; a packet strictly below it on arrival is discarded. (The listing emits on <, the paper's example on <=; <= is ours
too.)

Count buffer (VCRoute paper, Figures 3 and 6): insert, then emit the smallest while at least N packets are held, N = ceil(target /
10 ms) + 1, so that the steady wait equals the target; a packet below the last one emitted is discarded.

The `event` accounting is kept here: a packet is paid for when it is emitted, and a missing one when the watermark (or the last emitted
packet) passes it.
"""

import numpy as np

from vcgym.network.jit import kernel
from vcgym.network.wire import SLOTS
from vcgym.network.world import SLOT_US

WATERMARK, COUNT = 0, 1
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
    receiver.level_us = START_LEVEL_US
    receiver.last_arrival_us = 0
    receiver.delay_us_sum = 0
    receiver.emitted = 0
    receiver.missed = 0


@kernel
def expect(receiver, packet):
    """A packet has been sent. False if its place in the ring is still in use: SLOTS packets wait for one that never came."""
    if packet - receiver.passed >= SLOTS:
        return False
    receiver.standing[packet & _MASK] = _AWAITED
    return True


@kernel
def is_late(receiver, packet, mechanism):
    """Whether the receiver would discard this packet if it arrived now."""
    if mechanism == WATERMARK:
        return packet * SLOT_US < receiver.watermark_us
    return packet < receiver.passed


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
    """Move `passed` over one packet: emit it if it is held, give it up if it is awaited."""
    standing = receiver.standing[receiver.passed & _MASK]
    if standing == _HELD:
        _emit(receiver, log, s, receiver.passed, now_us)
    elif standing == _AWAITED:
        receiver.missed += 1
    receiver.passed += 1


@kernel
def accept(receiver, log, s, packet, now_us, level_us, mechanism):
    """A packet that is not late arrives: insert it, move the watermark (or count), emit what is due.

    Args:
        receiver: RECEIVER record.
        log: records with a field emitted_us, (sessions, packets), or (sessions, 0) to keep none.
        s: row of the log.
        packet: its number; it was sent at ``packet * SLOT_US``.
        now_us: now.
        level_us: lag or target in force from now on, >= 0.
        mechanism: WATERMARK or COUNT.
    """
    receiver.standing[packet & _MASK] = _HELD
    receiver.held += 1
    if mechanism == WATERMARK:
        receiver.watermark_us = max(receiver.watermark_us, packet * SLOT_US - level_us)
        while receiver.passed * SLOT_US < receiver.watermark_us:
            _pass_packet(receiver, log, s, now_us)
        # At the watermark exactly: emitted if it is here, still welcome if it is not.
        if receiver.passed * SLOT_US == receiver.watermark_us and receiver.standing[receiver.passed & _MASK] == _HELD:
            _emit(receiver, log, s, receiver.passed, now_us)
    else:
        size = -(-level_us // SLOT_US) + 1
        while receiver.held >= size:
            before = receiver.emitted
            while receiver.emitted == before:
                _pass_packet(receiver, log, s, now_us)


@kernel
def flush(receiver, log, s, packets):
    """End of the stream of `packets` packets: what is held comes out at the time of the last arrival, outside the latency statistics."""
    while receiver.passed < packets:
        packet = receiver.passed
        if receiver.standing[packet & _MASK] == _HELD:
            receiver.standing[packet & _MASK] = _OUT
            receiver.held -= 1
            if packet < log.shape[1]:
                log[s, packet].emitted_us = receiver.last_arrival_us
                log[s, packet].flushed = True
        _pass_packet(receiver, log, s, receiver.last_arrival_us)
