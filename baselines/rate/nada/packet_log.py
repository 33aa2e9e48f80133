"""NADA, the receiver's estimates (RFC 8698 5.1), from the packets sent in the last LOGWIN.

    5.1.1  d_queue = d_fwd - d_base, minimum over the newest 15 packets; d_base: minimum one-way delay since the start
    5.1.2  p = lost / span of packet numbers, p_mark = marked / arrived
    5.1.3  r_recv = bits of all but the first packet / time from the first arrival to the last
    rtt    report - sending, minimum over the same 15

Loss and rate need 5 packets. A loss interval is the number of arrivals between two gaps in the packet numbers; the mean over the newest
eight closed intervals and the open one is TFRC's. A gap of more than 500 ms in send times resets log, d_base and loss intervals (as in
ns3-rmcat).

Here the sender does the receiver's computations of RFC 8698, from packet feedback, on the same numbers.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rate.tfrc.loss_intervals import CLOSED, close_interval, mean_interval
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records

NEWEST = 15  # RFC 8698 5.1.1, minimum filter
ENOUGH = 5
_SILENCE_US = 500_000
_PLACES = 2048  # maximum packets of LOGWIN; further packets replace the oldest


@record
class Arrived:
    """Packet that has arrived."""

    packet: int = 0
    size_bytes: int = 0
    arrived_us: int = 0
    delay_us: int = 0
    rtt_us: int = 0
    marked: int = 0


@record
class Log:
    """Packets of the last LOGWIN, and loss intervals."""

    first: int = 0  # number of packets that have left the log
    after: int = 0  # number of packets that have entered it
    base_us: int = 0  # d_base
    bytes: int = 0
    marked: int = 0
    open: float = 0.0  # length of the open loss interval
    closed: int = 0  # number of closed intervals stored
    interval: NDArray[np.float64] = np.zeros(CLOSED)  # newest first
    arrived: NDArray[np.void] = records(Arrived, _PLACES)


@kernel
def clear_log(log):
    """Remove all packets."""
    log.first = log.after = log.bytes = log.marked = log.closed = 0
    log.base_us, log.open = 0, 0.0


@kernel
def add_packet(log, window_us, record):
    """Add an arrived packet, with a number above those before, and remove those sent `window_us`, LOGWIN above 0, before it or earlier."""
    sent_us, packet = record.sent_us, record.packet
    # A flow that was silent starts anew: the queue it knew is gone.
    if log.after > log.first and sent_us - _sent_us(log, log.after - 1) > _SILENCE_US:
        clear_log(log)
    delay_us = record.arrived_us - sent_us
    if log.after == log.first:
        log.base_us, log.open = delay_us, 1.0
    elif packet == log.arrived[(log.after - 1) % _PLACES].packet + 1:
        log.open += 1.0
    else:
        close_interval(log, log.open)
        log.open = 1.0
    log.base_us = min(log.base_us, delay_us)
    if log.after - log.first == _PLACES:
        _forget_oldest(log)
    new = log.arrived[log.after % _PLACES]
    new.packet, new.size_bytes, new.arrived_us, new.delay_us = packet, record.size_bytes, record.arrived_us, delay_us
    new.rtt_us, new.marked = record.known_us - sent_us, record.marked
    log.after += 1
    log.bytes += record.size_bytes
    log.marked += record.marked
    while sent_us - _sent_us(log, log.first) >= window_us:
        _forget_oldest(log)


@kernel
def _sent_us(log, i):
    entry = log.arrived[i % _PLACES]
    return entry.arrived_us - entry.delay_us


@kernel
def _forget_oldest(log):
    oldest = log.arrived[log.first % _PLACES]
    log.bytes -= oldest.size_bytes
    log.marked -= oldest.marked
    log.first += 1


@kernel
def queuing_us(log):
    """Return d_queue; the log must not be empty."""
    min_us = log.arrived[(log.after - 1) % _PLACES].delay_us
    for i in range(max(log.first, log.after - NEWEST), log.after):
        min_us = min(min_us, log.arrived[i % _PLACES].delay_us)
    return min_us - log.base_us


@kernel
def round_trip_us(log):
    """Return rtt; the log must not be empty."""
    min_us = log.arrived[(log.after - 1) % _PLACES].rtt_us
    for i in range(max(log.first, log.after - NEWEST), log.after):
        min_us = min(min_us, log.arrived[i % _PLACES].rtt_us)
    return min_us


@kernel
def longest_queue_us(log):
    """Return the maximum queuing delay of the packets in the log."""
    longest_us = log.base_us
    for i in range(log.first, log.after):
        longest_us = max(longest_us, log.arrived[i % _PLACES].delay_us)
    return longest_us - log.base_us


@kernel
def has_enough(log):
    """Return True if there are enough packets for loss and rate."""
    return log.after - log.first >= ENOUGH


@kernel
def span(log):
    """Return the number of packets sent from the oldest in the log to the newest, inclusive."""
    return log.arrived[(log.after - 1) % _PLACES].packet - log.arrived[log.first % _PLACES].packet + 1


@kernel
def lost(log):
    """Return the number of packets missing between the oldest and the newest."""
    return span(log) - (log.after - log.first)


@kernel
def received_bps(log):
    """Return r_recv, or -1 if all arrived at the same instant."""
    oldest, newest = log.arrived[log.first % _PLACES], log.arrived[(log.after - 1) % _PLACES]
    took_us = newest.arrived_us - oldest.arrived_us
    return 8e6 * (log.bytes - oldest.size_bytes) / took_us if took_us > 0 else -1.0


@kernel
def mean_loss_interval(log):
    """Return the mean loss interval in packets; 0 before the first loss."""
    return mean_interval(log, log.open) if log.closed > 0 else 0.0
