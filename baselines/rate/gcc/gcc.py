"""Google Congestion Control, in its two variants in use, which are never mixed.

    packets of a report -> groups (grouping.py) -> trend of the delay variation (trend.py)
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

from typing import Annotated, Any, NamedTuple

import numpy as np

from vcgym.baselines.rate.gcc.aimd import BETA, GROWTH, Aimd, Received, control, receive
from vcgym.baselines.rate.gcc.grouping import DRAFT, WEBRTC, Groups, add, whole_ms
from vcgym.baselines.rate.gcc.loss import HIGH, LOW, Loss, control_draft, control_webrtc, count
from vcgym.baselines.rate.gcc.overuse import K_DOWN_DRAFT, K_DOWN_WEBRTC, K_UP_DRAFT, K_UP_WEBRTC, OVERUSE, Detector, judge
from vcgym.baselines.rate.gcc.trend import MAX_COUNTED, Kalman, Trendline, add_scalar, add_variation
from vcgym.baselines.rule import Control, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import records

_SILENCE_US = 2_000_000  # silence after which groups and filter are reset
_RTT_START_US = 200_000
_BACKOFF_RTT_US = 3_000_000  # libwebrtc rtt_based_backoff
_BACKOFF_EVERY_US = 1_000_000
_BACKOFF = 0.8


@record
class State:
    """State of a session."""

    groups: Groups = Groups()
    trendline: Trendline = Trendline()
    kalman: Kalman = Kalman()
    detector: Detector = Detector()
    received: Received = Received()
    aimd: Aimd = Aimd()
    loss: Loss = Loss()
    min_bps: float = 0.0
    max_bps: float = 0.0
    target_bps: float = 0.0
    rtt_us: int = _RTT_START_US
    known_us: int = -1  # arrival of the newest report; -1: none
    shrunk_us: int = 0  # last decrease of the target because of the round trip


_FRESH = records(State, 1)


@rule(Control.RATE, gcc=State)
class GccWebrtc(NamedTuple):
    """Parameters of libwebrtc's variant, with its values as defaults."""

    prefilter: bool = True  # merge bursts (grouping.py)
    k_up: Annotated[float, (0.0, 1.0)] = K_UP_WEBRTC  # rate at which the threshold rises, per ms (overuse.py)
    k_down: Annotated[float, (0.0, 1.0)] = K_DOWN_WEBRTC  # rate at which it falls
    beta: Annotated[float, (0.1, 1.0)] = BETA  # factor on the received rate after over-use (aimd.py)
    growth: Annotated[float, (1.0, 4.0)] = GROWTH  # factor per second far from the capacity
    loss_low: Annotated[float, (0.0, 1.0)] = LOW  # loss up to which the loss controller increases the target (loss.py)
    loss_high: Annotated[float, (0.0, 1.0)] = HIGH  # loss above which it decreases the target

    def init(self, gcc, start, key):
        _start(gcc, start)

    def update(self, gcc, record):
        if _on_packet(self, gcc, WEBRTC, record):
            modified = add_variation(gcc.trendline, gcc.groups.variation_us / 1000.0, gcc.groups.at_us // 1000)
            _judge(self, gcc, modified, gcc.trendline.slope)

    def decide(self, gcc, now_us):
        _control_delay(self, gcc, WEBRTC, now_us)
        # libwebrtc has a single target, so the loss controller continues from the delay-based target.
        may_bps = control_webrtc(gcc.loss, gcc.aimd.target_bps, gcc.rtt_us, now_us, self.loss_low, self.loss_high)
        gcc.loss.target_bps = min(may_bps, gcc.aimd.target_bps)
        if gcc.rtt_us > _BACKOFF_RTT_US and now_us - gcc.shrunk_us >= _BACKOFF_EVERY_US:
            gcc.loss.target_bps *= _BACKOFF
            gcc.shrunk_us = now_us
        return _settle(gcc)


@rule(Control.RATE, gcc=State)
class GccDraft(NamedTuple):
    """Parameters of the draft's variant, with its values as defaults: those of `GccWebrtc` and one more."""

    prefilter: bool = False
    noise_share: Annotated[float, (0.0, 0.1)] = 0.01  # chi, learning rate of the noise's variance, >= 0.001; 0: constant 50 ms^2
    k_up: Annotated[float, (0.0, 1.0)] = K_UP_DRAFT
    k_down: Annotated[float, (0.0, 1.0)] = K_DOWN_DRAFT
    beta: Annotated[float, (0.1, 1.0)] = BETA
    growth: Annotated[float, (1.0, 4.0)] = GROWTH
    loss_low: Annotated[float, (0.0, 1.0)] = LOW
    loss_high: Annotated[float, (0.0, 1.0)] = HIGH

    def init(self, gcc, start, key):
        _start(gcc, start)

    def update(self, gcc, record):
        if _on_packet(self, gcc, DRAFT, record):
            trend = add_scalar(gcc.kalman, gcc.groups.variation_us / 1000.0, gcc.groups.departures_us / 1000.0, self.noise_share)
            gcc.trendline.n = min(gcc.trendline.n + 1, MAX_COUNTED)
            _judge(self, gcc, gcc.trendline.n * trend, trend)

    def decide(self, gcc, now_us):
        _control_delay(self, gcc, DRAFT, now_us)
        gcc.loss.target_bps = control_draft(gcc.loss, self.loss_low, self.loss_high)
        return _settle(gcc)


@kernel
def _start(gcc, start):
    gcc.min_bps, gcc.max_bps, gcc.target_bps = start.min_bps, start.max_bps, start.start_bps
    gcc.aimd.target_bps = gcc.aimd.received_bps = gcc.loss.target_bps = start.start_bps


@kernel
def _on_packet(params, gcc, variant, record):
    """Update with one packet of a report; return True if it gives a new sample of the delay variation."""
    if record.known_us != gcc.known_us:
        # Differences of delays across a long silence say nothing about the queue.
        if gcc.known_us >= 0 and record.known_us - gcc.known_us > _SILENCE_US:
            fresh = _FRESH[0]
            gcc.groups, gcc.trendline, gcc.kalman, gcc.detector = fresh.groups, fresh.trendline, fresh.kalman, fresh.detector
        gcc.known_us = record.known_us
        # A new report: its round trip is the minimum over its packets.
        gcc.rtt_us = 1 << 40
    count(gcc.loss, record.arrived_us < 0)
    if record.arrived_us < 0:
        return False
    gcc.rtt_us = min(gcc.rtt_us, record.known_us - record.sent_us)
    receive(gcc.received, whole_ms(record.arrived_us), record.size_bytes)
    return add(gcc.groups, variant, params.prefilter, record.sent_us, record.arrived_us, record.known_us)


@kernel
def _judge(params, gcc, modified, trend):
    groups = gcc.groups
    judge(gcc.detector, modified, trend, gcc.trendline.n, groups.departures_us / 1000.0, groups.at_us, params.k_up, params.k_down)


@kernel
def _control_delay(params, gcc, variant, now_us):
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
    control(gcc.aimd, variant, usage, received_bps, gcc.rtt_us, now_us, params.beta, params.growth)


@kernel
def _settle(gcc):
    gcc.aimd.target_bps = min(max(gcc.aimd.target_bps, gcc.min_bps), gcc.max_bps)
    gcc.loss.target_bps = min(max(gcc.loss.target_bps, gcc.min_bps), gcc.max_bps)
    gcc.target_bps = min(gcc.aimd.target_bps, gcc.loss.target_bps)
    return np.int64(gcc.target_bps)


def stages(state: Any) -> dict[str, Any]:
    """Return the values of the stages, for plots: arrays (sessions,)."""
    gcc = state.gcc
    return {
        "received_kbps": gcc["received"]["estimate_kbps"].copy(),
        "threshold_ms": gcc["detector"]["threshold_ms"].copy(),
        "delay_target_bps": gcc["aimd"]["target_bps"].copy(),
        "loss_target_bps": gcc["loss"]["target_bps"].copy(),
    }
