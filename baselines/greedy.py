"""Greedy: the path that looks fastest by the last feedback, with hysteresis, and relaxing to history as feedback grows old.

What is expected of a path, from its estimate e (ms), the sent time of the newest packet or probe fed back, and its historical mean h:

    expected = h + (e - h) 2^-(age / half life),   age = now - that sent time

e is the newest fed-back one-way delay, or with smoothing the average of fed-back delays whose weights fall as exp(-time / smoothing).
Feedback older than the newest is ignored. The path in use is left when another one is expected to be faster by more than a margin.
A path without history has for h the median of the others' means; where no path has any, 0: each is tried, and again once stale.

Our own formulation of a common rule; probes count as much as media.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.history import known_median
from vcgym.baselines.mechanism import microseconds
from vcgym.baselines.ranges import require_within
from vcgym.baselines.rule import allocate, decide, implements, init, update
from vcgym.network.jit import allocating_kernel, kernel


class Greedy(NamedTuple):
    """Parameters."""

    smoothing_ms: float = 0.0  # 0: the newest delay alone
    margin_ms: float = 5.0
    half_life_ms: float = 2000.0
    packet_ms: float = 10.0  # from one slot to the next


class GreedyState(NamedTuple):
    """Arrays (sessions, paths), except `path`, which is (sessions,)."""

    usual_ms: np.ndarray  # h
    estimate_ms: np.ndarray  # e
    sent_us: np.ndarray  # int64, of the newest feedback; -1 before the first
    path: np.ndarray  # int64, the one in use; -1 before the first decision


@implements(allocate, Greedy)
def _allocate(params, sessions, paths):
    require_within(params, smoothing_ms=(0.0, 1e6), margin_ms=(0.0, 1e6), half_life_ms=(1e-3, 1e9), packet_ms=(0.1, 1000.0))
    usual_ms, estimate_ms = np.zeros((sessions, paths)), np.zeros((sessions, paths))
    return GreedyState(usual_ms, estimate_ms, np.zeros((sessions, paths), np.int64), np.zeros(sessions, np.int64))


@implements(init, Greedy)
def _init(params, state, s, history, key):
    usual_means(history, state.usual_ms, s)
    for path in range(history.shape[0]):
        state.estimate_ms[s, path] = state.usual_ms[s, path]
        state.sent_us[s, path] = -1
    state.path[s] = -1


@implements(update, Greedy)
def _update(params, state, s, record):
    path = record.path
    since_us = record.sent_us - state.sent_us[s, path]
    if since_us <= 0:
        return
    weight = 1.0
    if params.smoothing_ms > 0.0 and state.sent_us[s, path] >= 0:
        weight = 1.0 - math.exp(-since_us / (1000.0 * params.smoothing_ms))
    state.estimate_ms[s, path] += weight * ((record.arrived_us - record.sent_us) / 1000.0 - state.estimate_ms[s, path])
    state.sent_us[s, path] = record.sent_us


@implements(decide, Greedy)
def _decide(params, state, s, slot):
    now_us = slot * microseconds(params.packet_ms)
    best, best_ms = 0, math.inf
    for path in range(state.usual_ms.shape[1]):
        path_ms = expected_ms(params, state, s, path, now_us)
        if path_ms < best_ms:
            best, best_ms = path, path_ms
    held = state.path[s]
    if held < 0 or best_ms < expected_ms(params, state, s, held, now_us) - params.margin_ms:
        state.path[s] = best
    return state.path[s]


@kernel
def expected_ms(params, state, s, path, now_us):
    """Delay expected of a path now."""
    usual_ms = state.usual_ms[s, path]
    age_ms = (now_us - state.sent_us[s, path]) / 1000.0
    return usual_ms + (state.estimate_ms[s, path] - usual_ms) * math.exp(-math.log(2.0) * age_ms / params.half_life_ms)


@allocating_kernel
def usual_means(history, usual_ms, s):
    """Write each path's historical mean (ms) into row `s`; one without history takes the median of the others', or 0."""
    otherwise_ms = known_median(history[:, 1], history[:, 0], 1, 0.0)
    for path in range(history.shape[0]):
        usual_ms[s, path] = history[path, 1] if history[path, 0] >= 1 else otherwise_ms
