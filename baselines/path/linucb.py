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
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.path.history import imputed_means
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, Rows, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import packet_at

FEATURES = 4
SCALE_MS = 100.0
MAX_AGE_S = 10.0

_RING = 1024


@record
class Regression:
    inverse: NDArray[np.float64] = np.zeros((FEATURES, FEATURES))  # A^-1
    target: NDArray[np.float64] = np.zeros(FEATURES)  # b
    theta: NDArray[np.float64] = np.eye(FEATURES)[-1]


@record
class Arm:
    """State of a path: delays in 100 ms."""

    usual: float = 0.0
    newest: float = 0.0
    sent_us: int = 0  # of the newest delay


@record
class Decided:
    """Features of a packet at its decision."""

    packet: int = -1  # none
    path: int = 0
    newest: float = 0.0
    age_s: float = 0.0
    usual: float = 0.0


@rule(Control.PATH, regression=Regression, arms=Rows(Arm), ring=Rows(Decided, _RING))
class LinUCB(NamedTuple):
    alpha: Annotated[float, (0.0, 1000.0)] = 0.1
    ridge: Annotated[float, (1e-6, 1e6)] = 1.0
    packet_ms: Annotated[float, PACKET_MS_RANGE] = 10.0  # packet interval

    def init(self, regression, arms, ring, start, key):
        mean_ms = imputed_means(start)
        for path in range(arms.size):
            arms[path].usual = mean_ms[path] / SCALE_MS
            arms[path].newest = arms[path].usual
        for i in range(FEATURES):
            regression.inverse[i, i] = 1.0 / self.ridge
            regression.target[i] = self.ridge * regression.theta[i]

    def update(self, regression, arms, ring, record):
        delay = (record.arrived_us - record.sent_us) / 1000.0 / SCALE_MS
        decided = ring[record.packet % _RING]
        if record.kind == MEDIA and decided.packet == record.packet and decided.path == record.path:
            _learn(regression, (1.0, decided.newest, decided.age_s, decided.usual), delay)
        arm = arms[record.path]
        if record.sent_us >= arm.sent_us:
            arm.sent_us = record.sent_us
            arm.newest = delay

    def decide(self, regression, arms, ring, now_us):
        packet = packet_at(now_us, self.packet_ms)
        best = _lowest_index(self.alpha, regression, arms, now_us)
        arm, decided = arms[best], ring[packet % _RING]
        decided.packet = packet
        decided.path = best
        decided.newest = arm.newest
        decided.age_s = _age_s(arm, now_us)
        decided.usual = arm.usual
        return best


@kernel
def _age_s(arm, now_us):
    return min((now_us - arm.sent_us) / 1e6, MAX_AGE_S)


@kernel
def _lowest_index(alpha, regression, arms, now_us):
    """Return the path with the smallest index, the lowest on ties; x' A^-1 x is expanded, using the symmetry of A^-1."""
    theta, inverse = regression.theta, regression.inverse
    a, b, c, d = theta[0], theta[1], theta[2], theta[3]
    aa, bb, cc, dd = inverse[0, 0], inverse[1, 1], inverse[2, 2], inverse[3, 3]
    ab, ac, ad = 2.0 * inverse[0, 1], 2.0 * inverse[0, 2], 2.0 * inverse[0, 3]
    bc, bd, cd = 2.0 * inverse[1, 2], 2.0 * inverse[1, 3], 2.0 * inverse[2, 3]
    best, best_index = np.int64(0), math.inf
    for path in range(arms.size):
        newest, age, usual = arms[path].newest, _age_s(arms[path], now_us), arms[path].usual
        cost = a + b * newest + c * age + d * usual
        variance = aa + newest * (ab + bb * newest) + age * (ac + bc * newest + cc * age)
        variance += usual * (ad + bd * newest + cd * age + dd * usual)
        # Rounding may push a variance near 0 below it.
        index = cost - alpha * math.sqrt(max(variance, 0.0))
        if index < best_index:
            best, best_index = np.int64(path), index
    return best


@kernel
def _learn(regression, x, cost):
    """Add a packet's features at the decision, a tuple, and its cost, the delay in 100 ms, to the regression."""
    inverse, target = regression.inverse, regression.target
    for i in range(FEATURES):
        target[i] += cost * x[i]
    direction = (_times(inverse, 0, x), _times(inverse, 1, x), _times(inverse, 2, x), _times(inverse, 3, x))  # A^-1 x
    spread = 1.0 + x[0] * direction[0] + x[1] * direction[1] + x[2] * direction[2] + x[3] * direction[3]
    for i in range(FEATURES):
        for j in range(FEATURES):
            inverse[i, j] -= direction[i] * direction[j] / spread
    b = (target[0], target[1], target[2], target[3])
    for i in range(FEATURES):
        regression.theta[i] = _times(inverse, i, b)


@kernel
def _times(inverse, i, x):
    return inverse[i, 0] * x[0] + inverse[i, 1] * x[1] + inverse[i, 2] * x[2] + inverse[i, 3] * x[3]
