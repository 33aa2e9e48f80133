"""Self-Clocked Rate Adaptation for Multimedia, version 1: SCReAM (RFC 8298).

    packets of a report -> bytes acknowledged, round trip, queuing delay, its target (report.py) -> trend of the delay (4.1.2)
      -> congestion window (4.1.2) -> send window and pacing (4.1.2.5, 4.1.2.6); media rate (media_rate.py)

The trend indicates a growing queue. Every min(50 ms, s_rtt), with f = qdelay / target:

    avg = (1 - QDELAY_WEIGHT) avg + QDELAY_WEIGHT f
    a = R(1) / R(0), R the autocorrelation of the last 20 f minus their mean; 0 if all are equal
    qdelay_trend = clip(a avg, 0, 1)
    qdelay_trend_mem = max(0.99 qdelay_trend_mem, qdelay_trend)

4.1.2.1  on a loss or a mark, at most one event per s_rtt: fast increase ends, cwnd = max(MIN_CWND, BETA cwnd)
4.1.2.2  else, in fast increase: it ends if qdelay_trend >= QDELAY_TREND_TH; else
         cwnd += acked                      if 1.5 in_flight + acked > cwnd
         else, off = (target - qdelay) / target:
         cwnd += GAIN off acked MSS / cwnd  if off <= 0 or 1.25 in_flight + acked > cwnd
         cwnd = max(MIN_CWND, min(cwnd, MAX_BYTES_IN_FLIGHT_HEAD_ROOM times the maximum in_flight of 5 s))
4.1.2.5  send window = cwnd - in_flight, plus MSS if qdelay <= target
4.1.2.6  pacing at max(RATE_PACE_MIN, 8 cwnd / s_rtt)
4.1.2.7  fast increase resumes after 5 s with qdelay_trend < QDELAY_TREND_LO and no event
4.2.1    a report every 1 / min(50, max(2.5, media rate / 10000)) s

Left out: several streams (4.1.2.8), frames skipped by the encoder.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rate.scream.media_rate import LOSS, MARK, NOTHING, MediaRate, adjust, note_event
from vcgym.baselines.rate.scream.report import (
    Acks,
    Target,
    adjust_target,
    clear_report,
    close_report,
    count_round_trip,
    on_packet,
    on_timeout,
    timeout_us,
)
from vcgym.baselines.records import SenderStatus
from vcgym.baselines.rule import Control, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

_HISTORY = 20
_EVERY_US = 50_000
_MEMORY = 0.99
_LONGEST_US = 5_000_000
_PLACES = 512  # capacity for 5 s, with at most one report per 20 ms; further entries replace the oldest
_LONG_AGO_US = -(1 << 61)


@record
class Trend:
    """Trend of the queuing delay."""

    trend: float = 0.0
    memory: float = 0.0
    average: float = 0.0
    at_us: int = 0  # time of the newest sample
    next: int = 0
    history: NDArray[np.float64] = np.zeros(_HISTORY)


@record
class Cwnd:
    """Congestion window."""

    bytes: float = 0.0  # cwnd
    fast: int = 1  # 1: in_fast_increase
    event_us: int = _LONG_AGO_US  # last loss or mark
    trouble_us: int = 0  # last event or rising trend
    oldest: int = 0
    newest: int = 0
    then_us: NDArray[np.int64] = np.zeros(_PLACES, np.int64)
    then_bytes: NDArray[np.int64] = np.zeros(_PLACES, np.int64)


@record
class State:
    """State of a session."""

    acks: Acks = Acks()
    trend: Trend = Trend()
    target: Target = Target()
    cwnd: Cwnd = Cwnd()
    media: MediaRate = MediaRate()
    waiting_bytes: int = 0
    captured_bytes: int = 0
    frame_bytes: int = 0
    min_bps: float = 0.0
    max_bps: float = 0.0


@rule(Control.RATE, scream=State)
class ScreamV1(NamedTuple):
    """Parameters of RFC 8298 4.1.1.1, with their names there."""

    target_low_ms: Annotated[float, (1.0, 1e4)] = 100.0  # QDELAY_TARGET_LO, minimum target of the queuing delay
    target_high_ms: float = 400.0  # QDELAY_TARGET_HI, maximum target
    competes: bool = True  # True: the target rises against loss-based flows (4.1.2.3)
    trend_weight: Annotated[float, (0.0, 1.0)] = 0.1  # QDELAY_WEIGHT, weight of the newest delay in the trend
    fast_below_trend: Annotated[float, (0.0, 1.0)] = 0.2  # QDELAY_TREND_TH, trend at which fast increase ends
    resumes_below_trend: Annotated[float, (0.0, 1.0)] = 0.2  # QDELAY_TREND_LO, trend below which it may resume
    resumes_after_s: Annotated[float, (0.0, 1e4)] = 5.0  # T_RESUME_FAST_INCREASE, time after which it may resume
    min_window_bytes: Annotated[float, (1.0, 1e7)] = 3000.0  # MIN_CWND, minimum window
    head_room: Annotated[float, (1.0, 100.0)] = 1.1  # MAX_BYTES_IN_FLIGHT_HEAD_ROOM, ratio of the window to the bytes in flight
    gain: Annotated[float, (0.0, 100.0)] = 1.0  # GAIN, gain of the window by the delay
    mss_bytes: Annotated[float, (1.0, 65535.0)] = 1000.0  # MSS, maximum packet size
    beta_loss: Annotated[float, (0.1, 1.0)] = 0.8  # BETA_LOSS, factor on the window after a loss
    beta_mark: Annotated[float, (0.1, 1.0)] = 0.9  # BETA_ECN, factor on window and rate after a mark
    beta_rate: Annotated[float, (0.1, 1.0)] = 0.9  # BETA_R, factor on the rate after a loss
    adjust_ms: Annotated[float, (1.0, 1e4)] = 200.0  # RATE_ADJUST_INTERVAL, interval of rate adjustments
    ramp_up_bps_per_s: Annotated[float, (0.0, 1e9)] = 200_000.0  # RAMP_UP_SPEED, maximum increase of the rate
    congestion_guard: Annotated[float, (0.0, 1.0)] = 0.1  # PRE_CONGESTION_GUARD, reduction of the rate by the trend
    queue_factor: Annotated[float, (0.0, 100.0)] = 1.0  # TX_QUEUE_SIZE_FACTOR, reduction of the rate by the send queue
    queue_ms: Annotated[float, (0.0, 1e4)] = 20.0  # RTP_QDELAY_TH, delay above which the send queue is too long
    queue_scale: Annotated[float, (0.1, 1.0)] = 0.95  # TARGET_RATE_SCALE_RTP_QDELAY, factor on the rate if the queue is too long
    min_pacing_bps: Annotated[float, (1.0, 1e9)] = 50_000.0  # RATE_PACE_MIN, minimum pacing rate

    def check(self):
        """Reject a maximum target below the minimum one."""
        require_within(self, target_high_ms=(self.target_low_ms, 1e4))

    def init(self, scream, start, key):
        scream.target.target_us, scream.cwnd.bytes = self.target_low_ms * 1000.0, self.min_window_bytes
        scream.media.bps, scream.min_bps, scream.max_bps = start.start_bps, start.min_bps, start.max_bps

    def update(self, scream, record):
        on_packet(scream.acks, record)

    def see_sender(self, scream, status):
        scream.waiting_bytes, scream.captured_bytes = status.waiting_bytes, status.captured_bytes
        scream.frame_bytes, scream.acks.sent_bytes = status.frame_bytes, status.sent_bytes

    def decide(self, scream, now_us):
        if scream.acks.new_packets > 0:
            _on_report(self, scream, now_us)
        else:
            on_timeout(scream.acks, now_us)
        return np.int64(scream.media.bps)

    def window_bytes(self, scream):
        more = self.mss_bytes if scream.acks.queuing_us <= scream.target.target_us else 0.0
        return np.int64(scream.cwnd.bytes + more) + scream.acks.written_off_bytes

    def pacing(self, scream, default):
        if scream.acks.rtt_us == 0.0:
            return max(self.min_pacing_bps / scream.media.bps, 1.0)
        return max(self.min_pacing_bps, 8e6 * scream.cwnd.bytes / scream.acks.rtt_us) / scream.media.bps

    def report_every_us(self, scream, default_us):
        return np.int64(1e6 / min(50.0, max(2.5, scream.media.bps / 10_000.0)))

    def wake_us(self, scream):
        return timeout_us(scream.acks)

    def reads_marks(self, scream):
        return True


@kernel
def _on_report(params, scream, now_us):
    acks, cwnd, target, trend = scream.acks, scream.cwnd, scream.target, scream.trend
    close_report(acks, now_us)
    note_in_flight(cwnd, acks.before_bytes, now_us)
    follow(trend, acks.queuing_us / target.target_us, acks.rtt_us, now_us, params.trend_weight)
    was_fast = cwnd.fast
    event = react(params, cwnd, acks.new_lost, acks.new_marked, acks.rtt_us, now_us)
    count_round_trip(target, event == LOSS, acks.rtt_us, now_us)
    if event == NOTHING:
        grow(params, cwnd, acks.new_bytes, acks.in_flight_bytes, acks.queuing_us, target.target_us, trend.trend)
    if was_fast == 1 and cwnd.fast == 0:
        scream.media.last_max_bps = scream.media.bps
    if params.competes:
        adjust_target(target, acks.queuing_us, params.target_low_ms, params.target_high_ms)
    resume(params, cwnd, trend.trend, now_us)
    note_event(scream.media, event)
    status = SenderStatus(scream.waiting_bytes, scream.captured_bytes, acks.sent_bytes, 0, scream.frame_bytes, 0)
    adjust(params, scream.media, cwnd.fast, trend.trend, trend.memory, status, acks.acked_bytes, scream.min_bps, scream.max_bps, now_us)
    clear_report(acks)


@kernel
def follow(trend, share, rtt_us, now_us, weight):
    """Add `share`, qdelay divided by its target, with `weight` QDELAY_WEIGHT, 0 to 1, if a sample is due: at most one per s_rtt."""
    if now_us - trend.at_us < min(rtt_us, _EVERY_US):
        return
    trend.at_us = now_us
    trend.average = (1.0 - weight) * trend.average + weight * share
    trend.history[trend.next % _HISTORY] = share
    trend.next += 1
    trend.trend = min(max(_correlation(trend) * trend.average, 0.0), 1.0)
    trend.memory = max(_MEMORY * trend.memory, trend.trend)


@kernel
def _correlation(trend):
    first, mean = trend.history[0], 0.0  # makes the deviation of equal shares exactly 0
    for i in range(_HISTORY):
        mean += (trend.history[i] - first) / _HISTORY
    at_0, at_1, before = 0.0, 0.0, 0.0
    for i in range(_HISTORY):
        off = trend.history[(trend.next + i) % _HISTORY] - first - mean
        at_0 += off * off
        at_1 += off * before
        before = off
    return at_1 / at_0 if at_0 > 0.0 else 0.0


@kernel
def note_in_flight(cwnd, in_flight_bytes, now_us):
    """Store the bytes in flight; keep the values of the last 5 s that no later one exceeds: the oldest is the maximum."""
    while cwnd.oldest < cwnd.newest and now_us - cwnd.then_us[cwnd.oldest % _PLACES] >= _LONGEST_US:
        cwnd.oldest += 1
    while cwnd.oldest < cwnd.newest and cwnd.then_bytes[(cwnd.newest - 1) % _PLACES] <= in_flight_bytes:
        cwnd.newest -= 1
    if cwnd.newest - cwnd.oldest == _PLACES:
        cwnd.oldest += 1
    cwnd.then_us[cwnd.newest % _PLACES], cwnd.then_bytes[cwnd.newest % _PLACES] = now_us, in_flight_bytes
    cwnd.newest += 1


@kernel
def react(params, cwnd, lost, marked, rtt_us, now_us):
    """Cut the window after a lost or marked packet of a report (4.1.2.1); return the event: NOTHING, LOSS or MARK."""
    if (lost == 0 and marked == 0) or now_us - cwnd.event_us < rtt_us:
        return NOTHING
    cwnd.event_us = cwnd.trouble_us = now_us
    cwnd.fast = 0
    cwnd.bytes = max(params.min_window_bytes, (params.beta_loss if lost > 0 else params.beta_mark) * cwnd.bytes)
    return LOSS if lost > 0 else MARK


@kernel
def grow(params, cwnd, acked_bytes, in_flight_bytes, queuing_us, target_us, trend):
    """Update the window after a report without an event (4.1.2.2), once `note_in_flight` has stored its bytes in flight.

    `acked_bytes`, newly acknowledged, and `in_flight_bytes`, after the report, are int64; `queuing_us` is qdelay, at least 0, `target_us`
    its target, float64 above 0, `trend` qdelay_trend, 0 to 1.
    """
    if cwnd.fast == 1:
        if trend < params.fast_below_trend:
            if 1.5 * in_flight_bytes + acked_bytes > cwnd.bytes:
                cwnd.bytes += acked_bytes
            return
        cwnd.fast = 0
    off = (target_us - queuing_us) / target_us
    if off <= 0.0 or 1.25 * in_flight_bytes + acked_bytes > cwnd.bytes:
        cwnd.bytes += params.gain * off * acked_bytes * params.mss_bytes / cwnd.bytes
    cwnd.bytes = min(cwnd.bytes, params.head_room * cwnd.then_bytes[cwnd.oldest % _PLACES])
    cwnd.bytes = max(cwnd.bytes, params.min_window_bytes)


@kernel
def resume(params, cwnd, trend, now_us):
    """Resume fast increase after a time without congestion (4.1.2.7); `trend` is qdelay_trend, 0 to 1."""
    if trend >= params.resumes_below_trend:
        cwnd.trouble_us = now_us
    elif cwnd.fast == 0 and now_us - cwnd.trouble_us >= params.resumes_after_s * 1e6:
        cwnd.fast = 1
