"""Google Congestion Control, in its two variants in use, which are never mixed.

    packets of a report -> groups (grouping.py) -> trend of the delay variation (trendline.py or kalman.py)
      -> over-use detector with adaptive threshold (overuse.py) -> additive or multiplicative change (aimd.py)
    loss of the report -> loss controller (loss.py)
    target = the smaller target, within the bounds of the call

`GccWebrtc`  libwebrtc's send side as of 2024, with its classic loss controller: trendline, its threshold, its AIMD.
`GccDraft`   draft-ietf-rmcat-gcc-02: scalar Kalman filter, its threshold, its AIMD, its loss controller. The sender does the receiver's
             computations of the draft, on the same numbers.

`prefilter` merges bursts caused by Wi-Fi outages (grouping.py).

Left out: probing; the receive-side estimator of libwebrtc's older variant (grouping.py). The round trip of a report is the minimum over its
packets of the time from sending to the report's arrival.
"""

from typing import Any, NamedTuple

import numpy as np

from vcgym.baselines.rate.gcc.aimd import AIMD, BETA, GROWTH, control, start_aimd
from vcgym.baselines.rate.gcc.grouping import DRAFT, GROUPS, WEBRTC, add, clear_groups, whole_ms
from vcgym.baselines.rate.gcc.kalman import KALMAN, add_scalar, clear_kalman
from vcgym.baselines.rate.gcc.loss import HIGH, LOSS, LOW, control_draft, control_webrtc, count, start_loss
from vcgym.baselines.rate.gcc.overuse import DETECTOR, K_DOWN_DRAFT, K_DOWN_WEBRTC, K_UP_DRAFT, K_UP_WEBRTC, OVERUSE, clear_detector, judge
from vcgym.baselines.rate.gcc.received_rate import RECEIVED, clear_received, receive
from vcgym.baselines.rate.gcc.trendline import MAX_COUNTED, TRENDLINE, add_variation, clear_trendline
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

_SILENCE_US = 2_000_000  # silence after which groups and filter are reset
_RTT_START_US = 200_000
_BACKOFF_RTT_US = 3_000_000  # libwebrtc rtt_based_backoff
_BACKOFF_EVERY_US = 1_000_000
_BACKOFF = 0.8


@rule(Control.RATE)
class GccWebrtc(NamedTuple):
    """Parameters of libwebrtc's variant, with its values as defaults.

    Attributes:
        prefilter: merge bursts (grouping.py).
        k_up: rate at which the threshold rises, per ms (overuse.py), 0 to 1.
        k_down: rate at which it falls.
        beta: factor on the received rate after over-use (aimd.py), 0.1 to 1.
        growth: factor per second far from the capacity, 1 to 4.
        loss_low: loss up to which the loss controller increases the target (loss.py), 0 to 1.
        loss_high: loss above which it decreases the target.
    """

    prefilter: bool = True
    k_up: float = K_UP_WEBRTC
    k_down: float = K_DOWN_WEBRTC
    beta: float = BETA
    growth: float = GROWTH
    loss_low: float = LOW
    loss_high: float = HIGH


@rule(Control.RATE)
class GccDraft(NamedTuple):
    """Parameters of the draft's variant, with its values as defaults: those of `GccWebrtc` and one more.

    Attributes:
        noise_share: chi, learning rate of the measurement noise's variance, 0.001 to 0.1; 0: constant 50 ms^2.
    """

    prefilter: bool = False
    noise_share: float = 0.01
    k_up: float = K_UP_DRAFT
    k_down: float = K_DOWN_DRAFT
    beta: float = BETA
    growth: float = GROWTH
    loss_low: float = LOW
    loss_high: float = HIGH


_RANGES = {
    "k_up": (0.0, 1.0), "k_down": (0.0, 1.0), "beta": (0.1, 1.0), "growth": (1.0, 4.0), "loss_low": (0.0, 1.0), "loss_high": (0.0, 1.0),
}  # fmt: skip


STATE = np.dtype(
    (
        np.record,
        [
            ("groups", GROUPS),
            ("trendline", TRENDLINE),
            ("kalman", KALMAN),
            ("detector", DETECTOR),
            ("received", RECEIVED),
            ("aimd", AIMD),
            ("loss", LOSS),
            ("min_bps", "f8"),
            ("max_bps", "f8"),
            ("target_bps", "f8"),
            ("rtt_us", "i8"),
            ("known_us", "i8"),  # arrival of the newest report; -1: none
            ("shrunk_us", "i8"),  # last decrease of the target because of the round trip
        ],
    )
)


class GccState(NamedTuple):
    """State; first axis: session."""

    gcc: np.recarray  # (sessions,) of STATE


@generic(abstract=True)
def _variant(params):
    """Return WEBRTC or DRAFT."""


@generic(abstract=True)
def _trend(params, gcc, departures_ms):
    """Return the modified trend of a new sample, and the trend."""


@generic(abstract=True)
def _loss_target_bps(params, gcc, now_us):
    """Return the target of the loss controller after a report."""


@allocate.register(GccWebrtc, GccDraft)
def _allocate(params, sessions, paths):
    noise = {"noise_share": (0.0, 0.1)} if isinstance(params, GccDraft) else {}
    require_within(params, **_RANGES, **noise)
    return GccState(np.zeros(sessions, STATE).view(np.recarray))


@init.register(GccWebrtc, GccDraft)
def _init(params, state, s, start, key):
    _start(state.gcc[s], start)


