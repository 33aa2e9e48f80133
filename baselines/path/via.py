"""Via (Jiang et al., SIGCOMM 2016), deciding per packet as in VCRoute's comparison (arXiv 2310.05054).

Stage 2 keeps the paths that history does not rule out (`top_k.py`). Stage 3 chooses among them by UCB1 on cost, the smallest index first:

    index(r) = mean cost(r) / w - sqrt(c ln(T) / n(r)),    w = mean over the kept paths of their upper bounds

Normalising by w instead of the observed range limits the effect of outliers. n(r) is the number of packets assigned to r and T their sum,
without this packet, so every kept path is tried once, in order, before the index is used. The code compares the index in ms, w times the
above. With probability `epsilon` a packet uses a random path, including ruled-out ones ("general exploration").

Feedback is late: n(r) counts at the decision, the mean cost covers the packets fed back so far, and a path without feedback uses its
historical mean (w if it has none). The cost is the one-way delay of media packets, late or not; a lost packet has no record and no cost.
Probe replies are not rewards, since no decision sent them. When the kept set is chosen again, w is recomputed; counts and costs stay.
Left out: the relaying budget, and prediction of unmeasured paths. The code published with VCRoute differs: it keeps the paths of

`top_k.PUBLISHED`, takes its history from the start of the same series that it then plays, and rewards the true delay at send time.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.path.top_k import KEPT, KEPT_PATH, TopK, has_converged, mean_bound, refresh, require_top_k, start_kept, watch
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.rng import POLICY, stream_key, uniform
from vcgym.network.kernels.slots import slot_at


@rule(Control.PATH)
class Via(NamedTuple):
    """Parameters."""

    ucb_c: float = 2.0  # exploration width; 2 in the code published with VCRoute, reportedly 0.1 in Via itself
    epsilon: float = 0.0  # probability of a random path
    scale_without_history_ms: float = 100.0  # w when no kept path has an upper bound; ours
    topk: TopK = TopK()


CALL = np.dtype((np.record, [("decided", "i8"), ("scale_ms", "f8"), ("key", "u8"), ("kept", KEPT)]))  # T, w
ARM = np.dtype(
    (
        np.record,
        [
            ("decided", "i8"),  # n
            ("exploration_scale", "f8"),  # 1 / sqrt(n)
            ("received", "i8"),  # packets fed back
            ("cost_ms", "f8"),  # sum over the packets fed back
            ("mean_ms", "f8"),  # their mean, or its substitute
            ("kept", KEPT_PATH),
        ],
    )
)


class ViaState(NamedTuple):
    """State; first axis: session."""

    call: np.recarray  # (sessions,) of CALL
    arm: np.recarray  # (sessions, paths) of ARM


@allocate.register(Via)
def _allocate(params, sessions, paths):
    require_within(params, ucb_c=(0.0, math.inf), epsilon=(0.0, 1.0), scale_without_history_ms=(1e-3, 1e6))
    require_top_k(params.topk)
    return ViaState(np.zeros(sessions, CALL).view(np.recarray), np.zeros((sessions, paths), ARM).view(np.recarray))


@init.register(Via)
def _init(params, state, s, start, key):
    call, arms = state.call[s], state.arm
    start_kept(params.topk, call.kept, arms, s, start)
    call.decided = 0
    call.scale_ms = scale_of(params, arms, s)
    call.key = stream_key(key, 0, POLICY)
    for path in range(start.mean_ms.size):
        arm = arms[s, path]
        arm.decided = 0
        arm.received = 0
        arm.cost_ms = 0.0
        arm.mean_ms = start.mean_ms[path] if start.samples[path] > 0 else call.scale_ms


@update.register(Via)
def _update(params, state, s, record):
    if has_converged(params.topk, state.call[s].kept):
        return
    arm = state.arm[s, record.path]
    delay_ms = (record.arrived_us - record.sent_us) / 1000.0
    watch(params.topk, arm.kept, delay_ms)
    if record.kind == MEDIA:
        arm.received += 1
        arm.cost_ms += delay_ms
        arm.mean_ms = arm.cost_ms / arm.received


@decide.register(Via)
def _decide(params, state, s, now_us):
    call, arms, slot = state.call[s], state.arm, slot_at(now_us)
    if refresh(params.topk, call.kept, arms, s, now_us):
        call.scale_ms = scale_of(params, arms, s)
    if params.epsilon > 0.0 and uniform(call.key, 2 * slot) < params.epsilon:
        path = np.int64(uniform(call.key, 2 * slot + 1) * arms.shape[1])
    elif has_converged(params.topk, call.kept):
        return arms[s, 0].kept.nth
    else:
        path = lowest_index(params, call, arms, s)
    arm = arms[s, path]
    arm.decided += 1
    arm.exploration_scale = 1.0 / math.sqrt(arm.decided)
    call.decided += 1
    return path


@kernel
def scale_of(params, arms, s):
    """Return w, the mean of the kept paths' finite upper bounds (ms); the default if there is none, or if w is not positive."""
    scale_ms = mean_bound(arms, s, 1)
    return scale_ms if scale_ms > 0.0 else params.scale_without_history_ms


@kernel
def width(scale, decided, ucb_c):
    """Return w sqrt(c ln T), the exploration bonus of an arm chosen once; `decided` >= 1 is T."""
    return scale * math.sqrt(ucb_c * math.log(decided))


@kernel
def lowest_index(params, call, arms, s):
    """Return the kept path with the smallest index, the lowest path on ties; a path never chosen comes first.

    Args:
        params: Via.
        call: record of CALL of the session; read only.
        arms: (sessions, paths) of ARM.
        s: int64, session.
    """
    width_ms = width(call.scale_ms, max(1, call.decided), params.ucb_c)
    best, best_ms = -1, math.inf
    for i in range(call.kept.count):
        path = arms[s, i].kept.nth
        arm = arms[s, path]
        # Its index would be -inf.
        if arm.decided == 0:
            return path
        index_ms = arm.mean_ms - width_ms * arm.exploration_scale
        if best < 0 or index_ms < best_ms:
            best, best_ms = path, index_ms
    return best
