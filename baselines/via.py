"""Via (Jiang et al., SIGCOMM 2016), deciding per packet as in the comparison of VCRoute (arXiv 2310.05054).

Stage 2 keeps the paths that history does not rule out (`history.py`). Stage 3 picks among them by UCB1 on cost, the smallest index first:

    index(r) = mean cost(r) / w - sqrt(c ln(T) / n(r)),    w = mean over the kept paths of their upper bounds

Normalising by w instead of by the range seen keeps one outlier from crushing the scale. n(r) counts the packets decided onto r and T
their sum, this packet not included, so every kept path is tried once, in order, before the index is used.

Feedback is late: n(r) counts at the decision, the mean cost is taken over what has been fed back, and a path decided but not yet heard of
stands in with its historical mean (w if it has none). Cost is the one-way delay of media packets, whether or not the receiver still had
use for them; a lost packet has no record and no cost. Answers to probes are not rewards: nobody decided them.

Left out: the relaying budget, prediction of unmeasured paths, and refreshing the kept set during the call.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.history import keep_by_history, upper_bound
from vcgym.baselines.ranges import require_within
from vcgym.baselines.rule import MEDIA, allocate, decide, implements, init, update
from vcgym.network.jit import kernel
from vcgym.network.rng import POLICY, stream_key, uniform


class Via(NamedTuple):
    """Parameters."""

    ucb_c: float = 2.0  # width of exploration; 2 in the code published with VCRoute, 0.1 is recalled from Via itself
    epsilon: float = 0.0  # share of decisions spent on any path at random, the ruled-out ones included
    scale_without_history_ms: float = 100.0  # w when no kept path has an upper bound; ours


class ViaState(NamedTuple):
    """Arrays (sessions, paths), except `key` and `scale_ms`, which are (sessions,)."""

    kept: np.ndarray  # bool
    decided: np.ndarray  # int64, n
    heard: np.ndarray  # int64, packets fed back
    cost_ms: np.ndarray  # float64, sum over them
    stand_in_ms: np.ndarray  # float64, mean cost of a path not heard of yet
    scale_ms: np.ndarray  # float64, w
    key: np.ndarray  # uint64


@implements(allocate, Via)
def _allocate(params, sessions, paths):
    require_within(params, ucb_c=(0.0, math.inf), epsilon=(0.0, 1.0), scale_without_history_ms=(1e-3, 1e6))
    return ViaState(
        kept=np.zeros((sessions, paths), np.bool_),
        decided=np.zeros((sessions, paths), np.int64),
        heard=np.zeros((sessions, paths), np.int64),
        cost_ms=np.zeros((sessions, paths)),
        stand_in_ms=np.zeros((sessions, paths)),
        scale_ms=np.zeros(sessions),
        key=np.zeros(sessions, np.uint64),
    )


@implements(init, Via)
def _init(params, state, s, history, key):
    keep_by_history(history, state.kept, s)
    state.scale_ms[s] = mean_upper_bound(history, state.kept, s, params.scale_without_history_ms)
    for path in range(history.shape[0]):
        state.decided[s, path] = 0
        state.heard[s, path] = 0
        state.cost_ms[s, path] = 0.0
        state.stand_in_ms[s, path] = history[path, 1] if history[path, 0] > 0 else state.scale_ms[s]
    state.key[s] = stream_key(key, 0, POLICY)


@implements(update, Via)
def _update(params, state, s, record):
    if record.kind == MEDIA:
        state.heard[s, record.path] += 1
        state.cost_ms[s, record.path] += (record.arrived_us - record.sent_us) / 1000.0


@implements(decide, Via)
def _decide(params, state, s, slot):
    if params.epsilon > 0.0 and uniform(state.key[s], 2 * slot) < params.epsilon:
        path = int(uniform(state.key[s], 2 * slot + 1) * state.kept.shape[1])
    else:
        path = lowest_index(params, state, s)
    state.decided[s, path] += 1
    return path


@kernel
def mean_upper_bound(history, kept, s, otherwise_ms):
    """w: mean upper bound (ms) of the kept paths that have one; `otherwise_ms` if none has, or if it is not positive."""
    total_ms, bounded = 0.0, 0
    for path in range(history.shape[0]):
        high_ms = upper_bound(history, path)
        if kept[s, path] and high_ms < math.inf:
            total_ms += high_ms
            bounded += 1
    return total_ms / bounded if total_ms > 0.0 else otherwise_ms


@kernel
def ucb_index(cost, decided, total, ucb_c):
    """Index of an arm of mean normalised `cost` decided `decided` of `total` times; -inf for one never decided."""
    return cost - math.sqrt(ucb_c * math.log(total) / decided) if decided > 0 else -math.inf


@kernel
def lowest_index(params, state, s):
    """The kept path of the smallest index, the lowest path on ties."""
    total = 0
    for path in range(state.kept.shape[1]):
        total += state.decided[s, path]
    best, best_index = -1, math.inf
    for path in range(state.kept.shape[1]):
        if state.kept[s, path]:
            heard = state.heard[s, path]
            cost_ms = state.cost_ms[s, path] / heard if heard > 0 else state.stand_in_ms[s, path]
            index = ucb_index(cost_ms / state.scale_ms[s], state.decided[s, path], total, params.ucb_c)
            if best < 0 or index < best_index:
                best, best_index = path, index
    return best
