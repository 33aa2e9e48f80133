"""Self-Clocked Rate Adaptation for Multimedia, version 2: SCReAM (draft-johansson-ccwg-rfc8298bis-screamv2, which obsoletes RFC 8298).

    packets of a report -> bytes acknowledged, round trip, queuing delay, its target (report.py, 4.4)
      -> reference window (reference_window.py, 4.2)
      -> send window and pacing (4.2.4, 4.2.5); target rate (4.3)

    4.2.4  send window = REF_WND_OVERHEAD rel_framesize_high ref_wnd - in_flight
    4.2.5  pacing at PACKET_PACING_HEADROOM max(RATE_PACE_MIN, rate)
    4.3    rate = 8 ref_wnd / s_rtt (1 - clip(MSS / ref_wnd - 0.1, 0, 0.8)) / c, within the bounds of the call;
           c = min(1.5, ratio / 0.9) if ratio > 0.9 and L4S does not mark, else 1; ratio = in_flight / ref_wnd before the report
    5      a report per frame, here 30 per second, or more while reports of 100 bytes take up to 2 % of the rate, at most 1000

rel_framesize_high is the 75th percentile of size / (rate * frame period / 8) over the newest 32 frames with a value above 1; at least 1.
The draft uses a histogram, optionally "leaky"; here a new frame replaces the oldest of the 32.

Left out: several streams (4.2.6), systematic errors of encoders (4.5), and additions of the published code: a rate divided by 1.1 and
without 20 bytes per packet, s_rtt + 1 ms, damped growth if the delay varies.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rate.scream.reference_window import Window, average, grow, is_l4s_active, shrink
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
from vcgym.baselines.rule import Control, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

_SMALL, _MAX_OFF = 0.1, 0.8  # 4.3
_REPORT_BITS, _REPORTS_SHARE = 800.0, 0.02  # 5
_MIN_REPORTS_PER_S, _MAX_REPORTS_PER_S = 30.0, 1000.0
_KEPT = 32
_HIGH = 0.75


@record
class Frames:
    """Relative sizes of frames."""

    high: float = 1.0
    seen: int = 0
    larger: int = 0
    relative: NDArray[np.float64] = np.zeros(_KEPT)


@record
class State:
    """State of a session."""

    acks: Acks = Acks()
    target: Target = Target()
    window: Window = Window()
    frames: Frames = Frames()
    rate_bps: float = 0.0
    min_bps: float = 0.0
    max_bps: float = 0.0


@rule(Control.RATE, scream=State)
class ScreamV2(NamedTuple):
    """Parameters of the draft's 4.1.1, with their names there."""

    target_low_ms: Annotated[float, (1.0, 1e4)] = 60.0  # QDELAY_TARGET_LO, minimum target of the queuing delay
    target_high_ms: float = 400.0  # QDELAY_TARGET_HI, maximum target
    competes: bool = True  # True: the target rises against loss-based flows (4.4)
    l4s: bool = False  # IS_L4S, True: marks are those of L4S
    min_window_bytes: Annotated[float, (1.0, 1e7)] = 3000.0  # MIN_REF_WND, minimum window
    overhead: Annotated[float, (1.0, 100.0)] = 1.5  # REF_WND_OVERHEAD, ratio of the limit on bytes in flight to the window
    head_room: Annotated[float, (1.0, 100.0)] = 2.0  # BYTES_IN_FLIGHT_HEAD_ROOM, ratio of the window to the bytes in flight
    mss_bytes: Annotated[float, (1.0, 65535.0)] = 1000.0  # MSS, maximum packet size
    beta_loss: Annotated[float, (0.1, 1.0)] = 0.7  # BETA_LOSS, factor on the window after a loss
    beta_mark: Annotated[float, (0.1, 1.0)] = 0.8  # BETA_ECN, factor on the window after a mark without L4S
    alpha_gain: Annotated[float, (0.0, 1.0)] = 0.0625  # L4S_AVG_G, weight of the newest share of marks
    delay_gain: Annotated[float, (0.0, 1.0)] = 0.25  # QDELAY_AVG_G, weight of the newest delay if it rises
    post_congestion_s: Annotated[float, (0.001, 1e4)] = 4.0  # POST_CONGESTION_DELAY, time until full growth after congestion
    growth: Annotated[float, (0.0, 1.0)] = 0.02  # MUL_INCREASE_FACTOR, growth of the window per round trip
    virtual_rtt_ms: Annotated[float, (0.1, 1e4)] = 25.0  # VIRTUAL_RTT, round trip below which growth is slower and reactions are rarer
    pacing_head_room: Annotated[float, (1.0, 100.0)] = 1.5  # PACKET_PACING_HEADROOM, ratio of the pacing rate to the rate
    min_pacing_bps: Annotated[float, (1.0, 1e9)] = 50_000.0  # RATE_PACE_MIN, minimum pacing rate
    under_way_limit: Annotated[float, (0.01, 100.0)] = 0.9  # BYTES_IN_FLIGHT_LIMIT, share of the window above which the rate falls
    max_lowered: Annotated[float, (1.0, 100.0)] = 1.5  # BYTES_IN_FLIGHT_LIMIT_COMPENSATION, maximum divisor of that reduction

    def check(self):
        """Reject a maximum target below the minimum one."""
        require_within(self, target_high_ms=(self.target_low_ms, 1e4))

    def init(self, scream, start, key):
        scream.target.target_us, scream.window.bytes = self.target_low_ms * 1000.0, self.min_window_bytes
        scream.rate_bps, scream.min_bps, scream.max_bps = start.start_bps, start.min_bps, start.max_bps

    def update(self, scream, record):
        on_packet(scream.acks, record)

    def see_sender(self, scream, status):
        scream.acks.sent_bytes = status.sent_bytes
        see_frame(scream.frames, status, scream.rate_bps)

    def decide(self, scream, now_us):
        if scream.acks.new_packets > 0:
            _on_report(self, scream, now_us)
        else:
            on_timeout(scream.acks, now_us)
        return np.int64(scream.rate_bps)

    def window_bytes(self, scream):
        return np.int64(self.overhead * scream.frames.high * scream.window.bytes) + scream.acks.written_off_bytes

    def pacing(self, scream, default):
        return self.pacing_head_room * max(self.min_pacing_bps, scream.rate_bps) / scream.rate_bps

    def report_every_us(self, scream, default_us):
        per_s = _REPORTS_SHARE * scream.rate_bps / _REPORT_BITS
        return np.int64(1e6 / min(max(per_s, _MIN_REPORTS_PER_S), _MAX_REPORTS_PER_S))

    def wake_us(self, scream):
        return timeout_us(scream.acks)

    def reads_marks(self, scream):
        return True


@kernel
def target_rate_bps(params, window_bytes, rtt_us, ratio, l4s_active):
    """Return the rate of a window (4.3), in bit/s, float64; the caller clips it.

    `window_bytes`, above 0, is ref_wnd, `rtt_us`, above 0, s_rtt, `ratio` the bytes in flight before the report divided by the window. With
    `l4s_active` marks replace the reduction by `ratio`.
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


@kernel
def see_frame(frames, status, rate_bps):
    """Add the newest frame if it is new; `status`: status of the sender, `rate_bps`: the encoder's target."""
    if status.frames == frames.seen:
        return
    frames.seen = status.frames
    size = 8e6 * status.frame_bytes / (rate_bps * status.frame_us)
    if size > 1.0:
        frames.relative[frames.larger % _KEPT] = size
        frames.larger += 1
        frames.high = _percentile(frames.relative, min(frames.larger, _KEPT))


@kernel
def _percentile(sizes, n):
    """Return the smallest of n sizes that at least three quarters of them do not exceed."""
    best = np.inf
    for i in range(n):
        within = 0
        for j in range(n):
            within += sizes[j] <= sizes[i]
        if within >= _HIGH * n:
            best = min(best, sizes[i])
    return best
