"""A learned rate that aims at a queue: at every fifth report a small network sets the queueing delay that the target bitrate aims at.

At each report the target follows the law of `vcgym.envs.call.sender.effects`, a delay-based rule that yields to losses. Every
`HOLD` reports, a quarter of a second at the default interval of 50 ms, with x the features of `_features`, each compressed to
x / sqrt(1 + |x|),

    h = relu(W1 x + b1),   g = relu(W2 h + b2),   aim = 12 ms * 5^sigmoid(w3 g + b3)

Our own design; `vcgym.agents.inside` trains the weights by the reward of calls alone.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.policy import LAYERS, policy, require_network
from vcgym.baselines.controls.control import PACING
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.envs.call.features.layout import rate_position
from vcgym.envs.call.features.sender import FeedbackStats, on_feedback, on_report
from vcgym.envs.call.sender.effects import MAX_AIM_MS, MIN_AIM_MS, aimed_bps
from vcgym.network.kernels.jit import kernel

HOLD = 5  # reports, as in Rate-v1
WIDTH = 12
_UNIT_US = 20_000.0  # of delays
_STANDING_US = 3_000_000  # a queue that lasts as long is one that others keep full
_NO_DELAY_US = 1e12  # no packet of the report arrived
_RISES = math.log(MAX_AIM_MS / MIN_AIM_MS)


@record
class Flow:
    """State of a session."""

    stats: FeedbackStats
    target_bps: float = 0.0
    min_bps: float = 0.0
    max_bps: float = 0.0
    known_us: int = -1  # newest report; -1: none
    followed: int = 0  # reports that the target has followed
    aim_ms: float = MIN_AIM_MS
    round_trip_us: float = 0.0  # least of the newest report
    waiting_bytes: int = 0
    rough_us: float = 0.0  # mean change of the queueing delay from report to report
    began_us: int = 0  # beginning of the current 3 s
    least_us: float = 0.0  # least queueing delay of the current 3 s ...
    before_us: float = 0.0  # ... and of the 3 s before: a queue that others keep full


@policy
@rule(Control.RATE, learned=True, flow=Flow, x=Rows(np.float32, WIDTH), layers=LAYERS)
class LearnedAim(NamedTuple):
    """Parameters; the last row of each layer is its bias."""

    first: NDArray[np.float32]  # (WIDTH + 1, hidden)
    second: NDArray[np.float32]  # (hidden + 1, hidden)
    last: NDArray[np.float32]  # (hidden + 1,)

    def check(self):
        require_network(self, WIDTH)

    def init(self, flow, x, layers, start, key):
        flow.target_bps, flow.min_bps, flow.max_bps = start.start_bps, start.min_bps, start.max_bps

    def observe(self, flow, x, layers, record):
        if record.known_us > flow.known_us:
            on_report(flow.stats, record.known_us)
            flow.known_us, flow.round_trip_us = record.known_us, _NO_DELAY_US
        on_feedback(flow.stats, record)
        if record.arrived_us >= 0:
            flow.round_trip_us = min(flow.round_trip_us, np.float64(record.known_us - record.sent_us))
        return False

    def see_sender(self, flow, x, layers, status):
        flow.waiting_bytes = status.waiting_bytes

    def pacing(self, flow, x, layers, default):
        return PACING

    def due(self, flow, x, layers, now_us):
        queue_us = flow.stats.newest_us - flow.stats.floor_us if flow.stats.newest_us >= 0 else 0.0
        flow.rough_us += (abs(flow.stats.queueing_us - flow.stats.before_us) - flow.rough_us) / 8.0
        if flow.known_us - flow.began_us >= _STANDING_US:
            flow.before_us, flow.least_us, flow.began_us = flow.least_us, queue_us, flow.known_us
        flow.least_us = min(flow.least_us, queue_us)
        flow.followed += 1
        if (flow.followed - 1) % HOLD != 0:
            return False
        _features(flow, queue_us, x)
        return True

    def act(self, flow, x, layers, out, now_us):
        flow.aim_ms = _aim_ms(out)

    def answer(self, flow, x, layers):
        flow.target_bps = min(max(aimed_bps(flow.stats, flow.target_bps, flow.aim_ms), flow.min_bps), flow.max_bps)
        return np.int64(flow.target_bps)


@kernel
def _aim_ms(out):
    """Return the aim for an output of the network."""
    return MIN_AIM_MS * math.exp(_RISES / (1.0 + math.exp(-out)))


@kernel
def _features(flow, queue_us, x):
    """Write the features: delays, their change and their least of seconds, losses, rates on the log scale of targets, and what waits."""
    stats = flow.stats
    newest_bps = stats.bytes * 8e6 / stats.span_us if stats.span_us > 0 else 0.0
    x[0] = queue_us / _UNIT_US
    x[1] = stats.queueing_us / _UNIT_US
    x[2] = (stats.queueing_us - stats.before_us) / _UNIT_US
    x[3] = flow.rough_us / _UNIT_US
    x[4] = min(flow.least_us, flow.before_us) / _UNIT_US
    x[5] = flow.round_trip_us / (5.0 * _UNIT_US) if flow.round_trip_us < _NO_DELAY_US else 5.0
    x[6] = 100.0 * stats.lost / stats.packets if stats.packets > 0 else 0.0
    x[7] = 100.0 * stats.lost_share
    x[8] = rate_position(flow.target_bps, flow.min_bps, flow.max_bps)
    x[9] = rate_position(newest_bps, flow.min_bps, flow.max_bps) - x[8]
    x[10] = 8e6 * flow.waiting_bytes / flow.target_bps / _UNIT_US
    x[11] = math.log(flow.aim_ms / MIN_AIM_MS) / _RISES
    for i in range(x.size):
        x[i] = x[i] / math.sqrt(1.0 + abs(x[i]))
