"""Sliding-window Thompson sampling (Trovo, Paladino, Restelli, Gatti, JAIR 68, 2020) with Gaussian beliefs, on a prior from history.

Only the last `window` packets and probes fed back, of all paths together, count. With N of them on a path, X the sum of their one-way
delays, and h, sd the path's mean and spread in history,

    draw ~ N( (w h + X) / (w + N),  sd^2 / (w + N) ),   the path of the smallest draw is taken

so that a path that has left the window is believed to be as it was in history, known as well as by w packets. (The paper's prior is flat.)
h and sd as in `discounted_thompson.py`. Delays are summed in whole microseconds: what leaves the window leaves no trace.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.discounted_thompson import usual_variances
from vcgym.baselines.greedy import usual_means
from vcgym.baselines.ranges import require_within
from vcgym.baselines.rule import allocate, decide, implements, init, update
from vcgym.network.rng import POLICY, normal, stream_key


class SlidingThompson(NamedTuple):
    """Parameters."""

    window: int = 500
    prior_packets: float = 10.0  # w
    variance_floor_ms2: float = 1.0


class SlidingThompsonState(NamedTuple):
    """Arrays (sessions, paths) where nothing else is said."""

    usual_ms: np.ndarray  # h
    variance_ms2: np.ndarray  # sd^2
    heard: np.ndarray  # int64, N
    sum_us: np.ndarray  # int64, X
    window_path: np.ndarray  # (sessions, window) int32, a ring
    window_us: np.ndarray  # (sessions, window) int64, delays
    taken: np.ndarray  # (sessions,) int64, feedback so far
    key: np.ndarray  # (sessions,) uint64


@implements(allocate, SlidingThompson)
def _allocate(params, sessions, paths):
    require_within(params, window=(1, 1_000_000), prior_packets=(1e-6, 1e6), variance_floor_ms2=(1e-9, 1e9))
    return SlidingThompsonState(
        usual_ms=np.zeros((sessions, paths)),
        variance_ms2=np.zeros((sessions, paths)),
        heard=np.zeros((sessions, paths), np.int64),
        sum_us=np.zeros((sessions, paths), np.int64),
        window_path=np.zeros((sessions, params.window), np.int32),
        window_us=np.zeros((sessions, params.window), np.int64),
        taken=np.zeros(sessions, np.int64),
        key=np.zeros(sessions, np.uint64),
    )


@implements(init, SlidingThompson)
def _init(params, state, s, history, key):
    usual_means(history, state.usual_ms, s)
    usual_variances(history, params.variance_floor_ms2, state.variance_ms2, s)
    for path in range(history.shape[0]):
        state.heard[s, path] = 0
        state.sum_us[s, path] = 0
    state.taken[s] = 0
    state.key[s] = stream_key(key, 0, POLICY)


@implements(update, SlidingThompson)
def _update(params, state, s, record):
    place = state.taken[s] % state.window_us.shape[1]
    if state.taken[s] >= state.window_us.shape[1]:
        gone = state.window_path[s, place]
        state.heard[s, gone] -= 1
        state.sum_us[s, gone] -= state.window_us[s, place]
    state.window_path[s, place] = record.path
    state.window_us[s, place] = record.arrived_us - record.sent_us
    state.heard[s, record.path] += 1
    state.sum_us[s, record.path] += record.arrived_us - record.sent_us
    state.taken[s] += 1


@implements(decide, SlidingThompson)
def _decide(params, state, s, slot):
    paths = state.usual_ms.shape[1]
    best, best_ms = 0, math.inf
    for path in range(paths):
        known = params.prior_packets + state.heard[s, path]
        mean_ms = (params.prior_packets * state.usual_ms[s, path] + state.sum_us[s, path] / 1000.0) / known
        draw_ms = mean_ms + math.sqrt(state.variance_ms2[s, path] / known) * normal(state.key[s], slot * paths + path)
        if draw_ms < best_ms:
            best, best_ms = path, draw_ms
    return best
