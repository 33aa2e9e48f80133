"""Discounted Thompson sampling with Gaussian beliefs (Qi, Wang, Zhu: Discounted Thompson sampling for non-stationary bandit problems,
arXiv 2305.10718), on a prior from history.

A fed-back one-way delay x of age a (time since sending) has weight exp(-a / memory), which is the paper's discount of
exp(-slot / memory) per slot. With N the sum of weights, X the weighted sum, and h, sd the path's historical mean and deviation,

    draw ~ N( (w h + X) / (w + N),  sd^2 / (w + N) ),   choose the path with the smallest draw

So without recent feedback the belief about a path returns to its history, weighted as w packets. (The paper's belief widens without limit;
its prior is flat.) Ages count from the send time, whatever the order of feedback. Probes count like media, since the network treats them
alike. The sums refer to a reference time that follows the call, so a decision needs a single exponential for all paths.
sd^2 is at least 1 ms^2. A path with fewer than two samples uses the median of the other paths, or 1000 ms^2 if no path has more. h is as
in `greedy.py`.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.path.draws import FARTHEST_SD, draw_below
from vcgym.baselines.path.history import imputed_means, imputed_variances
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.rng import POLICY, stream_key
from vcgym.network.kernels.slots import slot_at

MAX_MEMORIES = 30.0  # maximum distance of the reference from now, in memories
FARTHEST_BACK = 500.0  # memories; older feedback has no weight anyway


@record
class Call:
    reference_us: int = 0
    key: np.uint64 = np.uint64(0)


@record
class Arm:
    usual_ms: float = 0.0  # h
    sd_ms: float = 0.0
    widest_ms: float = 0.0  # bound on the distance of a draw below its mean
    weight: float = 0.0  # N at the reference time
    sum_ms: float = 0.0  # X at the reference time


@rule(Control.PATH, call=Call, arms=Rows(Arm))
class DiscountedThompson(NamedTuple):
    memory_ms: Annotated[float, (1e-3, 1e9)] = 3000.0
    prior_packets: Annotated[float, (1e-6, 1e6)] = 10.0  # w
    variance_floor_ms2: Annotated[float, (1e-9, 1e9)] = 1.0

    def init(self, call, arms, start, key):
        mean_ms, variance_ms2 = imputed_means(start), imputed_variances(start, self.variance_floor_ms2)
        for path in range(arms.size):
            arm = arms[path]
            arm.usual_ms = mean_ms[path]
            arm.sd_ms = math.sqrt(variance_ms2[path])
            arm.widest_ms = FARTHEST_SD * math.sqrt(variance_ms2[path] / self.prior_packets)
        call.key = stream_key(key, 0, POLICY)

    def update(self, call, arms, record):
        weight = 1.0 / _fading(self, call, arms, record.sent_us)
        arm = arms[record.path]
        arm.weight += weight
        arm.sum_ms += weight * (record.arrived_us - record.sent_us) / 1000.0

    def decide(self, call, arms, now_us):
        slot, fade = slot_at(now_us), _fading(self, call, arms, now_us)
        best, best_ms = np.int64(0), math.inf
        for path in range(arms.size):
            arm = arms[path]
            known = self.prior_packets + fade * arm.weight
            mean_ms = (self.prior_packets * arm.usual_ms + fade * arm.sum_ms) / known
            if mean_ms - arm.widest_ms < best_ms:
                draw_ms = draw_below(best_ms, mean_ms, arm.sd_ms / math.sqrt(known), call.key, slot * arms.size + path)
                if draw_ms < best_ms:
                    best, best_ms = np.int64(path), draw_ms
        return best


@kernel
def _fading(params, call, arms, at_us):
    """Return exp(-(at - reference) / memory), above 1 before the reference; a reference too far behind moves to `at_us`."""
    memories = (at_us - call.reference_us) / (1000.0 * params.memory_ms)
    fade = math.exp(-max(memories, -FARTHEST_BACK))
    if memories <= MAX_MEMORIES:
        return fade
    for path in range(arms.size):
        arms[path].weight *= fade
        arms[path].sum_ms *= fade
    call.reference_us = at_us
    return 1.0
