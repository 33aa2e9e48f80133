"""SCReAM version 2, the reference window (draft-johansson-ccwg-rfc8298bis-screamv2 4.2).

4.2, at each report: alpha, the average share of marked packets, every min(10 ms, s_rtt) with gain L4S_AVG_G; qdelay_avg, once per s_rtt,
which falls at once and rises with gain QDELAY_AVG_G; the maximum bytes in flight in this round trip and the previous one.

4.2.2, down, at most every min(VIRTUAL_RTT, s_rtt), each that applies:

    loss                      ref_wnd *= BETA_LOSS
    mark                      ref_wnd *= BETA_ECN; with L4S 1 - alpha / 2 max(0.8, 1 - 2 MSS / ref_wnd); after 5 s without congestion from
                              at most the bytes in flight and with alpha at least 1/2, then alpha = 1/4
    qdelay > target / 2       ref_wnd *= 1 - v / 2, v = clip((qdelay_avg - target / 2) / (target / 2), 0, 1); not while L4S marks

and ref_wnd_i = ref_wnd before the reduction, at most every 250 ms; ref_wnd >= MIN_REF_WND.

4.2.2, up, at every report, with t the time since congestion:

    scl = clip((4 (ref_wnd - ref_wnd_i) / ref_wnd_i)^2, 0.1, 1); while L4S marks, at least min(1, ref_wnd / (50 MSS))
    inc = (acked and not marked) min(1, MSS / ref_wnd) min(1, s_rtt / VIRTUAL_RTT)^2 scl
            (1 + MUL_INCREASE_FACTOR ref_wnd / MSS min(1, t / POST_CONGESTION_DELAY) scl)

unless ref_wnd + inc > MSS + BYTES_IN_FLIGHT_HEAD_ROOM times the maximum in flight, or the rate is at the call's maximum.

"L4S marks" means that it is enabled and alpha is at least 2 MSS / (rate s_rtt), two marks per round trip.
"""

import numpy as np

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

_ALPHA_EVERY_US = 10_000
_INFLECTS_EVERY_US = 250_000
_LONG_US = 5_000_000
_MIN_BACKOFF = 0.25
_MIN_SCALE = 0.1


@record
class Window:
    """Reference window."""

    bytes: float = 0.0  # ref_wnd
    inflection_bytes: float = 1.0  # ref_wnd_i
    inflected_us: int = 0
    congested_us: int = 0  # last_congestion_detected_time
    queuing_us: float = 0.0  # qdelay_avg
    averaged_us: int = 0
    alpha: float = 0.0  # l4s_alpha
    alpha_us: int = 0
    delivered: int = 0  # packets delivered since
    marked: int = 0
    max_bytes: int = 0  # max_bytes_in_flight
    max_before_bytes: int = 0  # max_bytes_in_flight_prev
    max_us: int = 0  # start of this round trip


@kernel
def average(params, window, acks, now_us):
    """Update the averages with `acks`, closed by `close_report`, of a report with at least one arrived packet."""
    window.delivered += acks.new_packets
    window.marked += acks.new_marked
    if now_us - window.alpha_us >= min(acks.rtt_us, _ALPHA_EVERY_US):
        window.alpha += params.alpha_gain * (window.marked / window.delivered - window.alpha)
        window.alpha_us, window.delivered, window.marked = now_us, 0, 0
    if now_us - window.averaged_us >= acks.rtt_us:
        rises = acks.queuing_us >= window.queuing_us
        window.queuing_us += (params.delay_gain if rises else 1.0) * (acks.queuing_us - window.queuing_us)
        window.averaged_us = now_us
    if now_us - window.max_us >= acks.rtt_us:
        window.max_before_bytes, window.max_bytes, window.max_us = window.max_bytes, acks.before_bytes, now_us
    window.max_bytes = max(window.max_bytes, acks.before_bytes)


@kernel
def is_l4s_active(params, window, rtt_us, rate_bps):
    """Return True if L4S is enabled and packets are being marked; s_rtt, `rtt_us`, and the target rate are above 0."""
    return params.l4s and window.alpha >= 2.0 * 8e6 * params.mss_bytes / (rate_bps * rtt_us)


@kernel
def shrink(params, window, acks, target_us, l4s_active, now_us):
    """Reduce the window after loss, marks or delay of `acks`, closed by `close_report`; return True if it was reduced.

    `target_us`, float64 above 0, is the target of qdelay. With `l4s_active` marks replace the reaction to delay.
    """
    if now_us - window.congested_us < min(params.virtual_rtt_ms * 1000.0, acks.rtt_us):
        return False
    delayed = acks.queuing_us > target_us / 2.0 and not l4s_active
    if not delayed and acks.new_lost == 0 and acks.new_marked == 0:
        return False
    # Several reductions for one congestion must not move the inflection point down with the window.
    if now_us - window.inflected_us > _INFLECTS_EVERY_US:
        window.inflected_us, window.inflection_bytes = now_us, window.bytes
    if acks.new_lost > 0:
        window.bytes *= params.beta_loss
    if acks.new_marked > 0 and params.l4s:
        _yield_to_marks(params, window, now_us)
    elif acks.new_marked > 0:
        window.bytes *= params.beta_mark
    if delayed:
        excess = (window.queuing_us - target_us / 2.0) / (target_us / 2.0)
        window.bytes *= 1.0 - min(max(excess, 0.0), 1.0) / 2.0
    window.bytes = max(window.bytes, params.min_window_bytes)
    window.congested_us = now_us
    return True


@kernel
def _yield_to_marks(params, window, now_us):
    backoff = window.alpha / 2.0 * max(0.8, 1.0 - 2.0 * params.mss_bytes / window.bytes)
    if now_us - window.congested_us > _LONG_US:
        window.bytes = min(window.bytes, np.float64(window.max_before_bytes))
        backoff, window.alpha = max(backoff, _MIN_BACKOFF), _MIN_BACKOFF
    window.bytes *= 1.0 - backoff


@kernel
def increment(params, window, acks, l4s_active, now_us):
    """Return the number of bytes by which a report may increase the window, float64, at least 0; `acks` and `l4s_active` as in `shrink`."""
    segments = window.bytes / params.mss_bytes
    scale = (4.0 * (window.bytes - window.inflection_bytes) / window.inflection_bytes) ** 2
    lowest = max(_MIN_SCALE, min(1.0, segments / 50.0)) if l4s_active else _MIN_SCALE
    scale = max(lowest, min(1.0, scale))
    quiet = min(1.0, (now_us - window.congested_us) * 1e-6 / params.post_congestion_s)
    short = min(1.0, acks.rtt_us / (params.virtual_rtt_ms * 1000.0))
    by_one = (acks.new_bytes - acks.new_marked_bytes) * min(1.0, 1.0 / segments) * short * short * scale
    return by_one * (1.0 + params.growth * segments * quiet * scale)


@kernel
def grow(params, window, acks, l4s_active, at_most, now_us):
    """Increase the window by `increment`, unless too little is in flight, or the rate is `at_most`, the maximum; `l4s_active` as there."""
    grown = window.bytes + increment(params, window, acks, l4s_active, now_us)
    max_bytes = params.mss_bytes + params.head_room * max(window.max_bytes, window.max_before_bytes)
    if grown <= max_bytes and not at_most:
        window.bytes = grown
