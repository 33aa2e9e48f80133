"""SCReAM, quantities from a report (RFC 8298 4.1.2, the same in version 2): bytes acknowledged and in flight, delays, their target.

    bytes_newly_acked  sizes of all packets up to the highest acknowledged one, including lost ones
    bytes in flight    sent - acknowledged, before and after the report
    s_rtt              7/8 s_rtt + 1/8 sample (RFC 6298), sample: report - sending of the highest packet that arrived
    qdelay             its one-way delay - the minimum of the last 10 minutes, stored per minute (RFC 6817)

The target of qdelay (4.1.2.3) is larger against loss-based flows. At each report, for the delay divided by the minimum target: mean m of
the newest 50, variance v of the newest 200; new = m + sqrt(v), times the minimum target.

    loss event rate > 0.002   target = 1.5 new
    v < 0.2                   target = new
    new < minimum             target = max(target / 2, new)
    else                      target *= 0.9
    always                    minimum <= target <= maximum

The loss event rate is a moving average of round trips with a loss, with a weight of 0.01 for each new one (as in the published code).

A sender must not wait forever for acknowledgements: after 500 ms without a report and without sending, packets in flight no longer count.
Left out: the reordering window, since a report is final for each of its packets; clock drift and clock jumps.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

_RTT_KEEPS = 0.875  # RFC 6298 2
_MINUTES = 10  # RFC 6817 BASE_HISTORY
_MINUTE_US = 60_000_000
_STALL_US = 500_000
_OF_VARIANCE, _OF_MEAN = 200, 50
_LOSSY = 0.002
_STEADY = 0.2
_LOSSES_KEEP = 0.99


@record
class Acks:
    """Acknowledgements: of the current report from `new_bytes` to `trip_us`, then since the start of the call."""

    new_bytes: int = 0
    new_marked_bytes: int = 0
    new_packets: int = 0  # arrived packets
    new_marked: int = 0
    new_lost: int = 0
    delay_us: int = 0  # one-way delay of the highest
    trip_us: int = 0
    acked_bytes: int = 0
    sent_bytes: int = 0
    rtt_us: float = 0.0  # s_rtt; 0: none yet
    minute: int = 0
    base_us: NDArray[np.int64] = np.zeros(_MINUTES, np.int64)  # minimum delay of each of the last minutes
    minutes: int = 0  # number of minutes stored
    queuing_us: int = 0  # qdelay
    before_bytes: int = 0  # in flight before the report
    in_flight_bytes: int = 0  # after the report
    written_off_bytes: int = 0  # of these, no longer counted
    checked_us: int = 0  # last report, or last check without one
    sent_then_bytes: int = 0  # sent bytes at that time


@record
class Target:
    """Target of the queuing delay; its history begins with zeros, as after a time without queue, so it always counts in full length."""

    target_us: float = 0.0
    loss_event_rate: float = 0.0
    counted_us: int = 0  # last counted round trip
    next: int = 0
    history: NDArray[np.float64] = np.zeros(_OF_VARIANCE)


@kernel
def clear_report(acks):
    """Prepare for the next report."""
    acks.new_bytes = acks.new_marked_bytes = acks.new_packets = acks.new_marked = acks.new_lost = 0


@kernel
def on_packet(acks, record):
    """Update with one packet of a report, in order of packet numbers."""
    acks.new_bytes += record.size_bytes
    if record.arrived_us < 0:
        acks.new_lost += 1
        return
    acks.new_packets += 1
    acks.new_marked += record.marked
    acks.new_marked_bytes += record.size_bytes if record.marked else 0
    acks.delay_us, acks.trip_us = record.arrived_us - record.sent_us, record.known_us - record.sent_us


@kernel
def close_report(acks, now_us):
    """Update round trip, queuing delay and bytes in flight, after the last packet of a report."""
    acks.rtt_us = acks.trip_us if acks.rtt_us == 0.0 else _RTT_KEEPS * acks.rtt_us + (1.0 - _RTT_KEEPS) * acks.trip_us
    acks.queuing_us = acks.delay_us - _base_us(acks, now_us)
    acks.sent_bytes = max(acks.sent_bytes, acks.acked_bytes + acks.new_bytes)
    acks.before_bytes = acks.sent_bytes - acks.acked_bytes
    acks.acked_bytes += acks.new_bytes
    acks.in_flight_bytes = acks.sent_bytes - acks.acked_bytes
    acks.written_off_bytes, acks.checked_us, acks.sent_then_bytes = 0, now_us, acks.sent_bytes


@kernel
def _base_us(acks, now_us):
    """Add the newest delay and return the minimum of the last minutes."""
    minute = now_us // _MINUTE_US
    if acks.minutes == 0 or minute > acks.minute:
        for i in range(_MINUTES - 1, 0, -1):
            acks.base_us[i] = acks.base_us[i - 1]
        acks.base_us[0] = acks.delay_us
        acks.minute, acks.minutes = minute, min(acks.minutes + 1, _MINUTES)
    acks.base_us[0] = min(acks.base_us[0], acks.delay_us)
    min_us = acks.base_us[0]
    for i in range(acks.minutes):
        min_us = min(min_us, acks.base_us[i])
    return min_us


@kernel
def on_timeout(acks, now_us):
    """Update after a time without a report."""
    if acks.sent_bytes == acks.sent_then_bytes:
        acks.written_off_bytes = acks.sent_bytes - acks.acked_bytes
    acks.checked_us, acks.sent_then_bytes = now_us, acks.sent_bytes


@kernel
def timeout_us(acks):
    """Return the time of the next check if no report arrives."""
    return acks.checked_us + _STALL_US


@kernel
def count_round_trip(target, loss_event, rtt_us, now_us):
    """Update the loss event rate: if the report caused a loss event, or with a round trip, s_rtt, without one."""
    if loss_event:
        target.loss_event_rate = _LOSSES_KEEP * target.loss_event_rate + (1.0 - _LOSSES_KEEP)
        target.counted_us = now_us
    elif now_us - target.counted_us > rtt_us:
        target.loss_event_rate *= _LOSSES_KEEP
        target.counted_us = now_us


@kernel
def adjust_target(target, queuing_us, low_ms, high_ms):
    """Update the target with qdelay of one report, at least 0; its range, above 0, is the same at every call."""
    low_us, high_us = low_ms * 1000.0, high_ms * 1000.0
    target.history[target.next % _OF_VARIANCE] = queuing_us / low_us
    target.next += 1
    recent, total, squares = 0.0, 0.0, 0.0
    for i in range(_OF_VARIANCE):
        value = target.history[(target.next + i) % _OF_VARIANCE]
        total += value
        squares += value * value
        recent += value if i >= _OF_VARIANCE - _OF_MEAN else 0.0
    variance = max(squares / _OF_VARIANCE - (total / _OF_VARIANCE) ** 2, 0.0)
    new_us = (recent / _OF_MEAN + math.sqrt(variance)) * low_us
    if target.loss_event_rate > _LOSSY:
        target.target_us = 1.5 * new_us
    elif variance < _STEADY:
        target.target_us = new_us
    elif new_us < low_us:
        target.target_us = max(0.5 * target.target_us, new_us)
    else:
        target.target_us *= 0.9
    target.target_us = max(min(target.target_us, high_us), low_us)
