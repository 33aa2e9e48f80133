"""Sender-side statistics computed from packet feedback."""

import numpy as np

from vcgym.network.kernels.jit import kernel

_KEEPS = 7.0 / 8.0  # RFC 6298 2.3
_FLOOR_RISES = 5.0  # us per ms: the least delay is forgotten this slowly

SENSES = np.dtype(
    [
        ("reports", "i8"),
        ("report_us", "i8"),  # of the newest report
        ("span_us", "i8"),  # since the one before
        ("packets", "i8"),  # told of by it
        ("lost", "i8"),
        ("bytes", "i8"),
        ("newest_us", "i8"),  # one-way delay of the newest packet
        ("newest_sent_us", "i8"),
        ("floor_us", "f8"),
        ("queueing_us", "f8"),  # smoothed delay above the floor
        ("before_us", "f8"),  # the same at the report before
        ("rate_bps", "f8"),  # smoothed rate delivered
        ("lost_share", "f8"),  # smoothed
    ]
)


@kernel
def clear_senses(senses):
    """Forget all reports."""
    senses.reports = senses.report_us = senses.span_us = senses.packets = senses.lost = senses.bytes = 0
    senses.newest_us = senses.newest_sent_us = -1
    senses.floor_us = senses.queueing_us = senses.before_us = senses.rate_bps = senses.lost_share = 0.0


@kernel
def feel_report(senses, report_us):
    """Begin a new report, and smooth in the one before."""
    if senses.packets > 0 and senses.span_us > 0:
        rate_bps = senses.bytes * 8e6 / senses.span_us
        share = senses.lost / senses.packets
        first = senses.reports <= 1
        senses.rate_bps = rate_bps if first else _KEEPS * senses.rate_bps + (1.0 - _KEEPS) * rate_bps
        senses.lost_share = share if first else _KEEPS * senses.lost_share + (1.0 - _KEEPS) * share
    senses.before_us = senses.queueing_us
    senses.span_us = report_us - senses.report_us
    senses.report_us = report_us
    senses.reports += 1
    senses.packets = senses.lost = senses.bytes = 0


@kernel
def feel_packet(senses, fate):
    """Take in one packet of the newest report."""
    senses.packets += 1
    if fate.arrived_us < 0:
        senses.lost += 1
        return
    senses.bytes += fate.size_bytes
    delay_us = np.float64(fate.arrived_us - fate.sent_us)
    if senses.newest_us < 0:
        senses.floor_us = delay_us
    else:
        rises_us = _FLOOR_RISES * (fate.sent_us - senses.newest_sent_us) / 1000.0
        senses.floor_us = min(senses.floor_us + max(rises_us, 0.0), delay_us)
    senses.queueing_us = _KEEPS * senses.queueing_us + (1.0 - _KEEPS) * (delay_us - senses.floor_us)
    senses.newest_us, senses.newest_sent_us = fate.arrived_us - fate.sent_us, fate.sent_us
