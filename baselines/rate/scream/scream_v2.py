"""Self-Clocked Rate Adaptation for Multimedia, version 2: SCReAM (draft-johansson-ccwg-rfc8298bis-screamv2, which obsoletes RFC 8298).

    packets of a report -> bytes acknowledged, round trip, queuing delay (acks.py)
      -> reference window (reference_window.py, 4.2), its target of delay (queuing_target.py, 4.4)
      -> send window and pacing (4.2.4, 4.2.5); target rate (4.3)

    4.2.4  send window = REF_WND_OVERHEAD rel_framesize_high ref_wnd - in_flight (frame_sizes.py)
    4.2.5  pacing at PACKET_PACING_HEADROOM max(RATE_PACE_MIN, rate)
    4.3    rate = 8 ref_wnd / s_rtt (1 - clip(MSS / ref_wnd - 0.1, 0, 0.8)) / c, within the bounds of the call;
           c = min(1.5, ratio / 0.9) if ratio > 0.9 and L4S does not mark, else 1; ratio = in_flight / ref_wnd before the report
    5      a report per frame, here 30 per second, or more while reports of 100 bytes take up to 2 % of the rate, at most 1000

Left out: several streams (4.2.6), systematic errors of encoders (4.5), and additions of the published code: a rate divided by 1.1 and
without 20 bytes per packet, s_rtt + 1 ms, damped growth if the delay varies.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rate.scream.acks import ACKS, clear_acks, clear_report, close_report, hear, hear_nothing, next_look_us
from vcgym.baselines.rate.scream.frame_sizes import FRAMES, clear_frames, see_frame
from vcgym.baselines.rate.scream.queuing_target import TARGET, adjust_target, clear_target, count_round_trip
from vcgym.baselines.rate.scream.reference_window import WINDOW, average, clear_reference, grow, is_l4s_active, shrink
from vcgym.baselines.rule import (
    Control,
    allocate,
    decide,
    init,
    pacing,
    reads_marks,
    report_every_us,
    rule,
    see_sender,
    update,
    wake_us,
    window_bytes,
)
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

_SMALL, _MAX_OFF = 0.1, 0.8  # 4.3
_REPORT_BITS, _REPORTS_SHARE = 800.0, 0.02  # 5
_MIN_REPORTS_PER_S, _MAX_REPORTS_PER_S = 30.0, 1000.0


@rule(Control.RATE)
class ScreamV2(NamedTuple):
    """Parameters of the draft's 4.1.1, with their names there.

    Attributes:
        target_low_ms: QDELAY_TARGET_LO, minimum target of the queuing delay.
        target_high_ms: QDELAY_TARGET_HI, maximum target.
        competes: True: the target rises against loss-based flows (4.4).
        l4s: IS_L4S, True: marks are those of L4S.
        min_window_bytes: MIN_REF_WND, minimum window.
        overhead: REF_WND_OVERHEAD, ratio of the limit on bytes in flight to the window.
        head_room: BYTES_IN_FLIGHT_HEAD_ROOM, ratio of the window to the bytes in flight.
        mss_bytes: MSS, maximum packet size.
        beta_loss: BETA_LOSS, factor on the window after a loss.
        beta_mark: BETA_ECN, factor on the window after a mark without L4S.
        alpha_gain: L4S_AVG_G, weight of the newest share of marks.
        delay_gain: QDELAY_AVG_G, weight of the newest delay if it rises.
        post_congestion_s: POST_CONGESTION_DELAY, time until full growth after congestion.
        growth: MUL_INCREASE_FACTOR, growth of the window per round trip.
        virtual_rtt_ms: VIRTUAL_RTT, round trip below which growth is slower and reactions are rarer.
        pacing_head_room: PACKET_PACING_HEADROOM, ratio of the pacing rate to the rate.
        min_pacing_bps: RATE_PACE_MIN, minimum pacing rate.
        under_way_limit: BYTES_IN_FLIGHT_LIMIT, share of the window in flight above which the rate is reduced.
        max_lowered: BYTES_IN_FLIGHT_LIMIT_COMPENSATION, maximum divisor of that reduction.
    """

    target_low_ms: float = 60.0
    target_high_ms: float = 400.0
    competes: bool = True
    l4s: bool = False
    min_window_bytes: float = 3000.0
    overhead: float = 1.5
    head_room: float = 2.0
    mss_bytes: float = 1000.0
    beta_loss: float = 0.7
    beta_mark: float = 0.8
    alpha_gain: float = 0.0625
    delay_gain: float = 0.25
    post_congestion_s: float = 4.0
    growth: float = 0.02
    virtual_rtt_ms: float = 25.0
    pacing_head_room: float = 1.5
    min_pacing_bps: float = 50_000.0
    under_way_limit: float = 0.9
    max_lowered: float = 1.5


_BETA = (0.1, 1.0)
_SHARE = (0.0, 1.0)
_RANGES = {
    "min_window_bytes": (1.0, 1e7), "overhead": (1.0, 100.0), "head_room": (1.0, 100.0), "mss_bytes": (1.0, 65535.0), "beta_loss": _BETA,
    "beta_mark": _BETA, "alpha_gain": _SHARE, "delay_gain": _SHARE, "post_congestion_s": (0.001, 1e4), "growth": _SHARE,
    "virtual_rtt_ms": (0.1, 1e4), "pacing_head_room": (1.0, 100.0), "min_pacing_bps": (1.0, 1e9), "under_way_limit": (0.01, 100.0),
    "max_lowered": (1.0, 100.0),
}  # fmt: skip

STATE = np.dtype(
    (
        np.record,
        [
            ("acks", ACKS),
            ("target", TARGET),
            ("window", WINDOW),
            ("frames", FRAMES),
            ("rate_bps", "f8"),
            ("min_bps", "f8"),
            ("max_bps", "f8"),
        ],
    )
)


class ScreamV2State(NamedTuple):
    """State; first axis: session."""

    scream: np.recarray  # (sessions,) of STATE


@allocate.register(ScreamV2)
def _allocate(params, sessions, paths):
    require_within(params, target_low_ms=(1.0, 1e4), **_RANGES)
    require_within(params, target_high_ms=(params.target_low_ms, 1e4))
    return ScreamV2State(np.zeros(sessions, STATE).view(np.recarray))


@init.register(ScreamV2)
def _init(params, state, s, start, key):
    scream = state.scream[s]
    clear_acks(scream.acks)
    clear_target(scream.target, params.target_low_ms)
    clear_reference(scream.window, params.min_window_bytes)
    clear_frames(scream.frames)
    scream.rate_bps, scream.min_bps, scream.max_bps = start.start_bps, start.min_bps, start.max_bps


@update.register(ScreamV2)
def _update(params, state, s, record):
    hear(state.scream[s].acks, record)


@see_sender.register(ScreamV2)
def _see_sender(params, state, s, status):
    scream = state.scream[s]
    scream.acks.sent_bytes = status.sent_bytes
    see_frame(scream.frames, status, scream.rate_bps)


@decide.register(ScreamV2)
def _decide(params, state, s, now_us):
    scream = state.scream[s]
    if scream.acks.new_packets > 0:
        _on_report(params, scream, now_us)
    else:
        hear_nothing(scream.acks, now_us)
    return np.int64(scream.rate_bps)


@window_bytes.register(ScreamV2)
def _window_bytes(params, state, s):
    scream = state.scream[s]
    return np.int64(params.overhead * scream.frames.high * scream.window.bytes) + scream.acks.forgiven_bytes


@pacing.register(ScreamV2)
def _pacing(params, state, s, default):
    rate_bps = state.scream[s].rate_bps
    return params.pacing_head_room * max(params.min_pacing_bps, rate_bps) / rate_bps


@report_every_us.register(ScreamV2)
def _report_every_us(params, state, s, default_us):
    per_s = _REPORTS_SHARE * state.scream[s].rate_bps / _REPORT_BITS
    return np.int64(1e6 / min(max(per_s, _MIN_REPORTS_PER_S), _MAX_REPORTS_PER_S))


@wake_us.register(ScreamV2)
def _wake_us(params, state, s):
    return next_look_us(state.scream[s].acks)


@reads_marks.register(ScreamV2)
def _reads_marks(params, state, s):
    return True


@kernel
def target_rate_bps(params, window_bytes, rtt_us, ratio, l4s_active):
    """Return the rate of a window (4.3), in bit/s, float64; the caller clips it.

    Args:
        params: ScreamV2.
        window_bytes: float64, ref_wnd, above 0.
        rtt_us: float64, s_rtt, above 0.
        ratio: float64, bytes in flight before the report divided by the window, at least 0.
        l4s_active: bool, as returned by `is_l4s_active`: marks then replace the reduction by `ratio`.
    """
    part = 1.0 - min(max(params.mss_bytes / window_bytes - _SMALL, 0.0), _MAX_OFF)
    if ratio > params.under_way_limit and not l4s_active:
        part /= min(params.max_lowered, ratio / params.under_way_limit)
    return 8e6 * window_bytes / rtt_us * part


@kernel
def _on_report(params, scream, now_us):
    acks, window, target = scream.acks, scream.window, scream.target
    close_report(acks, now_us)
    ratio = acks.before_bytes / window.bytes
    average(params, window, acks, now_us)
    l4s_active = is_l4s_active(params, window, acks.rtt_us, scream.rate_bps)
    reacted = shrink(params, window, acks, target.target_us, l4s_active, now_us)
    grow(params, window, acks, l4s_active, scream.rate_bps >= scream.max_bps, now_us)
    count_round_trip(target, reacted and acks.new_lost > 0, acks.rtt_us, now_us)
    if params.competes:
        adjust_target(target, acks.queuing_us, params.target_low_ms, params.target_high_ms)
    rate_bps = target_rate_bps(params, window.bytes, acks.rtt_us, ratio, l4s_active)
    scream.rate_bps = min(max(rate_bps, scream.min_bps), scream.max_bps)
    clear_report(acks)
