"""LinUCB (Chu, Li, Reyzin, Schapire: Contextual bandits with linear payoff functions, AISTATS 2011, algorithm 1), on delays.

A path's delay is taken to be linear in what is known of it, with the same coefficients for every path:

    x = (1,  newest fed-back one-way delay,  age of that,  historical mean),   delays in 100 ms, ages in s and at most 10
    A = ridge I + sum x x',   b = ridge theta0 + sum delay x,   theta = A^-1 b
    index(path) = theta' x - alpha sqrt(x' A^-1 x),   the path of the smallest index is taken, the lowest on ties

The sums run over the fed-back media packets, each with the x that its path had when it was decided on, kept for 1024 packets; a packet
that another path carried, as the plan was still on its way, or that was not decided on, teaches nothing. theta0 = (0, 0, 0, 1) expects
the historical mean (the paper has 0, which expects no delay). Age is now minus sent time; a path not heard of has its historical mean for
newest, as though sent at 0; that mean as in `greedy.py`. Probes renew the newest delay; they teach no coefficients. A^-1 follows each x by
the formula of Sherman and Morrison (1950).
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.greedy import usual_means
from vcgym.baselines.mechanism import microseconds
from vcgym.baselines.ranges import require_within
from vcgym.baselines.rule import MEDIA, allocate, decide, implements, init, update
from vcgym.network.jit import kernel

FEATURES = 4
SCALE_MS = 100.0
MOST_AGE_S = 10.0

_RING = 1024


class LinUCB(NamedTuple):
    """Parameters."""

    alpha: float = 0.1
    ridge: float = 1.0
    packet_ms: float = 10.0  # from one slot to the next


class LinUCBState(NamedTuple):
    """Arrays whose first axis is the session."""

    usual_ms: np.ndarray  # (sessions, paths)
    newest_ms: np.ndarray  # (sessions, paths)
    sent_us: np.ndarray  # (sessions, paths) int64, of the newest
    inverse: np.ndarray  # (sessions, 4, 4), A^-1
    target: np.ndarray  # (sessions, 4), b
    theta: np.ndarray  # (sessions, 4)
    x: np.ndarray  # (sessions, paths, 4), of the decision being made
    direction: np.ndarray  # (sessions, 4), A^-1 x of the packet being learnt
    decided_packet: np.ndarray  # (sessions, 1024) int64, a ring; -1: none
    decided_path: np.ndarray  # (sessions, 1024) int64
    decided_x: np.ndarray  # (sessions, 1024, 4)


@implements(allocate, LinUCB)
def _allocate(params, sessions, paths):
    require_within(params, alpha=(0.0, 1000.0), ridge=(1e-6, 1e6), packet_ms=(0.1, 1000.0))
    return LinUCBState(
        usual_ms=np.zeros((sessions, paths)),
        newest_ms=np.zeros((sessions, paths)),
        sent_us=np.zeros((sessions, paths), np.int64),
        inverse=np.zeros((sessions, FEATURES, FEATURES)),
        target=np.zeros((sessions, FEATURES)),
        theta=np.zeros((sessions, FEATURES)),
        x=np.zeros((sessions, paths, FEATURES)),
        direction=np.zeros((sessions, FEATURES)),
        decided_packet=np.zeros((sessions, _RING), np.int64),
        decided_path=np.zeros((sessions, _RING), np.int64),
        decided_x=np.zeros((sessions, _RING, FEATURES)),
    )


@implements(init, LinUCB)
def _init(params, state, s, history, key):
    usual_means(history, state.usual_ms, s)
    for path in range(history.shape[0]):
        state.newest_ms[s, path] = state.usual_ms[s, path]
        state.sent_us[s, path] = 0
    for i in range(FEATURES):
        for j in range(FEATURES):
            state.inverse[s, i, j] = 1.0 / params.ridge if i == j else 0.0
        state.theta[s, i] = 1.0 if i == FEATURES - 1 else 0.0
        state.target[s, i] = params.ridge * state.theta[s, i]
    state.decided_packet[s] = -1


@implements(update, LinUCB)
def _update(params, state, s, record):
    delay_ms = (record.arrived_us - record.sent_us) / 1000.0
    place = record.packet % _RING
    if record.kind == MEDIA and state.decided_packet[s, place] == record.packet and state.decided_path[s, place] == record.path:
        learn(state, s, place, delay_ms / SCALE_MS)
    if record.sent_us >= state.sent_us[s, record.path]:
        state.sent_us[s, record.path] = record.sent_us
        state.newest_ms[s, record.path] = delay_ms


@implements(decide, LinUCB)
def _decide(params, state, s, slot):
    now_us = slot * microseconds(params.packet_ms)
    best, best_index = 0, math.inf
    for path in range(state.usual_ms.shape[1]):
        index = confident_cost(params, state, s, path, now_us)
        if index < best_index:
            best, best_index = path, index
    place = slot % _RING
    state.decided_packet[s, place] = slot
    state.decided_path[s, place] = best
    for i in range(FEATURES):
        state.decided_x[s, place, i] = state.x[s, best, i]
    return best


@kernel
def confident_cost(params, state, s, path, now_us):
    """Describe a path in `state.x[s, path]` and return its index."""
    state.x[s, path, 0] = 1.0
    state.x[s, path, 1] = state.newest_ms[s, path] / SCALE_MS
    state.x[s, path, 2] = min((now_us - state.sent_us[s, path]) / 1e6, MOST_AGE_S)
    state.x[s, path, 3] = state.usual_ms[s, path] / SCALE_MS
    cost, variance = 0.0, 0.0
    for i in range(FEATURES):
        cost += state.theta[s, i] * state.x[s, path, i]
        for j in range(FEATURES):
            variance += state.x[s, path, i] * state.inverse[s, i, j] * state.x[s, path, j]
    return cost - params.alpha * math.sqrt(max(variance, 0.0))


@kernel
def learn(state, s, place, cost):
    """Add the packet decided on at `place` of the ring, and its cost, to the regression of row `s`."""
    spread = 1.0
    for i in range(FEATURES):
        state.direction[s, i] = 0.0
        for j in range(FEATURES):
            state.direction[s, i] += state.inverse[s, i, j] * state.decided_x[s, place, j]
        spread += state.decided_x[s, place, i] * state.direction[s, i]
        state.target[s, i] += cost * state.decided_x[s, place, i]
    for i in range(FEATURES):
        for j in range(FEATURES):
            state.inverse[s, i, j] -= state.direction[s, i] * state.direction[s, j] / spread
    for i in range(FEATURES):
        state.theta[s, i] = 0.0
        for j in range(FEATURES):
            state.theta[s, i] += state.inverse[s, i, j] * state.target[s, j]
