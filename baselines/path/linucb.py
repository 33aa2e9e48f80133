"""LinUCB (Chu, Li, Reyzin, Schapire: Contextual bandits with linear payoff functions, AISTATS 2011, algorithm 1), on delays.

A path's delay is modelled as linear in its features, with the same coefficients for every path:

    x = (1,  newest fed-back one-way delay,  its age,  historical mean),   delays in 100 ms, ages in s and at most 10
    A = ridge I + sum x x',   b = ridge theta0 + sum delay x,   theta = A^-1 b
    index(path) = theta' x - alpha sqrt(x' A^-1 x),   choose the path with the smallest index, the lowest on ties

The sums run over fed-back media packets, each with its path's x at the decision, remembered for 1024 packets. Packets without a decision,
or carried by another path because the plan was not yet in force, are ignored. theta0 = (0, 0, 0, 1) predicts the historical mean (the
paper uses 0, which predicts no delay). The age is now minus sent time. Before its first feedback a path uses its historical mean, sent at
0, as newest delay; for that mean see `greedy.py`. Probes update the newest delay but not the coefficients. A^-1 is updated for each x with
the formula of Sherman and Morrison (1950).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.path.history import imputed_means
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import packet_at

FEATURES = 4
SCALE_MS = 100.0
MAX_AGE_S = 10.0

_RING = 1024


@rule(Control.PATH)
class LinUCB(NamedTuple):
    """Parameters."""

    alpha: float = 0.1
    ridge: float = 1.0
    packet_ms: float = 10.0  # packet interval


ARM = np.dtype((np.record, [("usual", "f8"), ("newest", "f8"), ("sent_us", "i8")]))  # delays in 100 ms; sent time of the newest delay
DECIDED = np.dtype((np.record, [("packet", "i8"), ("path", "i8"), ("newest", "f8"), ("age_s", "f8"), ("usual", "f8")]))


class LinUCBState(NamedTuple):
    """State; first axis: session."""

    arm: np.recarray  # (sessions, paths) of ARM
    decided: np.recarray  # (sessions, 1024) of DECIDED, a ring; packet -1: none
    inverse: NDArray[np.float64]  # (sessions, 4, 4), A^-1
    target: NDArray[np.float64]  # (sessions, 4), b
    theta: NDArray[np.float64]  # (sessions, 4)


@allocate.register(LinUCB)
def _allocate(params, sessions, paths):
    require_within(params, alpha=(0.0, 1000.0), ridge=(1e-6, 1e6), packet_ms=PACKET_MS_RANGE)
    return LinUCBState(
        arm=np.zeros((sessions, paths), ARM).view(np.recarray),
        decided=np.zeros((sessions, _RING), DECIDED).view(np.recarray),
        inverse=np.zeros((sessions, FEATURES, FEATURES)),
        target=np.zeros((sessions, FEATURES)),
        theta=np.zeros((sessions, FEATURES)),
    )


@init.register(LinUCB)
def _init(params, state, s, start, key):
    mean_ms = imputed_means(start)
    for path in range(start.mean_ms.size):
        arm = state.arm[s, path]
        arm.usual = mean_ms[path] / SCALE_MS
        arm.newest = arm.usual
        arm.sent_us = 0
    for i in range(FEATURES):
        for j in range(FEATURES):
            state.inverse[s, i, j] = 1.0 / params.ridge if i == j else 0.0
        state.theta[s, i] = 1.0 if i == FEATURES - 1 else 0.0
        state.target[s, i] = params.ridge * state.theta[s, i]
    for index in range(_RING):
        state.decided[s, index].packet = -1


@update.register(LinUCB)
def _update(params, state, s, record):
    delay = (record.arrived_us - record.sent_us) / 1000.0 / SCALE_MS
    decided = state.decided[s, record.packet % _RING]
    if record.kind == MEDIA and decided.packet == record.packet and decided.path == record.path:
        learn(state, s, (1.0, decided.newest, decided.age_s, decided.usual), delay)
    arm = state.arm[s, record.path]
    if record.sent_us >= arm.sent_us:
        arm.sent_us = record.sent_us
        arm.newest = delay


@decide.register(LinUCB)
def _decide(params, state, s, now_us):
    packet = packet_at(now_us, params.packet_ms)
    best = lowest_index(params, state, s, now_us)
    arm, decided = state.arm[s, best], state.decided[s, packet % _RING]
    decided.packet = packet
    decided.path = best
    decided.newest = arm.newest
    decided.age_s = age_s(arm, now_us)
    decided.usual = arm.usual
    return best


@kernel
def age_s(arm, now_us):
    """Return the age of the newest feedback of a path, at most 10 s."""
    return min((now_us - arm.sent_us) / 1e6, MAX_AGE_S)


@kernel
def lowest_index(params, state, s, now_us):
    """Return the path with the smallest index, the lowest on ties; x' A^-1 x is expanded, using the symmetry of A^-1.

    Args:
        params: LinUCB.
        state: LinUCBState; read only.
        s: int64, session.
        now_us: int64, time of the decision.
    """
    a, b, c, d = state.theta[s, 0], state.theta[s, 1], state.theta[s, 2], state.theta[s, 3]
    inverse = state.inverse
    aa, bb, cc, dd = inverse[s, 0, 0], inverse[s, 1, 1], inverse[s, 2, 2], inverse[s, 3, 3]
    ab, ac, ad = 2.0 * inverse[s, 0, 1], 2.0 * inverse[s, 0, 2], 2.0 * inverse[s, 0, 3]
    bc, bd, cd = 2.0 * inverse[s, 1, 2], 2.0 * inverse[s, 1, 3], 2.0 * inverse[s, 2, 3]
    best, best_index = np.int64(0), math.inf
    for path in range(state.arm.shape[1]):
        arm = state.arm[s, path]
        newest, age, usual = arm.newest, age_s(arm, now_us), arm.usual
        cost = a + b * newest + c * age + d * usual
        variance = aa + newest * (ab + bb * newest) + age * (ac + bc * newest + cc * age)
        variance += usual * (ad + bd * newest + cd * age + dd * usual)
        # Rounding may push a variance near 0 below it.
        index = cost - params.alpha * math.sqrt(max(variance, 0.0))
        if index < best_index:
            best, best_index = np.int64(path), index
    return best


@kernel
def learn(state, s, x, cost):
    """Add a packet's features and cost to the regression of a session.

    Args:
        state: LinUCBState; A^-1, b and theta of row `s` are updated.
        s: int64, session.
        x: tuple of FEATURES float64, features of the packet's path at the decision; the first is 1.
        cost: float64, one-way delay of the packet in 100 ms.
    """
    inverse, target = state.inverse, state.target
    for i in range(FEATURES):
        target[s, i] += cost * x[i]
    d0, d1, d2, d3 = _times(inverse, s, 0, x), _times(inverse, s, 1, x), _times(inverse, s, 2, x), _times(inverse, s, 3, x)
    direction = (d0, d1, d2, d3)  # A^-1 x
    spread = 1.0 + x[0] * d0 + x[1] * d1 + x[2] * d2 + x[3] * d3
    for i in range(FEATURES):
        for j in range(FEATURES):
            inverse[s, i, j] -= direction[i] * direction[j] / spread
    b = (target[s, 0], target[s, 1], target[s, 2], target[s, 3])
    for i in range(FEATURES):
        state.theta[s, i] = _times(inverse, s, i, b)


@kernel
def _times(inverse, s, i, x):
    return inverse[s, i, 0] * x[0] + inverse[s, i, 1] * x[1] + inverse[s, i, 2] * x[2] + inverse[s, i, 3] * x[3]