@update.register(GccWebrtc, GccDraft)
def _update(params, state, s, record):
    gcc = state.gcc[s]
    _hear(gcc, record)
    if record.arrived_us >= 0 and add(
        gcc.groups, _variant(params), params.prefilter, record.sent_us, record.arrived_us, record.known_us
    ):
        departures_ms = gcc.groups.departures_us / 1000.0
        modified, trend = _trend(params, gcc, departures_ms)
        judge(gcc.detector, modified, trend, gcc.trendline.n, departures_ms, gcc.groups.at_us, params.k_up, params.k_down)


@decide.register(GccWebrtc, GccDraft)
def _decide(params, state, s, now_us):
    gcc = state.gcc[s]
    _control_delay(gcc, _variant(params), now_us, params.beta, params.growth)
    gcc.loss.target_bps = _loss_target_bps(params, gcc, now_us)
    return _settle(gcc)


@_variant.register(GccWebrtc)
def _variant_webrtc(params):
    return WEBRTC


@_variant.register(GccDraft)
def _variant_draft(params):
    return DRAFT


@_trend.register(GccWebrtc)
def _trend_webrtc(params, gcc, departures_ms):
    modified = add_variation(gcc.trendline, gcc.groups.variation_us / 1000.0, gcc.groups.at_us // 1000)
    return modified, gcc.trendline.slope


@_trend.register(GccDraft)
def _trend_draft(params, gcc, departures_ms):
    trend = add_scalar(gcc.kalman, gcc.groups.variation_us / 1000.0, departures_ms, params.noise_share)
    gcc.trendline.n = min(gcc.trendline.n + 1, MAX_COUNTED)
    return gcc.trendline.n * trend, trend


@_loss_target_bps.register(GccWebrtc)
def _loss_target_webrtc(params, gcc, now_us):
    # libwebrtc has a single target, so the loss controller continues from the delay-based target.
    may_bps = control_webrtc(gcc.loss, gcc.aimd.target_bps, gcc.rtt_us, now_us, params.loss_low, params.loss_high)
    target_bps = min(may_bps, gcc.aimd.target_bps)
    if gcc.rtt_us > _BACKOFF_RTT_US and now_us - gcc.shrunk_us >= _BACKOFF_EVERY_US:
        target_bps *= _BACKOFF
        gcc.shrunk_us = now_us
    return target_bps


@_loss_target_bps.register(GccDraft)
def _loss_target_draft(params, gcc, now_us):
    return control_draft(gcc.loss, params.loss_low, params.loss_high)


@kernel
def _start(gcc, start):
    gcc.min_bps, gcc.max_bps, gcc.target_bps = start.min_bps, start.max_bps, start.start_bps
    gcc.rtt_us, gcc.known_us, gcc.shrunk_us = _RTT_START_US, -1, 0
    clear_groups(gcc.groups)
    clear_trendline(gcc.trendline)
    clear_kalman(gcc.kalman)
    clear_detector(gcc.detector)
    clear_received(gcc.received)
    start_aimd(gcc.aimd, start.start_bps, 0)
    start_loss(gcc.loss, start.start_bps)


@kernel
def _hear(gcc, record):
    """Update with one packet of a report, the same in both variants."""
    if record.known_us != gcc.known_us:
        # Differences of delays across a long silence say nothing about the queue.
        if gcc.known_us >= 0 and record.known_us - gcc.known_us > _SILENCE_US:
            clear_groups(gcc.groups)
            clear_trendline(gcc.trendline)
            clear_kalman(gcc.kalman)
            clear_detector(gcc.detector)
        gcc.known_us = record.known_us
        # A new report: its round trip is the minimum over its packets.
        gcc.rtt_us = 1 << 40
    count(gcc.loss, record.arrived_us < 0)
    if record.arrived_us >= 0:
        gcc.rtt_us = min(gcc.rtt_us, record.known_us - record.sent_us)
        receive(gcc.received, whole_ms(record.arrived_us), record.size_bytes)


@kernel
def _control_delay(gcc, variant, now_us, beta, growth):
    """Update the delay-based target after a report.

    Over-use has an effect again only a round trip after the last change, or if the received rate is far below the target.
    """
    if gcc.rtt_us >= 1 << 40:
        gcc.rtt_us = _RTT_START_US
    received_bps = gcc.received.estimate_kbps * 1000.0 if gcc.received.estimate_kbps >= 0.0 else -1.0
    usage = gcc.detector.usage
    if usage == OVERUSE:
        # There is no received rate to decrease to yet.
        if received_bps < 0.0:
            gcc.aimd.target_bps, gcc.aimd.changed_us = gcc.aimd.target_bps / 2.0, now_us
            return
        waits_us = min(max(gcc.rtt_us, 10_000), 200_000)
        if now_us - gcc.aimd.changed_us < waits_us and received_bps >= 0.5 * gcc.aimd.target_bps:
            return
    control(gcc.aimd, variant, usage, received_bps, gcc.rtt_us, now_us, beta, growth)


@kernel
def _settle(gcc):
    gcc.aimd.target_bps = min(max(gcc.aimd.target_bps, gcc.min_bps), gcc.max_bps)
    gcc.loss.target_bps = min(max(gcc.loss.target_bps, gcc.min_bps), gcc.max_bps)
    gcc.target_bps = min(gcc.aimd.target_bps, gcc.loss.target_bps)
    return np.int64(gcc.target_bps)


def stages(state: GccState) -> dict[str, Any]:
    """Return the values of the stages, for plots: arrays (sessions,)."""
    gcc = state.gcc
    return {
        "received_kbps": gcc["received"]["estimate_kbps"].copy(),
        "threshold_ms": gcc["detector"]["threshold_ms"].copy(),
        "delay_target_bps": gcc["aimd"]["target_bps"].copy(),
        "loss_target_bps": gcc["loss"]["target_bps"].copy(),
    }
