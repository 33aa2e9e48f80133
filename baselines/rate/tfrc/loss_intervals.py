"""TFRC's loss event rate p (RFC 5348 5), the inverse of the weighted mean of the last loss intervals, and its throughput equation.

A packet is lost when three later ones have arrived. Losses sent within a round trip of a loss event's first loss belong to that event. An
interval is the number of packets from one event's first loss to the next event's; I_0 is the open one, I_1 the newest closed one.

    w = 1, 1, 1, 1, .8, .6, .4, .2;  k closed intervals, at most n = 8; for another n the weights of RFC 5348 5.4
    I_tot0 = sum_{0 <= i < k} I_i w_i,  I_tot1 = sum_{1 <= i <= k} I_i w_{i-1}
    I_mean = max(I_tot0, I_tot1) / sum_{i < k} w_i,  p = 1 / I_mean

The interval before the first event is the one for which the equation gives the received rate at that time (RFC 5348 6.3.1), or half a
packet per round trip if nothing had been received.

The equation (RFC 5348 3.1, with b = 1 and t_RTO = 4 R) gives bits per second; f grows with p.

    X = 8 s / (R f(p)),   f(p) = sqrt(2 p / 3) + 12 sqrt(3 p / 8) p (1 + 32 p^2)

s: packet size in bytes, R: round-trip time, p in (0, 1].

Left out: history discounting, explicit congestion notification.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

CLOSED = 8  # n
LATER = 3  # RFC 5348 5.1, NDUPACK
_WAITING = 1024  # maximum of possible losses
_HALVINGS = 60


@record
class Intervals:
    """Loss intervals, and possible losses."""

    closed: int = 0  # number of closed intervals stored
    interval: NDArray[np.float64] = np.zeros(CLOSED)  # newest first
    event_packet: int = -1  # first loss of the newest event; -1: none yet
    event_us: int = 0  # its send time
    newest_packet: int = -1
    arrived: int = 0
    first: int = 0  # first possible loss
    after: int = 0
    waiting_packet: NDArray[np.int64] = np.zeros(_WAITING, np.int64)
    waiting_us: NDArray[np.int64] = np.zeros(_WAITING, np.int64)
    waiting_arrived: NDArray[np.int64] = np.zeros(_WAITING, np.int64)  # packets arrived when the gap was noticed


@kernel
def packet_fate(intervals, packet, sent_us, lost, rtt_us, size_bytes, received_bps):
    """Add one packet, in order of sending, and return the number of new loss events.

    `lost` is True if it has not arrived; `rtt_us` is the length of an event. Mean packet size and received rate are for the interval before
    the first event.
    """
    intervals.newest_packet = packet
    if lost:
        index = intervals.after % _WAITING
        intervals.waiting_packet[index], intervals.waiting_us[index] = packet, sent_us
        intervals.waiting_arrived[index] = intervals.arrived
        intervals.after += 1
        intervals.first = max(intervals.first, intervals.after - _WAITING)
        return 0
    intervals.arrived += 1
    begins = 0
    while intervals.first < intervals.after and intervals.waiting_arrived[intervals.first % _WAITING] + LATER <= intervals.arrived:
        index = intervals.first % _WAITING
        intervals.first += 1
        begins += _lose(intervals, intervals.waiting_packet[index], intervals.waiting_us[index], rtt_us, size_bytes, received_bps)
    return begins


@kernel
def _lose(intervals, packet, sent_us, rtt_us, size_bytes, received_bps):
    if intervals.event_packet >= 0 and sent_us - intervals.event_us <= rtt_us:
        return 0
    # Before the first event no interval was measured: use the one for which the equation gives the received rate (RFC 5348 6.3.1).
    if intervals.event_packet < 0:
        rate_bps = received_bps if received_bps > 0.0 else 8.0 * size_bytes / (2.0 * rtt_us * 1e-6)
        close_interval(intervals, 1.0 / loss_rate_of(size_bytes, rtt_us * 1e-6, rate_bps))
    else:
        close_interval(intervals, np.float64(packet - intervals.event_packet))
    intervals.event_packet, intervals.event_us = packet, sent_us
    return 1


@kernel
def close_interval(intervals, length):
    """Add a closed interval as the newest one."""
    for i in range(CLOSED - 1, 0, -1):
        intervals.interval[i] = intervals.interval[i - 1]
    intervals.interval[0] = length
    intervals.closed = min(intervals.closed + 1, CLOSED)


@kernel
def weight(i, n):
    """Return w_i for n intervals: 1 for the newer half, then decreasing to 0 (RFC 5348 5.4)."""
    return 1.0 if 2 * i < n else 2.0 * (n - i) / (n + 2)


@kernel
def mean_interval(intervals, open_length, n=CLOSED):
    """Return I_mean for an open interval of `open_length` packets and at most n closed intervals."""
    closed = min(intervals.closed, n)
    if closed == 0:
        return open_length
    with_open, without, weights = open_length, 0.0, 0.0
    for i in range(closed):
        weights += weight(i, n)
        without += intervals.interval[i] * weight(i, n)
        if i + 1 < closed:
            with_open += intervals.interval[i] * weight(i + 1, n)
    return max(with_open, without) / weights


@kernel
def loss_event_rate(intervals, n=CLOSED):
    """Return p; 0 before the first event."""
    if intervals.closed == 0:
        return 0.0
    return 1.0 / max(mean_interval(intervals, np.float64(intervals.newest_packet - intervals.event_packet + 1), n), 1.0)


@kernel
def slowdown(p):
    """Return f(p)."""
    return math.sqrt(2.0 * p / 3.0) + 12.0 * math.sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p)


@kernel
def throughput_bps(size_bytes, rtt_s, p):
    """Return X in bit/s."""
    return 8.0 * size_bytes / (rtt_s * slowdown(p))


@kernel
def loss_rate_of(size_bytes, rtt_s, rate_bps):
    """Return the p at which X is `rate_bps`, by bisection; 1 if X is larger even then."""
    wanted = 8.0 * size_bytes / (rtt_s * rate_bps)
    low, high = 0.0, 1.0
    if slowdown(high) <= wanted:
        return 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if slowdown(middle) < wanted:
            low = middle
        else:
            high = middle
    return high
