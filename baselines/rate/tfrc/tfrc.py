"""TFRC as in DCCP's CCID 3 (RFC 5348, RFC 4342): the sending rate from packet size, round-trip time and loss event rate.

    per report   s <- 0.9 s + 0.1 size, R <- 0.9 R + 0.1 sample, X_recv = bits arrived since the previous report / time
    p > 0        X = max(min(X_calc, 2 X_recv), s / 64 s)
    p = 0        at most once per R: X = max(min(2 X, 2 X_recv), W_init / R), W_init = min(4 s, max(2 s, 4380 bytes))
    no report for max(4 R, 2 s / X), 2 s at first:
                 p = 0: X halves; else X_recv halves, or becomes X_calc / 4 if X_calc is the limit; X follows

The receiver reports once per round trip. Its computations, loss intervals and X_recv, are done here from the same packets.

`idle_rule`: treatment of a sender that had nothing to send, so that X_recv does not show the capacity:
    NONE             none, as in the Linux 2.6.20 of the seed paper on SBPN: the rate decays, which SBPN2 prevents
    RFC4342          after two idle round trips X_recv does not limit the rate below the initial rate (RFC 4342 5.1)
    FASTER_RESTART   the same, and without loss X quadruples up to its previous value (Faster Restart for TFRC, the IETF's draft)

Left out: the set of recent X_recv of RFC 5348 4.3, oscillation damping (off in CCID 3), a report at the time of a loss.
"""

import enum
from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.rate.tfrc.loss_intervals import CLOSED, Intervals, loss_event_rate, packet_fate, throughput_bps
from vcgym.baselines.rule import NEVER_US, Control, record, rule
from vcgym.network.kernels.jit import kernel

_BACKOFF_S = 64.0  # RFC 5348 4.3, t_mbi
_INITIAL_BYTES = 4380.0  # RFC 3390
_FIRST_TIMER_US = 2_000_000  # RFC 5348 4.2
_MIN_RTT_US = 1_000
_KEEPS = 0.9


class IdleRule(enum.IntEnum):
    """Treatment of a sender that had nothing to send."""

    NONE = 0
    RFC4342 = 1
    FASTER_RESTART = 2


@record
class State:
    """State of a session."""

    x_bps: float = 0.0
    x_recv_bps: float = 0.0
    size_bytes: float = 0.0
    rtt_us: float = 0.0
    reports: int = 0
    doubled_us: int = 0
    known_us: int = -1  # arrival of the newest report; -1: none
    decided_us: int = -1  # arrival of the report of the last decision
    timer_us: int = _FIRST_TIMER_US
    arrived_bytes: int = 0  # in the current report
    min_rtt_us: int = NEVER_US
    sent_us: int = 0  # newest packet known to have been sent
    before_idle_bps: float = 0.0
    intervals: Intervals = Intervals()


@rule(Control.RATE, tfrc=State)
class Tfrc(NamedTuple):
    """Parameters."""

    idle_rule: IdleRule = IdleRule.NONE
    size_bytes: Annotated[float, (1.0, 65535.0)] = 519.0  # packet size assumed before the first report
    rtt_ms: Annotated[float, (1.0, 1e4)] = 100.0  # round trip of the handshake, used until the first report
    rtt_keeps: Annotated[float, (0.0, 0.999)] = 0.9  # weight of the previous round trip estimate
    intervals: Annotated[int, (2, CLOSED)] = CLOSED  # number of loss intervals, even

    def init(self, tfrc, start, key):
        tfrc.size_bytes, tfrc.rtt_us = self.size_bytes, self.rtt_ms * 1000.0
        tfrc.x_bps = initial_bps(tfrc)

    def update(self, tfrc, record):
        if record.known_us != tfrc.known_us:
            tfrc.known_us, tfrc.arrived_bytes, tfrc.min_rtt_us = record.known_us, 0, NEVER_US
        lost = record.arrived_us < 0
        if not lost:
            tfrc.arrived_bytes += record.size_bytes
            tfrc.min_rtt_us = min(tfrc.min_rtt_us, record.known_us - record.sent_us)
        tfrc.sent_us = max(tfrc.sent_us, record.sent_us)
        tfrc.size_bytes = _KEEPS * tfrc.size_bytes + (1.0 - _KEEPS) * record.size_bytes
        packet_fate(tfrc.intervals, record.packet, record.sent_us, lost, tfrc.rtt_us, tfrc.size_bytes, tfrc.x_recv_bps)

    def decide(self, tfrc, now_us):
        if tfrc.known_us > tfrc.decided_us:
            _on_report(tfrc, self, now_us)
        elif now_us >= tfrc.timer_us:
            _on_silence(tfrc, self, now_us)
        return np.int64(tfrc.x_bps)

    def report_every_us(self, tfrc, default_us):
        return max(np.int64(tfrc.rtt_us), np.int64(_MIN_RTT_US))

    def wake_us(self, tfrc):
        return tfrc.timer_us


