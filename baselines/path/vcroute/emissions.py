"""Emission times of packets at the receiver, computed at the sender from feedback, for online training of a predictor.

A record contains a packet's arrival time and the lag then in force, so the sender can track the receiver's watermark (VCRoute paper,
Algorithm 1, as in `vcgym.network.playout.receiver`). The lag set by an arrival is in the record of the next arrival, so each arrival is
processed when the next record arrives. If every record is fed back, the result equals the receiver's emissions to the microsecond, except
for those after the last record. Packets carried by another path than expected are ignored. A lost record loses its packet's emission, and
packets that it would have released are released by a later one. For a count buffer, which has no watermark, the result is that of a
watermark whose lag is the buffer's target.
The table has one row per packet with its expectation at departure, indexed by packet modulo the length.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records

AWAITED = 512  # packets remembered, a power of two; older ones are ignored
_MASK = AWAITED - 1
_NOBODY = -1
_BEGINNING_US = -(1 << 60)


@record
class Expected:
    """Expectation of a packet at its departure."""

    packet: int = _NOBODY
    path: int = 0
    here: int = 0  # 1: arrived and not yet emitted
    transmit_ms: float = 0.0  # input of the forecast
    jitter_ms: float = 0.0
    forecast_ms: float = 0.0


@record
class Emissions:
    packet_us: int = 0  # packet interval
    passed: int = 0  # the watermark has passed every packet below this one
    watermark_us: int = _BEGINNING_US
    last: int = _NOBODY  # packet of the arrival to be processed
    last_path: int = 0
    last_arrived_us: int = 0
    last_late: int = 0
    expected: np.recarray = records(Expected, AWAITED)


@kernel
def expect_emission(emissions, packet, path, transmit_ms, jitter_ms, forecast_ms):
    """Remember a packet that leaves; it replaces the one AWAITED packets before.

    Args:
        emissions: Emissions, updated.
        packet: int64, packet number.
        path: int64, path chosen for it.
        transmit_ms: float64, input of the forecast: transmit delay.
        jitter_ms: float64, input of the forecast: lag.
        forecast_ms: float64, forecast end-to-end delay, without correction.
    """
    entry = emissions.expected[packet & _MASK]
    entry.packet = packet
    entry.path = path
    entry.here = 0
    entry.transmit_ms = transmit_ms
    entry.jitter_ms = jitter_ms
    entry.forecast_ms = forecast_ms


@kernel
def settle_last(emissions, lag_us):
    """Move the watermark by the lag that the last arrival set; `next_emitted` then returns the released packets."""
    if emissions.last == _NOBODY or emissions.last_late == 1:
        return
    entry = emissions.expected[emissions.last & _MASK]
    if entry.packet == emissions.last and entry.path == emissions.last_path:
        entry.here = 1
    emissions.watermark_us = max(emissions.watermark_us, emissions.last * emissions.packet_us - lag_us)


@kernel
def next_emitted(emissions):
    """Return the table index of the next packet that the last arrival released, at its arrival time; -1 if there are no more."""
    while emissions.passed * emissions.packet_us <= emissions.watermark_us:
        index = emissions.passed & _MASK
        entry = emissions.expected[index]
        is_here = entry.packet == emissions.passed and entry.here == 1
        if emissions.passed * emissions.packet_us == emissions.watermark_us and not is_here:
            return -1  # exactly at the watermark it may still arrive
        emissions.passed += 1
        if is_here:
            entry.here = 0
            return index
    return -1


@kernel
def add_arrival(emissions, record):
    """Store an arrival until its lag is known; call it after `settle_last` and `next_emitted`."""
    emissions.last = record.packet
    emissions.last_path = record.path
    emissions.last_arrived_us = record.arrived_us
    emissions.last_late = record.late
