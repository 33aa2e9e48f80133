"""Self-Clocked Rate Adaptation for Multimedia, version 1: SCReAM (RFC 8298).

    packets of a report -> bytes acknowledged, round trip, queuing delay (acks.py) -> trend of the delay (trend.py)
      -> congestion window (congestion_window.py), its target of delay (queuing_target.py)
      -> send window and pacing (4.1.2.5, 4.1.2.6); media rate (media_rate.py)

    4.1.2.5  send window = cwnd - in_flight, plus MSS if qdelay <= target
    4.1.2.6  pacing at max(RATE_PACE_MIN, 8 cwnd / s_rtt)
    4.2.1    a report every 1 / min(50, max(2.5, media rate / 10000)) s

Left out: several streams (4.1.2.8), frames skipped by the encoder.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rate.scream.acks import ACKS, clear_acks, clear_report, close_report, hear, hear_nothing, next_look_us
from vcgym.baselines.rate.scream.congestion_window import CWND, LOSS, NOTHING, clear_window, grow, note_under_way, react, resume
from vcgym.baselines.rate.scream.media_rate import MEDIA_RATE, adjust, clear_media_rate, note_event
from vcgym.baselines.rate.scream.queuing_target import TARGET, adjust_target, clear_target, count_round_trip
from vcgym.baselines.rate.scream.trend import TREND, clear_trend, follow
from vcgym.baselines.records import SenderStatus
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


@rule(Control.RATE)
class ScreamV1(NamedTuple):
    """Parameters of RFC 8298 4.1.1.1, with their names there.

    Attributes:
        target_low_ms: QDELAY_TARGET_LO, minimum target of the queuing delay.
        target_high_ms: QDELAY_TARGET_HI, maximum target.
        competes: True: the target rises against loss-based flows (4.1.2.3).
        trend_weight: QDELAY_WEIGHT, weight of the newest delay in the trend.
        fast_below_trend: QDELAY_TREND_TH, trend at which fast increase ends.
        resumes_below_trend: QDELAY_TREND_LO, trend below which it may resume.
        resumes_after_s: T_RESUME_FAST_INCREASE, time after which it may resume.
        min_window_bytes: MIN_CWND, minimum window.
        head_room: MAX_BYTES_IN_FLIGHT_HEAD_ROOM, ratio of the window to the bytes in flight.
        gain: GAIN, gain of the window by the delay.
        mss_bytes: MSS, maximum packet size.
        beta_loss: BETA_LOSS, factor on the window after a loss.
        beta_mark: BETA_ECN, factor on window and rate after a mark.
        beta_rate: BETA_R, factor on the rate after a loss.
        adjust_ms: RATE_ADJUST_INTERVAL, interval of rate adjustments.
        ramp_up_bps_per_s: RAMP_UP_SPEED, maximum increase of the rate.
        congestion_guard: PRE_CONGESTION_GUARD, reduction of the rate by the trend.
        queue_factor: TX_QUEUE_SIZE_FACTOR, reduction of the rate by the send queue.
        queue_ms: RTP_QDELAY_TH, delay above which the send queue is too long.
        queue_scale: TARGET_RATE_SCALE_RTP_QDELAY, factor on the rate if the queue is too long.
        min_pacing_bps: RATE_PACE_MIN, minimum pacing rate.
    """

    target_low_ms: float = 100.0
    target_high_ms: float = 400.0
    competes: bool = True
    trend_weight: float = 0.1
    fast_below_trend: float = 0.2
    resumes_below_trend: float = 0.2
    resumes_after_s: float = 5.0
    min_window_bytes: float = 3000.0
    head_room: float = 1.1
    gain: float = 1.0
    mss_bytes: float = 1000.0
    beta_loss: float = 0.8
    beta_mark: float = 0.9
    beta_rate: float = 0.9
    adjust_ms: float = 200.0
    ramp_up_bps_per_s: float = 200_000.0
    congestion_guard: float = 0.1
    queue_factor: float = 1.0
    queue_ms: float = 20.0
    queue_scale: float = 0.95
    min_pacing_bps: float = 50_000.0


_BETA = (0.1, 1.0)
_SHARE = (0.0, 1.0)
_RANGES = {
    "trend_weight": _SHARE, "fast_below_trend": _SHARE, "resumes_below_trend": _SHARE, "resumes_after_s": (0.0, 1e4),
    "min_window_bytes": (1.0, 1e7), "head_room": (1.0, 100.0), "gain": (0.0, 100.0), "mss_bytes": (1.0, 65535.0), "beta_loss": _BETA,
    "beta_mark": _BETA, "beta_rate": _BETA, "adjust_ms": (1.0, 1e4), "ramp_up_bps_per_s": (0.0, 1e9), "congestion_guard": _SHARE,
    "queue_factor": (0.0, 100.0), "queue_ms": (0.0, 1e4), "queue_scale": _BETA, "min_pacing_bps": (1.0, 1e9),
}  # fmt: skip

STATE = np.dtype(
    (
        np.record,
        [
            ("acks", ACKS),
            ("trend", TREND),
            ("target", TARGET),
            ("cwnd", CWND),
            ("media", MEDIA_RATE),
            ("waiting_bytes", "i8"),
            ("captured_bytes", "i8"),
            ("frame_bytes", "i8"),
            ("min_bps", "f8"),
            ("max_bps", "f8"),
        ],
    )
)


class ScreamV1State(NamedTuple):
    """State; first axis: session."""

    scream: np.recarray  # (sessions,) of STATE


@allocate.register(ScreamV1)
def _allocate(params, sessions, paths):
    require_within(params, target_low_ms=(1.0, 1e4), **_RANGES)
    require_within(params, target_high_ms=(params.target_low_ms, 1e4))
    return ScreamV1State(np.zeros(sessions, STATE).view(np.recarray))


@init.register(ScreamV1)
def _init(params, state, s, start, key):
    scream = state.scream[s]
    clear_acks(scream.acks)
    clear_trend(scream.trend)
    clear_target(scream.target, params.target_low_ms)
    clear_window(scream.cwnd, params)
    clear_media_rate(scream.media, start.start_bps)
    scream.waiting_bytes = scream.captured_bytes = scream.frame_bytes = 0
    scream.min_bps, scream.max_bps = start.min_bps, start.max_bps


@update.register(ScreamV1)
def _update(params, state, s, record):
    hear(state.scream[s].acks, record)


@see_sender.register(ScreamV1)
def _see_sender(params, state, s, status):
    scream = state.scream[s]
    scream.waiting_bytes, scream.captured_bytes = status.waiting_bytes, status.captured_bytes
    scream.frame_bytes, scream.acks.sent_bytes = status.frame_bytes, status.sent_bytes


@decide.register(ScreamV1)
def _decide(params, state, s, now_us):
    scream = state.scream[s]
    if scream.acks.new_packets > 0:
        _on_report(params, scream, now_us)
    else:
        hear_nothing(scream.acks, now_us)
    return np.int64(scream.media.bps)


@window_bytes.register(ScreamV1)
def _window_bytes(params, state, s):
    scream = state.scream[s]
    more = params.mss_bytes if scream.acks.queuing_us <= scream.target.target_us else 0.0
    return np.int64(scream.cwnd.bytes + more) + scream.acks.forgiven_bytes


@pacing.register(ScreamV1)
def _pacing(params, state, s, default):
    scream = state.scream[s]
    if scream.acks.rtt_us == 0.0:
        return max(params.min_pacing_bps / scream.media.bps, 1.0)
    return max(params.min_pacing_bps, 8e6 * scream.cwnd.bytes / scream.acks.rtt_us) / scream.media.bps


@report_every_us.register(ScreamV1)
def _report_every_us(params, state, s, default_us):
    return np.int64(1e6 / min(50.0, max(2.5, state.scream[s].media.bps / 10_000.0)))


@wake_us.register(ScreamV1)
def _wake_us(params, state, s):
    return next_look_us(state.scream[s].acks)


@reads_marks.register(ScreamV1)
def _reads_marks(params, state, s):
    return True


@kernel
def _on_report(params, scream, now_us):
    acks, cwnd, target, trend = scream.acks, scream.cwnd, scream.target, scream.trend
    close_report(acks, now_us)
    note_under_way(cwnd, acks.before_bytes, now_us)
    follow(trend, acks.queuing_us / target.target_us, acks.rtt_us, now_us, params.trend_weight)
    was_fast = cwnd.fast
    event = react(params, cwnd, acks.new_lost, acks.new_marked, acks.rtt_us, now_us)
    count_round_trip(target, event == LOSS, acks.rtt_us, now_us)
    if event == NOTHING:
        grow(params, cwnd, acks.new_bytes, acks.under_way_bytes, acks.queuing_us, target.target_us, trend.trend)
    if was_fast == 1 and cwnd.fast == 0:
        scream.media.last_max_bps = scream.media.bps
    if params.competes:
        adjust_target(target, acks.queuing_us, params.target_low_ms, params.target_high_ms)
    resume(params, cwnd, trend.trend, now_us)
    note_event(scream.media, event)
    status = SenderStatus(scream.waiting_bytes, scream.captured_bytes, acks.sent_bytes, 0, scream.frame_bytes, 0)
    adjust(
        params, scream.media, cwnd.fast, trend.trend, trend.memory, status, acks.acked_bytes, scream.min_bps, scream.max_bps, now_us
    )
    clear_report(acks)