@kernel
def initial_bps(tfrc):
    """Return W_init / R (RFC 5348 4.2, RFC 3390 with the packet size as segment size)."""
    size = tfrc.size_bytes
    return 8.0 * min(4.0 * size, max(2.0 * size, _INITIAL_BYTES)) / (tfrc.rtt_us * 1e-6)


@kernel
def _least_bps(tfrc):
    return 8.0 * tfrc.size_bytes / _BACKOFF_S


@kernel
def _on_report(tfrc, params, now_us):
    if tfrc.min_rtt_us < NEVER_US:
        sample = np.float64(tfrc.min_rtt_us)
        keeps = params.rtt_keeps if tfrc.reports > 0 else 0.0
        tfrc.rtt_us = keeps * tfrc.rtt_us + (1.0 - keeps) * sample
    if tfrc.reports > 0:
        tfrc.x_recv_bps = 8.0 * tfrc.arrived_bytes / max((tfrc.known_us - tfrc.decided_us) * 1e-6, 1e-6)
    tfrc.reports += 1
    tfrc.decided_us = tfrc.known_us
    _recompute(tfrc, params, now_us)
    _set_timer(tfrc, now_us)


@kernel
def _on_silence(tfrc, params, now_us):
    """Reduce the rate after a time without reports (RFC 5348 4.4)."""
    p = loss_event_rate(tfrc.intervals, params.intervals)
    idle = params.idle_rule != IdleRule.NONE and now_us - tfrc.sent_us >= 2.0 * tfrc.rtt_us
    if p == 0.0 or tfrc.reports == 0:
        min_bps = initial_bps(tfrc) if idle else _least_bps(tfrc)
        tfrc.x_bps = max(tfrc.x_bps / 2.0, min(min_bps, tfrc.x_bps))
    else:
        x_calc_bps = throughput_bps(tfrc.size_bytes, tfrc.rtt_us * 1e-6, p)
        tfrc.x_recv_bps = tfrc.x_recv_bps / 2.0 if x_calc_bps > 2.0 * tfrc.x_recv_bps else x_calc_bps / 4.0
        _recompute(tfrc, params, now_us)
    _set_timer(tfrc, now_us)


@kernel
def _recompute(tfrc, params, now_us):
    p = loss_event_rate(tfrc.intervals, params.intervals)
    max_bps = 2.0 * tfrc.x_recv_bps
    if params.idle_rule != IdleRule.NONE and now_us - tfrc.sent_us >= 2.0 * tfrc.rtt_us:
        max_bps = max(max_bps, initial_bps(tfrc))
        tfrc.before_idle_bps = max(tfrc.before_idle_bps, tfrc.x_bps)
    if p > 0.0:
        x_calc_bps = throughput_bps(tfrc.size_bytes, tfrc.rtt_us * 1e-6, p)
        tfrc.x_bps = max(min(x_calc_bps, max_bps), _least_bps(tfrc))
        tfrc.before_idle_bps = 0.0
    elif now_us - tfrc.doubled_us >= tfrc.rtt_us:
        restarts = params.idle_rule == IdleRule.FASTER_RESTART and tfrc.x_bps < tfrc.before_idle_bps
        growth = 4.0 if restarts else 2.0
        tfrc.x_bps = max(min(growth * tfrc.x_bps, growth / 2.0 * max_bps), initial_bps(tfrc))
        tfrc.doubled_us = now_us


@kernel
def _set_timer(tfrc, now_us):
    tfrc.timer_us = now_us + np.int64(max(4.0 * tfrc.rtt_us, 2.0 * 8e6 * tfrc.size_bytes / tfrc.x_bps))
