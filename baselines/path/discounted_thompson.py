"""Discounted Thompson sampling with Gaussian beliefs (Qi, Wang, Zhu: Discounted Thompson sampling for non-stationary bandit problems,
arXiv 2305.10718), on a prior from history.

A fed-back one-way delay x of age a (time since sending) has weight exp(-a / memory), which is the paper's discount of
exp(-slot / memory) per slot. With N the sum of weights, X the weighted sum, and h, sd the path's historical mean and deviation,

    draw ~ N( (w h + X) / (w + N),  sd^2 / (w + N) ),   choose the path with the smallest draw

So without recent feedback the belief about a path returns to its history, weighted as w packets. (The paper's belief widens without limit;
its prior is flat.) Ages count from the send time, whatever the order of feedback. Probes count like media, since the network treats them
alike. The sums refer to a reference time that follows the call, so a decision needs a single exponential for all paths.
sd^2 is at least 1 ms^2. A path with fewer than two samples uses the median of the other paths, or 1000 ms^2 if no path has more. h is as in

`greedy.py`.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.path.draws import FARTHEST_SD, draw_below
from vcgym.baselines.path.history import imputed_means, imputed_variances
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.rng import POLICY, stream_key
from vcgym.network.kernels.slots import slot_at

MAX_MEMORIES = 30.0  # maximum distance of the reference from now, in memories
FARTHEST_BACK = 500.0  # memories; older feedback has no weight anyway


@rule(Control.PATH)
class DiscountedThompson(NamedTuple):
    """Parameters."""

    memory_ms: float = 3000.0
    prior_packets: float = 10.0  # w
    variance_floor_ms2: float = 1.0


CALL = np.dtype((np.record, [("reference_us", "i8"), ("key", "u8")]))
ARM = np.dtype(
    (
        np.record,
        [
            ("usual_ms", "f8"),  # h
            ("sd_ms", "f8"),
            ("widest_ms", "f8"),  # bound on the distance of a draw below its mean
            ("weight", "f8"),  # N at the reference time
            ("sum_ms", "f8"),  # X at the reference time
        ],
    )
)


class DiscountedThompsonState(NamedTuple):
    """State; first axis: session."""

    call: np.recarray  # (sessions,) of CALL
    arm: np.recarray  # (sessions, paths) of ARM


@allocate.register(DiscountedThompson)
def _allocate(params, sessions, paths):
    require_within(params, memory_ms=(1e-3, 1e9), prior_packets=(1e-6, 1e6), variance_floor_ms2=(1e-9, 1e9))
    return DiscountedThompsonState(np.zeros(sessions, CALL).view(np.recarray), np.zeros((sessions, paths), ARM).view(np.recarray))


@init.register(DiscountedThompson)
def _init(params, state, s, start, key):
    mean_ms, variance_ms2 = imputed_means(start), imputed_variances(start, params.variance_floor_ms2)
    for path in range(start.mean_ms.size):
        arm = state.arm[s, path]
        arm.usual_ms = mean_ms[path]
        arm.sd_ms = math.sqrt(variance_ms2[path])
        arm.widest_ms = FARTHEST_SD * math.sqrt(variance_ms2[path] / params.prior_packets)
        arm.weight = 0.0
        arm.sum_ms = 0.0
    state.call[s].reference_us = 0
    state.call[s].key = stream_key(key, 0, POLICY)


@update.register(DiscountedThompson)
def _update(params, state, s, record):
    weight = 1.0 / fading(params, state, s, record.sent_us)
    arm = state.arm[s, record.path]
    arm.weight += weight
    arm.sum_ms += weight * (record.arrived_us - record.sent_us) / 1000.0


@decide.register(DiscountedThompson)
def _decide(params, state, s, now_us):
    paths = state.arm.shape[1]
    key = state.call[s].key
    slot, fade = slot_at(now_us), fading(params, state, s, now_us)
    best, best_ms = np.int64(0), math.inf
    for path in range(paths):
        arm = state.arm[s, path]
        known = params.prior_packets + fade * arm.weight
        mean_ms = (params.prior_packets * arm.usual_ms + fade * arm.sum_ms) / known
        if mean_ms - arm.widest_ms < best_ms:
            draw_ms = draw_below(best_ms, mean_ms, arm.sd_ms / math.sqrt(known), key, slot * paths + path)
            if draw_ms < best_ms:
                best, best_ms = np.int64(path), draw_ms
    return best


@kernel
def fading(params, state, s, at_us):
    """Return exp(-(at - reference) / memory), after moving the reference to `at_us` if it is too far behind.

    Args:
        params: DiscountedThompson.
        state: DiscountedThompsonState; row `s` is updated if the reference moves.
        s: int64, session.
        at_us: int64, an instant; it may lie before the reference.

    Returns:
        Weight, float64, above 0; above 1 for an instant before the reference.
    """
    call = state.call[s]
    memories = (at_us - call.reference_us) / (1000.0 * params.memory_ms)
    fade = math.exp(-max(memories, -FARTHEST_BACK))
    if memories <= MAX_MEMORIES:
        return fade
    for path in range(state.arm.shape[1]):
        state.arm[s, path].weight *= fade
        state.arm[s, path].sum_ms *= fade
    call.reference_us = at_us
    return 1.0
