"""Features of a stretch of reports, those since an agent's last decision, for the choice between laws of a rate.

Delays are above the least of the call. Means are over some six decisions.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.features.layout import Feature, columns
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

_MEMORY = 6.0  # decisions, of the means
_STANDS = 3  # decisions; a queue that lasts as long is one that others keep full
_UNIT_MS = 20.0  # of delays
_LONG_MS = 100.0  # of round trips and of gaps between arrivals
_NONE_MS = 1e9

_OF_STRETCH = (
    ("queue_mean", "20 ms, mean queueing delay"),
    ("queue_deviation", "20 ms, its standard deviation"),
    ("queue_least", "20 ms, least queueing delay"),
    ("queue_most", "20 ms, most queueing delay"),
    ("roughness", "4 ms, mean change of the delay from packet to packet"),
    ("gaps", "10 ms, root mean square of the gaps between arrivals"),
    ("longest_gap", "100 ms, longest gap between arrivals"),
    ("missing", "percent of packets"),
    ("delivered_above", "natural logarithm of the delivered rate over the target"),
)
STRETCH_FEATURES = (
    *(Feature(name, f"{unit}, compressed", -1, 1, "decision", 1.0) for name, unit in _OF_STRETCH),
    *(Feature(f"{name}_before", f"{unit}, mean before, compressed", -1, 1, "6 decisions", 1.0) for name, unit in _OF_STRETCH),
    Feature("rate_deviation", "a third, of the natural logarithm of the delivered rate, compressed", 0, 1, "6 decisions", 1.0),
    Feature("standing_queue", "20 ms, least queueing delay of three decisions, compressed", 0, 1, "3 decisions", 1.0),
    Feature("base_rtt", "100 ms, least round trip of the call, compressed", 0, 1, "report_age", 1.0),
    Feature("rtt_above", "100 ms, least round trip above it, compressed", 0, 1, "decision", 1.0),
)  # fmt: skip
STRETCH = columns(STRETCH_FEATURES)
STRETCH_WIDTH = len(STRETCH_FEATURES)
_SAMPLED = len(_OF_STRETCH)


@record
class Stretch:
    """Sums over the reports of a session since its last decision, and means of those before."""

    since_us: int = 0  # last decision
    decisions: int = 0
    packets: float = 0.0
    lost: float = 0.0
    bytes: float = 0.0
    sum_ms: float = 0.0  # of the queueing delay, ...
    squares: float = 0.0
    steps_ms: float = 0.0  # ... of its change from packet to packet, ...
    gaps: float = 0.0  # ... and of squared gaps between arrivals
    min_queue_ms: float = _NONE_MS
    max_queue_ms: float = 0.0
    max_gap_ms: float = 0.0
    min_rtt_ms: float = _NONE_MS
    base_rtt_ms: float = _NONE_MS  # least of the call
    base_ms: float = _NONE_MS  # least one-way delay of the call
    delay_ms: float = _NONE_MS  # of the newest packet
    arrived_us: int = 0
    log_rate: float = 0.0  # mean of the logarithm of the delivered rate
    log_rate_var: float = 0.0
    least_ms: NDArray[np.float64] = np.zeros(_STANDS)  # least queueing delays of the last decisions
    now: NDArray[np.float64] = np.zeros(_SAMPLED)  # of the stretch that has ended
    means: NDArray[np.float64] = np.zeros(_SAMPLED)


@kernel
def learn_stretch(stretch, feedback):
    """Update with one reported packet, a `PacketFeedback`."""
    stretch.packets += 1.0
    if feedback.arrived_us < 0:
        stretch.lost += 1.0
        return
    delay_ms, rtt_ms = (feedback.arrived_us - feedback.sent_us) / 1000.0, (feedback.known_us - feedback.sent_us) / 1000.0
    stretch.base_ms, stretch.base_rtt_ms = min(stretch.base_ms, delay_ms), min(stretch.base_rtt_ms, rtt_ms)
    queue_ms = delay_ms - stretch.base_ms
    stretch.bytes += feedback.size_bytes
    stretch.sum_ms += queue_ms
    stretch.squares += queue_ms * queue_ms
    stretch.min_queue_ms, stretch.max_queue_ms = min(stretch.min_queue_ms, queue_ms), max(stretch.max_queue_ms, queue_ms)
    stretch.min_rtt_ms = min(stretch.min_rtt_ms, rtt_ms)
    if stretch.delay_ms < _NONE_MS:
        gap_ms = (feedback.arrived_us - stretch.arrived_us) / 1000.0
        stretch.steps_ms += abs(delay_ms - stretch.delay_ms)
        stretch.gaps += gap_ms * gap_ms
        stretch.max_gap_ms = max(stretch.max_gap_ms, gap_ms)
    stretch.delay_ms, stretch.arrived_us = delay_ms, feedback.arrived_us


@kernel
def write_stretch(stretch, target_bps, now_us, out):
    """Write STRETCH_FEATURES at a decision, not compressed, into the first columns of `out`, and keep them for `end_stretch`."""
    now, arrived = stretch.now, max(stretch.packets - stretch.lost, 1.0)
    known = stretch.packets > stretch.lost
    mean_ms = stretch.sum_ms / arrived if known else _UNIT_MS * stretch.means[0]
    log_rate = _log_rate(stretch, now_us)
    now[0] = mean_ms / _UNIT_MS
    now[1] = math.sqrt(max(stretch.squares / arrived - mean_ms * mean_ms, 0.0)) / _UNIT_MS if known else 0.0
    now[2] = (stretch.min_queue_ms if known else mean_ms) / _UNIT_MS
    now[3] = stretch.max_queue_ms / _UNIT_MS
    now[4] = 5.0 * stretch.steps_ms / arrived / _UNIT_MS
    now[5] = math.sqrt(stretch.gaps / arrived) / 10.0
    now[6] = stretch.max_gap_ms / _LONG_MS
    now[7] = 100.0 * stretch.lost / max(stretch.packets, 1.0)
    now[8] = log_rate - math.log(target_bps)
    standing_ms = _UNIT_MS * now[2]
    for i in range(1, _STANDS):
        standing_ms = min(standing_ms, stretch.least_ms[(stretch.decisions - i) % _STANDS])
    for i in range(_SAMPLED):
        out[i], out[_SAMPLED + i] = now[i], stretch.means[i]
    out[STRETCH.rate_deviation] = 3.0 * math.sqrt(stretch.log_rate_var)
    out[STRETCH.standing_queue] = standing_ms / _UNIT_MS
    out[STRETCH.base_rtt] = stretch.base_rtt_ms / _LONG_MS if stretch.base_rtt_ms < _NONE_MS else 1.0
    out[STRETCH.rtt_above] = (stretch.min_rtt_ms - stretch.base_rtt_ms) / _LONG_MS if known else 3.0


@kernel
def end_stretch(stretch, now_us):
    """Add the stretch that was observed to the means, and begin the next one."""
    weight = 1.0 / min(stretch.decisions + 1.0, _MEMORY)
    log_rate = _log_rate(stretch, now_us)
    change = log_rate - stretch.log_rate if stretch.decisions > 0 else 0.0
    stretch.log_rate = stretch.log_rate + weight * change if stretch.decisions > 0 else log_rate
    stretch.log_rate_var += weight * (change * change - stretch.log_rate_var)
    for i in range(_SAMPLED):
        stretch.means[i] += weight * (stretch.now[i] - stretch.means[i])
    stretch.least_ms[stretch.decisions % _STANDS] = _UNIT_MS * stretch.now[2]
    stretch.decisions, stretch.since_us = stretch.decisions + 1, now_us
    stretch.packets = stretch.lost = stretch.bytes = stretch.sum_ms = stretch.squares = stretch.steps_ms = stretch.gaps = 0.0
    stretch.max_queue_ms = stretch.max_gap_ms = 0.0
    stretch.min_queue_ms = stretch.min_rtt_ms = _NONE_MS


@kernel
def _log_rate(stretch, now_us):
    return math.log(max(8e6 * stretch.bytes / max(now_us - stretch.since_us, 1), 1e4))
