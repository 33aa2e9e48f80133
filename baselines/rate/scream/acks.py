"""SCReAM, quantities from a report (RFC 8298 4.1.2, the same in version 2): bytes acknowledged and in flight, round trip, queuing delay.

    bytes_newly_acked  sizes of all packets up to the highest acknowledged one, including lost ones
    bytes in flight    sent - acknowledged, before and after the report
    s_rtt              7/8 s_rtt + 1/8 sample (RFC 6298), sample: report - sending of the highest packet that arrived
    qdelay             its one-way delay - the minimum of the last 10 minutes, stored per minute (RFC 6817)

A sender must not wait forever for acknowledgements: after 500 ms without a report and without sending, packets in flight no longer count.
Left out: the reordering window, since a report is final for each of its packets; clock drift and clock jumps.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel

_KEEPS = 0.875  # RFC 6298 2
_MINUTES = 10  # RFC 6817 BASE_HISTORY
_MINUTE_US = 60_000_000
_STALL_US = 500_000

ACKS = np.dtype(
    (
        np.record,
        [
            # of the current report
            ("new_bytes", "i8"),
            ("new_marked_bytes", "i8"),
            ("new_packets", "i8"),  # arrived packets
            ("new_marked", "i8"),
            ("new_lost", "i8"),
            ("delay_us", "i8"),  # one-way delay of the highest
            ("trip_us", "i8"),
            # since the start of the call
            ("acked_bytes", "i8"),
            ("sent_bytes", "i8"),
            ("rtt_us", "f8"),  # s_rtt; 0: none yet
            ("minute", "i8"),
            ("base_us", "i8", (_MINUTES,)),  # minimum delay of each of the last minutes
            ("minutes", "i8"),  # number of minutes stored
            ("queuing_us", "i8"),  # qdelay
            ("before_bytes", "i8"),  # in flight before the report
            ("under_way_bytes", "i8"),  # in flight after the report
            ("forgiven_bytes", "i8"),  # of these, no longer counted
            ("heard_us", "i8"),  # last report, or last check without one
            ("sent_before", "i8"),  # sent bytes at that time
        ],
    )
)


@kernel
def clear_acks(acks):
    """Start a call."""
    acks.acked_bytes = acks.sent_bytes = acks.minute = acks.minutes = acks.queuing_us = 0
    acks.before_bytes = acks.under_way_bytes = acks.forgiven_bytes = acks.heard_us = acks.sent_before = 0
    acks.rtt_us = 0.0
    clear_report(acks)


@kernel
def clear_report(acks):
    """Prepare for the next report."""
    acks.new_bytes = acks.new_marked_bytes = acks.new_packets = acks.new_marked = acks.new_lost = 0


@kernel
def hear(acks, record):
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
    acks.rtt_us = acks.trip_us if acks.rtt_us == 0.0 else _KEEPS * acks.rtt_us + (1.0 - _KEEPS) * acks.trip_us
    acks.queuing_us = acks.delay_us - _base_us(acks, now_us)
    acks.sent_bytes = max(acks.sent_bytes, acks.acked_bytes + acks.new_bytes)
    acks.before_bytes = acks.sent_bytes - acks.acked_bytes
    acks.acked_bytes += acks.new_bytes
    acks.under_way_bytes = acks.sent_bytes - acks.acked_bytes
    acks.forgiven_bytes, acks.heard_us, acks.sent_before = 0, now_us, acks.sent_bytes


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
def hear_nothing(acks, now_us):
    """Update after a time without a report."""
    if acks.sent_bytes == acks.sent_before:
        acks.forgiven_bytes = acks.sent_bytes - acks.acked_bytes
    acks.heard_us, acks.sent_before = now_us, acks.sent_bytes


@kernel
def next_look_us(acks):
    """Return the time of the next check if no report arrives."""
    return acks.heard_us + _STALL_US
