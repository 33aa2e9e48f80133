"""The receiver's queue: holds packets and emits them in order. Packet n was sent at n times the packet interval.

Watermark (VCRoute paper, Algorithm 1): on each arrival the watermark becomes max(watermark, timestamp - lag), and all packets at or below
it are emitted in order. A packet that arrives strictly below it is discarded. (The paper's listing emits on <, its example on <=; we use
<=.)

Count buffer (VCRoute paper, Figures 3 and 6): insert, then emit the smallest while at least N packets are held, N = ceil(target /
interval) + 1, so that the steady-state wait equals the target. A packet below the last one emitted is discarded.

Published count buffer (the code published with that paper): first emit the smallest while held * interval > target, then insert. So the
steady-state wait is the target plus one packet, rounded down to whole packets. Nothing is discarded on arrival. A packet emitted behind a
newer one is stale: it occupies a position in the queue and an emission, but counts as missed.

A packet may arrive more than once, as copies. Each arrival is the first, a duplicate, or late; a duplicate changes nothing.

The `event` accounting is done here: a packet is counted when it is emitted, or as missed when the watermark (or the last emitted packet)
passes it.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record
from vcgym.network.playout.in_flight import SLOTS

WATERMARK, COUNT, PUBLISHED = 0, 1, 2
FIRST, DUPLICATE, LATE = 0, 1, 2  # what an arrival is: taken in; of a packet that has arrived before; discarded
START_LEVEL_US = 80_000  # NetEQ's start delay (libwebrtc delay_manager), used before the first arrival
NEVER = -1
_MASK = SLOTS - 1
# Standing of a packet. It has arrived from _HELD on. To pass an awaited or held packet is to add 1.
_AWAITED, _GIVEN_UP, _HELD, _OUT = 0, 1, 2, 3


@record
class Receiver:
    """Queue of a call, with its counters."""

    passed: int = 0  # every packet below it has been emitted or given up
    watermark_us: int = -(1 << 60)
    held: int = 0
    stale: int = 0  # held packets that a published count buffer will emit behind a newer one
    level_us: int = START_LEVEL_US
    last_arrival_us: int = 0
    delay_us_sum: int = 0  # sum over the emitted packets
    emitted: int = 0
    missed: int = 0  # passed but not emitted
    standing: NDArray[np.int8] = np.zeros(SLOTS, np.int8)  # by packet modulo SLOTS


@kernel
def is_late(receiver, packet, mechanism, packet_us):
    """Return True if the receiver, which is read, would discard a packet if it arrived now; `mechanism`: WATERMARK, COUNT or PUBLISHED."""
    if mechanism == WATERMARK:
        return packet * packet_us < receiver.watermark_us
    return mechanism == COUNT and packet < receiver.passed


@kernel
def has_arrived(receiver, packet):
    """Return True if this packet, the same or a copy, has arrived before; it is one of the last 4096."""
    return receiver.standing[packet & _MASK] >= _HELD


@kernel
def packets_held(target_us, packet_us):
    """Return the number of packets that a count buffer holds before it emits one: the target in packets, rounded up, plus one."""
    return -(-target_us // packet_us) + 1


@kernel
def _emit(receiver, log, s, packet, now_us, packet_us):
    receiver.standing[packet & _MASK] = _OUT
    receiver.held -= 1
    receiver.emitted += 1
    receiver.delay_us_sum += now_us - packet * packet_us
    if packet < log.shape[1]:
        log[s, packet].emitted_us = now_us


@kernel
def _pass_packet(receiver, log, s, now_us, packet_us):
    """Advance `passed` by one packet: emit it if held, count it as missed if awaited. Branch-free, since the outcome is unpredictable."""
    packet = receiver.passed
    standing = receiver.standing[packet & _MASK]
    is_held = 1 if standing == _HELD else 0
    receiver.standing[packet & _MASK] = standing | 1
    receiver.held -= is_held
    receiver.emitted += is_held
    receiver.delay_us_sum += (now_us - packet * packet_us) * is_held
    receiver.missed += 1 if standing == _AWAITED else 0
    receiver.passed += 1
    if packet < log.shape[1] and is_held == 1:
        log[s, packet].emitted_us = now_us


@kernel
def expect(receiver, log, s, packet, now_us, packet_us):
    """Count a packet as sent, every number once, in order from 0.

    The packet SLOTS before it is emitted if held, and counted as missed if still awaited. `log` are records with a field emitted_us,
    (sessions, packets), or (sessions, 0) for no log.
    """
    if packet - receiver.passed >= SLOTS:
        _pass_packet(receiver, log, s, now_us, packet_us)
    receiver.standing[packet & _MASK] = _AWAITED


@kernel
def _emit_smallest(receiver, log, s, now_us, packet_us):
    if receiver.stale > 0:
        receiver.stale -= 1
        receiver.held -= 1
        return
    before = receiver.emitted
    while receiver.emitted == before:
        _pass_packet(receiver, log, s, now_us, packet_us)


@kernel
def accept(receiver, log, s, packet, now_us, level_us, mechanism, packet_us):
    """Process the arrival of one of the last 4096 packets: insert it, move the watermark, emit the packets that are due.

    `level_us` is the lag or target in force from now on, at least 0; for `mechanism` see `is_late`, for `log` `expect`.

    Returns:
        FIRST, DUPLICATE, which changes nothing, or LATE.
    """
    if has_arrived(receiver, packet):
        return DUPLICATE
    if is_late(receiver, packet, mechanism, packet_us):
        receiver.standing[packet & _MASK] = _OUT
        return LATE
    if mechanism == PUBLISHED:
        # The published code emits before it inserts, so the new packet does not count.
        while receiver.held * packet_us > level_us:
            _emit_smallest(receiver, log, s, now_us, packet_us)
        # Newer packets have been emitted, but it still takes a place in the queue and an emission.
        if packet < receiver.passed:
            receiver.standing[packet & _MASK] = _OUT
            receiver.stale += 1
            receiver.held += 1
            return FIRST
    receiver.standing[packet & _MASK] = _HELD
    receiver.held += 1
    if mechanism == WATERMARK:
        receiver.watermark_us = max(receiver.watermark_us, packet * packet_us - level_us)
        while receiver.passed * packet_us < receiver.watermark_us:
            _pass_packet(receiver, log, s, now_us, packet_us)
        # A packet exactly at the watermark is emitted if held, and may still arrive otherwise.
        if receiver.passed * packet_us == receiver.watermark_us and receiver.standing[receiver.passed & _MASK] == _HELD:
            _emit(receiver, log, s, receiver.passed, now_us, packet_us)
    elif mechanism == COUNT:
        size = packets_held(level_us, packet_us)
        while receiver.held >= size:
            _emit_smallest(receiver, log, s, now_us, packet_us)
    return FIRST


@kernel
def flush(receiver, log, s, packets, packet_us):
    """End a stream of `packets`: emit all held ones at the time of the last arrival, outside the delay statistics; the others are missed.

    `log` has a field flushed too, see `expect`.
    """
    while receiver.passed < packets:
        packet = receiver.passed
        if receiver.standing[packet & _MASK] == _HELD:
            receiver.standing[packet & _MASK] = _OUT
            receiver.held -= 1
            if packet < log.shape[1]:
                log[s, packet].emitted_us = receiver.last_arrival_us
                log[s, packet].flushed = True
        _pass_packet(receiver, log, s, receiver.last_arrival_us, packet_us)
