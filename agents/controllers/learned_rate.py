"""A learned rate: a linear policy over features of the reports (Mania, Guy and Recht, arXiv 1803.07055), with a bounded change.

At each report, with d the one-way delay of the packet with the least of it, q = d - the least d of the call, and dt the time since the
report before, at most `MAX_STEP_S`:

    features = 1, q / (q + 50 ms), (q - slow q) / 50 ms, 10 x loss, 1 Mbit/s / target, ln(delivered / target)
    a        = (weights alone + c x weights in competition) . features
    c        = standing q / (standing q + 50 ms)
    target  *= exp(dt x (rise a' if a > 0 else fall a')),   a' = tanh(a)

The slow q, loss and the delivered rate are exponential means. The standing q is the least one of the last 3 to 6 s: a queue that others
keep full. The delivered rate counts only while there is a queue, and only if it is below the target; otherwise the sender had less to send.
A short queue weighs most and a long one little more, so that the sender yields to calls that keep the queue short, and keeps a rate beside
those that fill it; the lower the target, the longer the queue that it accepts, so that calls that share become equal.

At most rate x (least round trip + slow q + window) may be in flight, so that packets wait at the sender when the capacity falls, and are
not lost; window = exp(alone + c x in competition), and the slow q counts up to 100 ms. The rate is the target, but while there is a queue
at most 1.2 times the delivered rate. The minimum rate x (least round trip + slow q up to 1.2 s + exp(alone)) is always allowed. A sender
without a report for `SILENCE_US` while packets wait lowers its target and sends `PROBE_BYTES` more.

Our own formulation; `lab.learners.rate_search` finds the weights.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.policy import require_numbers
from vcgym.baselines.controls.control import PACING
from vcgym.baselines.rule import NEVER_US, Control, record, rule
from vcgym.network.kernels.jit import kernel

FEATURES = 6
RISE, FALL, WINDOW, WIDER = range(2 * FEATURES, 2 * FEATURES + 4)
NUMBERS = 2 * FEATURES + 4
MAX_STEP_S = 0.2
SILENCE_US = 500_000
PROBE_BYTES = 3000
_SILENT = 0.7  # factor on the target of a sender without reports
_SLOW_S, _LOSS_S, _RATE_S = 1.0, 1.0, 0.3  # memories
_STANDING_US = 3_000_000
_STANDING_MS = 50.0  # standing q at which c is one half
_HALF_MS = 50.0  # q at which its feature is one half
_SLOW_MS = 100.0  # maximum of the slow q in the window ...
_MIN_RATE_SLOW_MS = 1200.0  # ... and in the window of the minimum rate: a queue of 1 s, kept full by others, counts in full
_QUEUE_MS = 20.0  # from here on there is a queue
_PASSES = 1.2  # times the delivered rate, what the window counts on while there is a queue
_UNIT_BPS = 1e6  # of the target
_NO_DELAY_MS = 1e9


@record
class Flow:
    """State of a session."""

    target_bps: float = 0.0
    min_bps: float = 0.0
    max_bps: float = 0.0
    base_ms: float = _NO_DELAY_MS  # least one-way delay of the call
    round_trip_ms: float = _NO_DELAY_MS  # least of the call
    delay_ms: float = _NO_DELAY_MS  # least of the newest report
    arrived: float = 0.0  # packets of the newest report
    lost: float = 0.0
    bytes: float = 0.0
    known_us: int = -1
    updated_us: int = -1  # report before; -1: none
    queue_ms: float = 0.0  # q
    slow_ms: float = 0.0
    loss: float = 0.0
    delivered_bps: float = 0.0
    began_us: int = 0  # beginning of the current 3 s
    min_queue_ms: float = 0.0  # least q of the current 3 s
    before_ms: float = 0.0  # least q of the 3 s before
    window_bytes: int = NEVER_US
    waiting_bytes: int = 0
    wakes_us: int = NEVER_US


@rule(Control.RATE, learned=True, flow=Flow)
class LearnedRate(NamedTuple):
    """Parameters."""

    weights: NDArray[np.float64]  # (NUMBERS,): `FEATURES` alone, as many in competition, then logs of rise, fall (1/s) and window (ms)

    def check(self):
        require_numbers("weights", self.weights, NUMBERS)

    def init(self, flow, start, key):
        flow.target_bps, flow.min_bps, flow.max_bps = start.start_bps, start.min_bps, start.max_bps
        flow.delivered_bps = start.start_bps

    def update(self, flow, record):
        flow.known_us = record.known_us
        if record.arrived_us < 0:
            flow.lost += 1.0
            return
        flow.arrived += 1.0
        flow.bytes += record.size_bytes
        flow.delay_ms = min(flow.delay_ms, (record.arrived_us - record.sent_us) / 1000.0)
        flow.round_trip_ms = min(flow.round_trip_ms, (record.known_us - record.sent_us) / 1000.0)

    def see_sender(self, flow, status):
        flow.waiting_bytes = status.waiting_bytes

    def decide(self, flow, now_us):
        if flow.known_us > flow.updated_us:
            _follow_report(self.weights, flow)
        elif now_us >= flow.wakes_us and flow.waiting_bytes > 0:
            flow.target_bps = max(_SILENT * flow.target_bps, flow.min_bps)
            flow.window_bytes += PROBE_BYTES
        flow.wakes_us = now_us + SILENCE_US
        return np.int64(flow.target_bps)

    def wake_us(self, flow):
        return flow.wakes_us

    def window_bytes(self, flow):
        return flow.window_bytes

    def pacing(self, flow, default):
        return PACING


@kernel
def _follow_report(weights, flow):
    """Change target and window after a report."""
    step_s = 0.0 if flow.updated_us < 0 else min((flow.known_us - flow.updated_us) * 1e-6, MAX_STEP_S)
    _take_report(flow, step_s)
    wish = math.tanh(_wish(weights, flow))
    flow.target_bps *= math.exp(step_s * math.exp(weights[RISE if wish > 0.0 else FALL]) * wish)
    flow.target_bps = min(max(flow.target_bps, flow.min_bps), flow.max_bps)
    wait_ms = min(flow.round_trip_ms + math.exp(weights[WINDOW] + _competition(flow) * weights[WIDER]), _NO_DELAY_MS)
    alone_ms = min(flow.round_trip_ms + math.exp(weights[WINDOW]), _NO_DELAY_MS)
    least_bytes = flow.min_bps * (alone_ms + min(flow.slow_ms, _MIN_RATE_SLOW_MS)) / 8000.0
    passes_bps = min(flow.target_bps, _PASSES * flow.delivered_bps) if flow.queue_ms > _QUEUE_MS else flow.target_bps
    ahead_bytes = passes_bps * (wait_ms + min(flow.slow_ms, _SLOW_MS)) / 8000.0
    flow.window_bytes = np.int64(max(ahead_bytes, least_bytes, PROBE_BYTES))
    flow.updated_us = flow.known_us


@kernel
def _take_report(flow, step_s):
    if flow.arrived > 0.0:
        flow.base_ms = min(flow.base_ms, flow.delay_ms)
        flow.queue_ms = flow.delay_ms - flow.base_ms
    flow.slow_ms += (1.0 - math.exp(-step_s / _SLOW_S)) * (flow.queue_ms - flow.slow_ms)
    flow.loss += (1.0 - math.exp(-step_s / _LOSS_S)) * (flow.lost / (flow.arrived + flow.lost) - flow.loss)
    if step_s > 0.0:
        since_s = (flow.known_us - flow.updated_us) * 1e-6
        flow.delivered_bps += (1.0 - math.exp(-since_s / _RATE_S)) * (8.0 * flow.bytes / since_s - flow.delivered_bps)
    if flow.known_us - flow.began_us >= _STANDING_US:
        flow.before_ms, flow.min_queue_ms, flow.began_us = flow.min_queue_ms, flow.queue_ms, flow.known_us
    flow.min_queue_ms = min(flow.min_queue_ms, flow.queue_ms)
    flow.delay_ms = _NO_DELAY_MS
    flow.arrived = flow.lost = flow.bytes = 0.0


@kernel
def _wish(weights, flow):
    """Return a; each feature is limited to a few units."""
    c = _competition(flow)
    short = math.log(max(flow.delivered_bps, 1.0) / flow.target_bps) if flow.queue_ms > _QUEUE_MS else 0.0
    found = _weight(weights, 0, c)
    found += _weight(weights, 1, c) * flow.queue_ms / (flow.queue_ms + _HALF_MS)
    found += _weight(weights, 2, c) * min(max((flow.queue_ms - flow.slow_ms) / 50.0, -2.0), 2.0)
    found += _weight(weights, 3, c) * min(10.0 * flow.loss, 3.0)
    found += _weight(weights, 4, c) * min(_UNIT_BPS / flow.target_bps, 10.0)
    return found + _weight(weights, 5, c) * min(max(short, -2.0), 0.0)


@kernel
def _competition(flow):
    """Return c: 0 while the queue drains, toward 1 the longer the queue that others keep full."""
    standing_ms = min(flow.min_queue_ms, flow.before_ms)
    return standing_ms / (standing_ms + _STANDING_MS)


@kernel
def _weight(weights, feature, c):
    return weights[feature] + c * weights[FEATURES + feature]
