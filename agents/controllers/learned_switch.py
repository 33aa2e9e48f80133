"""A learned switch of paths: every 200 ms a small network decides whether to stay, or to change to the best other path.

The best other path is the cheapest one by the costs of `vcgym.agents.controllers.learned_router`; they also describe both paths to the
network. With x the features of `_features`, each compressed to x / sqrt(1 + |x|):

    h = relu(W1 x + b1),   g = relu(W2 h + b2),   change if w3 g + b3 > 0

A call begins on the cheapest path. Our own design; `vcgym.agents.inside` trains the weights by the reward of calls alone.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.learned_router import NUMBERS, Arm, Call, begin_paths, learn, path_costs
from vcgym.agents.controllers.policy import LAYERS, policy, require_network, require_numbers
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.quality import REDUCED_KNEE_MS

EVERY_SLOTS = 20  # 200 ms
WIDTH = 24
UNIT_MS = 20.0  # of delays
MAX_AGE_MS = 2000.0  # ages count up to this


@record
class Choice:
    """Subject of a decision."""

    other: int = 0  # cheapest path that is not in use
    changed_us: int = 0  # last change of path


@policy
@rule(Control.PATH, learned=True, call=Call, arms=Rows(Arm), x=Rows(np.float32, WIDTH), layers=LAYERS, choice=Choice)
class LearnedSwitch(NamedTuple):
    """Parameters; the last row of each layer is its bias."""

    prices: NDArray[np.float64]  # (NUMBERS,), of `LearnedRouter`
    first: NDArray[np.float32]  # (WIDTH + 1, hidden)
    second: NDArray[np.float32]  # (hidden + 1, hidden)
    last: NDArray[np.float32]  # (hidden + 1,)

    def check(self):
        require_network(self, WIDTH)
        require_numbers("prices", self.prices, NUMBERS)

    def init(self, call, arms, x, layers, choice, start, key):
        begin_paths(call, arms, start)

    def observe(self, call, arms, x, layers, choice, record):
        learn(self.prices, call, arms, record)
        return False

    def due(self, call, arms, x, layers, choice, now_us):
        if call.path >= 0 and (now_us // SLOT_US % EVERY_SLOTS != 0 or arms.size == 1):
            return False
        cheapest, _, shared_ms, rough = path_costs(self.prices, call, arms, now_us)
        if call.path < 0:
            call.path = cheapest
            return False
        other = np.int64(0 if call.path > 0 else 1)
        for path in range(arms.size):
            if path != call.path and arms[path].cost_ms < arms[other].cost_ms:
                other = np.int64(path)
        _features(call, arms[call.path], arms[other], shared_ms, rough, now_us - choice.changed_us, now_us, x)
        choice.other = other
        return True

    def act(self, call, arms, x, layers, choice, out, now_us):
        if out > 0.0:
            call.path = choice.other
            call.news_us = now_us
            choice.changed_us = now_us

    def answer(self, call, arms, x, layers, choice):
        return call.path


@kernel
def _features(call, current, other, shared_ms, rough, since_us, now_us, x):
    """Write the features: costs, excess, deviation, silence and history of both paths, and the call's state."""
    x[0] = (current.cost_ms - other.cost_ms) / UNIT_MS
    x[1] = (current.usual_ms + current.expected_ms - other.usual_ms - other.expected_ms) / UNIT_MS
    x[2] = (current.usual_ms - other.usual_ms) / UNIT_MS
    x[3] = shared_ms / UNIT_MS
    x[4] = rough
    x[5] = call.lag_ms / UNIT_MS
    x[6] = (call.sum_ms / call.packets - REDUCED_KNEE_MS) / UNIT_MS
    x[7] = (call.delay_ms - current.usual_ms) / UNIT_MS
    x[8] = min(now_us - call.news_us, 1000.0 * MAX_AGE_MS) / 1000.0 / 100.0
    x[9] = min(since_us, 1000.0 * MAX_AGE_MS) / 1000.0 / 500.0
    x[10] = call.spread_ms / UNIT_MS
    x[11] = (call.delay_ms - call.mean_ms) / UNIT_MS
    _describe(current, now_us, x[12:18])
    _describe(other, now_us, x[18:24])
    for i in range(x.size):
        x[i] = x[i] / np.sqrt(np.float32(1.0) + abs(x[i]))


@kernel
def _describe(arm, now_us, x):
    x[0] = arm.excess_ms / UNIT_MS
    x[1] = arm.deviation_ms / UNIT_MS
    x[2] = arm.sd_ms / UNIT_MS
    x[3] = arm.missing
    x[4] = arm.missing_call
    x[5] = min(now_us - arm.sent_us, 1000.0 * MAX_AGE_MS) / 1000.0 / 500.0 if arm.sent_us >= 0 else -1.0
