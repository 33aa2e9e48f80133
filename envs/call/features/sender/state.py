"""Sender-side statistics computed from packet feedback."""

import numpy as np

from vcgym.network.kernels.jit import kernel

_KEEPS = 7.0 / 8.0  # RFC 6298 2.3
_FLOOR_RISES = 5.0  # us per ms: rate at which the running minimum delay rises

FEEDBACK_STATS = np.dtype(
    [
        ("reports", "i8"),
        ("report_us", "i8"),  # time of the newest report
        ("span_us", "i8"),  # time since the previous report
        ("packets", "i8"),  # packets in the newest report
        ("lost", "i8"),
        ("bytes", "i8"),
        ("newest_us", "i8"),  # one-way delay of the newest packet
        ("newest_sent_us", "i8"),
        ("floor_us", "f8"),
        ("queueing_us", "f8"),  # smoothed delay above the running minimum
        ("before_us", "f8"),  # the same at the previous report
        ("rate_bps", "f8"),  # smoothed delivery rate
        ("lost_share", "f8"),  # smoothed
    ]
)


@kernel
def clear_stats(stats):
    """Reset the state."""
    stats.reports = stats.report_us = stats.span_us = stats.packets = stats.lost = stats.bytes = 0
    stats.newest_us = stats.newest_sent_us = -1
    stats.floor_us = stats.queueing_us = stats.before_us = stats.rate_bps = stats.lost_share = 0.0


@kernel
def on_report(stats, report_us):
    """Start a new report and add the previous one to the smoothed values."""
    if stats.packets > 0 and stats.span_us > 0:
        rate_bps = stats.bytes * 8e6 / stats.span_us
        share = stats.lost / stats.packets
        first = stats.reports <= 1
        stats.rate_bps = rate_bps if first else _KEEPS * stats.rate_bps + (1.0 - _KEEPS) * rate_bps
        stats.lost_share = share if first else _KEEPS * stats.lost_share + (1.0 - _KEEPS) * share
    stats.before_us = stats.queueing_us
    stats.span_us = report_us - stats.report_us
    stats.report_us = report_us
    stats.reports += 1
    stats.packets = stats.lost = stats.bytes = 0


@kernel
def on_feedback(stats, feedback):
    """Update with one packet of the newest report."""
    stats.packets += 1
    if feedback.arrived_us < 0:
        stats.lost += 1
        return
    stats.bytes += feedback.size_bytes
    delay_us = np.float64(feedback.arrived_us - feedback.sent_us)
    if stats.newest_us < 0:
        stats.floor_us = delay_us
    else:
        rises_us = _FLOOR_RISES * (feedback.sent_us - stats.newest_sent_us) / 1000.0
        stats.floor_us = min(stats.floor_us + max(rises_us, 0.0), delay_us)
    stats.queueing_us = _KEEPS * stats.queueing_us + (1.0 - _KEEPS) * (delay_us - stats.floor_us)
    stats.newest_us, stats.newest_sent_us = feedback.arrived_us - feedback.sent_us, feedback.sent_us
