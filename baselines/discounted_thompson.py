"""Discounted Thompson sampling with Gaussian beliefs (Qi, Wang, Zhu: Discounted Thompson sampling for non-stationary bandit problems,
arXiv 2305.10718), on a prior from history.

Each fed-back one-way delay x of a path, sent a time a ago, weighs exp(-a / memory), which is the paper's discount per slot of
exp(-slot / memory). With N the sum of weights, X the weighted sum, and h, sd the path's mean and spread in history,

    draw ~ N( (w h + X) / (w + N),  sd^2 / (w + N) ),   the path of the smallest draw is taken

so that a path of which nothing has been heard for long is believed to be as it was in history, known as well as by w packets. (The paper's
belief widens without end; its prior is flat.) Packets count from when they were sent, in whatever order feedback comes. Probes teach as
media do: what a packet met does not depend on why it was sent.

sd^2 is at least 1 ms^2; a path with fewer than two samples takes the median of the others, without any 1000 ms^2. h as in `greedy.py`.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.greedy import usual_means
from vcgym.baselines.history import known_median
from vcgym.baselines.mechanism import microseconds
from vcgym.baselines.ranges import require_within
from vcgym.baselines.rule import allocate, decide, implements, init, update
from vcgym.network.jit import allocating_kernel
from vcgym.network.rng import POLICY, normal, stream_key

UNKNOWN_VARIANCE_MS2 = 1000.0


class DiscountedThompson(NamedTuple):
    """Parameters."""

    memory_ms: float = 3000.0
    prior_packets: float = 10.0  # w
    variance_floor_ms2: float = 1.0
    packet_ms: float = 10.0  # from one slot to the next


class DiscountedThompsonState(NamedTuple):
    """Arrays (sessions, paths), except `key`, which is (sessions,)."""

    usual_ms: np.ndarray  # h
    variance_ms2: np.ndarray  # sd^2
    weight: np.ndarray  # N, as of `sent_us`
    sum_ms: np.ndarray  # X, as of `sent_us`
    sent_us: np.ndarray  # int64, of the newest feedback
    key: np.ndarray  # uint64


@implements(allocate, DiscountedThompson)
def _allocate(params, sessions, paths):
    require_within(params, memory_ms=(1e-3, 1e9), prior_packets=(1e-6, 1e6), variance_floor_ms2=(1e-9, 1e9), packet_ms=(0.1, 1000.0))
    usual_ms, variance_ms2, weight, sum_ms = (np.zeros((sessions, paths)) for _ in range(4))
    sent_us, key = np.zeros((sessions, paths), np.int64), np.zeros(sessions, np.uint64)
    return DiscountedThompsonState(usual_ms, variance_ms2, weight, sum_ms, sent_us, key)


@implements(init, DiscountedThompson)
def _init(params, state, s, history, key):
    usual_means(history, state.usual_ms, s)
    usual_variances(history, params.variance_floor_ms2, state.variance_ms2, s)
    for path in range(history.shape[0]):
        state.weight[s, path] = 0.0
        state.sum_ms[s, path] = 0.0
        state.sent_us[s, path] = 0
    state.key[s] = stream_key(key, 0, POLICY)


@implements(update, DiscountedThompson)
def _update(params, state, s, record):
    path = record.path
    newer_us = record.sent_us - state.sent_us[s, path]
    fading = math.exp(-abs(newer_us) / (1000.0 * params.memory_ms))
    kept, added = (fading, 1.0) if newer_us > 0 else (1.0, fading)
    state.weight[s, path] = kept * state.weight[s, path] + added
    state.sum_ms[s, path] = kept * state.sum_ms[s, path] + added * (record.arrived_us - record.sent_us) / 1000.0
    state.sent_us[s, path] = max(record.sent_us, state.sent_us[s, path])


@implements(decide, DiscountedThompson)
def _decide(params, state, s, slot):
    paths = state.usual_ms.shape[1]
    now_us = slot * microseconds(params.packet_ms)
    best, best_ms = 0, math.inf
    for path in range(paths):
        fading = math.exp(-(now_us - state.sent_us[s, path]) / (1000.0 * params.memory_ms))
        known = params.prior_packets + fading * state.weight[s, path]
        mean_ms = (params.prior_packets * state.usual_ms[s, path] + fading * state.sum_ms[s, path]) / known
        draw_ms = mean_ms + math.sqrt(state.variance_ms2[s, path] / known) * normal(state.key[s], slot * paths + path)
        if draw_ms < best_ms:
            best, best_ms = path, draw_ms
    return best


@allocating_kernel
def usual_variances(history, floor_ms2, variance_ms2, s):
    """Write each path's variance in history into row `s`, at least `floor_ms2`; the median of the others' where it has none."""
    otherwise_ms2 = known_median(history[:, 2] ** 2, history[:, 0], 2, UNKNOWN_VARIANCE_MS2)
    for path in range(history.shape[0]):
        variance_ms2[s, path] = max(history[path, 2] ** 2 if history[path, 0] >= 2 else otherwise_ms2, floor_ms2)
