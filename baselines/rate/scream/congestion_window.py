"""SCReAM version 1, the congestion window (RFC 8298 4.1.2).

4.1.2.1  on a loss or a mark, at most one event per s_rtt: fast increase ends, cwnd = max(MIN_CWND, BETA cwnd)
4.1.2.2  else, in fast increase: it ends if qdelay_trend >= QDELAY_TREND_TH; else
cwnd += acked                      if 1.5 in_flight + acked > cwnd
else, off = (target - qdelay) / target:
cwnd += GAIN off acked MSS / cwnd  if off <= 0 or 1.25 in_flight + acked > cwnd
cwnd = max(MIN_CWND, min(cwnd, MAX_BYTES_IN_FLIGHT_HEAD_ROOM times the maximum in_flight of 5 s))
4.1.2.7  fast increase resumes after 5 s with qdelay_trend < QDELAY_TREND_LO and no event
"""

import numpy as np

from vcgym.network.kernels.jit import kernel

_LONGEST_US = 5_000_000
_PLACES = 512  # capacity for 5 s, with at most one report per 20 ms; further entries replace the oldest

_LONG_AGO_US = -(1 << 61)

NOTHING, LOSS, MARK = 0, 1, 2  # events

CWND = np.dtype(
    (
        np.record,
        [
            ("bytes", "f8"),  # cwnd
            ("fast", "i8"),  # 1: in_fast_increase
            ("event_us", "i8"),  # last loss or mark
            ("trouble_us", "i8"),  # last event or rising trend
            ("oldest", "i8"),
            ("newest", "i8"),
            ("then_us", "i8", (_PLACES,)),
            ("then_bytes", "i8", (_PLACES,)),
        ],
    )
)


@kernel
def clear_window(cwnd, params):
    """Start in fast increase."""
    cwnd.bytes, cwnd.fast = params.min_window_bytes, 1
    cwnd.event_us, cwnd.trouble_us = _LONG_AGO_US, 0
    cwnd.oldest = cwnd.newest = 0


@kernel
def note_under_way(cwnd, under_way_bytes, now_us):
    """Store the bytes in flight; keep the values of the last 5 s that no later one exceeds: the oldest is the maximum."""
    while cwnd.oldest < cwnd.newest and now_us - cwnd.then_us[cwnd.oldest % _PLACES] >= _LONGEST_US:
        cwnd.oldest += 1
    while cwnd.oldest < cwnd.newest and cwnd.then_bytes[(cwnd.newest - 1) % _PLACES] <= under_way_bytes:
        cwnd.newest -= 1
    if cwnd.newest - cwnd.oldest == _PLACES:
        cwnd.oldest += 1
    cwnd.then_us[cwnd.newest % _PLACES], cwnd.then_bytes[cwnd.newest % _PLACES] = now_us, under_way_bytes
    cwnd.newest += 1


@kernel
def react(params, cwnd, lost, marked, rtt_us, now_us):
    """Cut the window after a loss or a mark (4.1.2.1).

    Args:
        params: ScreamV1.
        cwnd: record of CWND, updated.
        lost: int64, lost packets of the report.
        marked: int64, marked packets of the report.
        rtt_us: float64, s_rtt.
        now_us: int64, current time.

    Returns:
        The event: NOTHING, LOSS or MARK.
    """
    if (lost == 0 and marked == 0) or now_us - cwnd.event_us < rtt_us:
        return NOTHING
    cwnd.event_us = cwnd.trouble_us = now_us
    cwnd.fast = 0
    cwnd.bytes = max(params.min_window_bytes, (params.beta_loss if lost > 0 else params.beta_mark) * cwnd.bytes)
    return LOSS if lost > 0 else MARK


@kernel
def grow(params, cwnd, acked_bytes, under_way_bytes, queuing_us, target_us, trend):
    """Update the window after a report without an event (4.1.2.2).

    Args:
        params: ScreamV1.
        cwnd: record of CWND, updated; `note_under_way` has stored the bytes in flight of this report.
        acked_bytes: int64, bytes newly acknowledged.
        under_way_bytes: int64, bytes in flight after the report.
        queuing_us: int64, qdelay, at least 0.
        target_us: float64, target of qdelay, above 0.
        trend: float64, qdelay_trend, 0 to 1.
    """
    if cwnd.fast == 1:
        if trend < params.fast_below_trend:
            if 1.5 * under_way_bytes + acked_bytes > cwnd.bytes:
                cwnd.bytes += acked_bytes
            return
        cwnd.fast = 0
    off = (target_us - queuing_us) / target_us
    if off <= 0.0 or 1.25 * under_way_bytes + acked_bytes > cwnd.bytes:
        cwnd.bytes += params.gain * off * acked_bytes * params.mss_bytes / cwnd.bytes
    cwnd.bytes = min(cwnd.bytes, params.head_room * cwnd.then_bytes[cwnd.oldest % _PLACES])
    cwnd.bytes = max(cwnd.bytes, params.min_window_bytes)


@kernel
def resume(params, cwnd, trend, now_us):
    """Resume fast increase after a time without congestion (4.1.2.7).

    Args:
        params: ScreamV1.
        cwnd: record of CWND, updated.
        trend: float64, qdelay_trend, 0 to 1.
        now_us: int64, current time.
    """
    if trend >= params.resumes_below_trend:
        cwnd.trouble_us = now_us
    elif cwnd.fast == 0 and now_us - cwnd.trouble_us >= params.resumes_after_s * 1e6:
        cwnd.fast = 1
