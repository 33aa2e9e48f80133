"""Gradient through the player: the derivative of a call's R with respect to the target at each arrival.

The playout delay of the clocked player is between P and P + 10 ms, the length of a tick. It moves toward the target T by 10 ms at once, at
most every 100 ms. Averaged over the phase of the ticks, P moves by at most the credit c, which grows by 0.1 ms per millisecond up to half a
tick. The player waits for a late packet in whole ticks; averaged over the phase, it conceals as much as P rises:

    k_i = min(5 ms, c_{i-1} + 0.1 dt_i)
    m_i = k_i tanh((T_{i-1} - P_{i-1}) / k_i),   c_i = k_i - |m_i|
    Q_i = P_{i-1} + m_i
    P_i = max(Q_i, d_i),   concealed_i = max(0, d_i - Q_i)               a packet that was not overtaken
    P_i = Q_i,             concealed_i = 10 ms if d_i > Q_i              an overtaken packet: its turn has passed

With x the mean of P + 5 ms over the call and p the percentage concealed, including packets that never arrived,

    R = 93.2 - Id(x) - 95 p / (p + 25.1)                                  (G.107, and the reduced Id of `vcgym.network.playout.quality`)

clipped below at 0, where the gradient is 0. tanh approximates the player's steps; the knee of Id is smoothed over 8 ms, and the step of an
overtaken packet over 2 ms. The recursion has two numbers of state, so the adjoint is as cheap as the recursion. If P exceeds T by more than
a second, the player resets: Q = T. Left out: gaps that are charged to concealment already played.
"""

import math

from vcgym.baselines.playout.playout_delay import JUMP_MS, PACE
from vcgym.network.kernels.jit import kernel
from vcgym.network.playout.player import UNIT_US
from vcgym.network.playout.quality import (
    BPL_G711_CONCEALED,
    IE_MAX,
    R_DEFAULT,
    REDUCED_KNEE_MS,
    REDUCED_KNEE_SLOPE_PER_MS,
    REDUCED_SLOPE_PER_MS,
)

UNIT_MS = UNIT_US / 1000.0
MIDDLE_MS = UNIT_MS / 2.0
MAX_CREDIT_MS = UNIT_MS / 2.0  # one step leads its average of 0.1 ms per millisecond by half a unit in the mean
KNEE_WIDTH_MS = 8.0  # our choice, like the other width
STEP_WIDTH_MS = 2.0
LEAST_REACH_MS = 1e-9  # no division by 0


@kernel
def _sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x)) if x > -500.0 else 0.0


@kernel
def _jumps(playout_ms, target_ms):
    """Return True if the player resets its delay at once."""
    return playout_ms > target_ms + JUMP_MS


@kernel
def call_rating(target_ms, delay_ms, passed_ms, overtaken, count, packets, playout_ms, drawn_ms, reach_ms, gradient):
    """Return the smooth R of one call, and write its derivative with respect to each target.

    Args:
        target_ms: (arrivals,) T, in force from the arrival on.
        delay_ms: (arrivals,) d.
        passed_ms: (arrivals,) dt.
        overtaken: (arrivals,) bool.
        count: number of arrivals, >= 1; the rest of the arrays is unused.
        packets: packets sent.
        playout_ms: (arrivals,) P, written.
        drawn_ms: (arrivals,) Q, written.
        reach_ms: (arrivals,) k, written.
        gradient: (arrivals,) dR / dT, written.
    """
    total_ms, concealed_ms = _play(target_ms, delay_ms, passed_ms, overtaken, count, playout_ms, drawn_ms, reach_ms)
    concealed_ms += UNIT_MS * (packets - count)
    x, p = total_ms / count + MIDDLE_MS, 100.0 * concealed_ms / (UNIT_MS * packets)
    bend = (x - REDUCED_KNEE_MS) / KNEE_WIDTH_MS
    above_ms = KNEE_WIDTH_MS * (max(bend, 0.0) + math.log1p(math.exp(-abs(bend))))
    loss = IE_MAX * p / (p + BPL_G711_CONCEALED)
    r = R_DEFAULT - REDUCED_SLOPE_PER_MS * x - REDUCED_KNEE_SLOPE_PER_MS * above_ms - loss
    if r <= 0.0:
        gradient[:count] = 0.0
        return 0.0
    by_ms = -(REDUCED_SLOPE_PER_MS + REDUCED_KNEE_SLOPE_PER_MS * _sigmoid(bend)) / count
    by_concealed = -IE_MAX * BPL_G711_CONCEALED / (p + BPL_G711_CONCEALED) ** 2 * 100.0 / (UNIT_MS * packets)
    _go_back(target_ms, delay_ms, overtaken, count, playout_ms, drawn_ms, reach_ms, by_ms, by_concealed, gradient)
    return r


@kernel
def _play(target_ms, delay_ms, passed_ms, overtaken, count, playout_ms, drawn_ms, reach_ms):
    """Write P, Q and k of each arrival; return the sum of P and the time concealed because of late packets, both in ms."""
    playout_ms[0] = max(target_ms[0], delay_ms[0])
    drawn_ms[0] = playout_ms[0]
    total_ms, concealed_ms, credit_ms = playout_ms[0], 0.0, MAX_CREDIT_MS
    for i in range(1, count):
        reach_ms[i] = min(MAX_CREDIT_MS, credit_ms + PACE * passed_ms[i])
        if _jumps(playout_ms[i - 1], target_ms[i - 1]):
            drawn_ms[i], credit_ms = target_ms[i - 1], reach_ms[i]
        else:
            moved_ms = reach_ms[i] * _pull(target_ms[i - 1] - playout_ms[i - 1], reach_ms[i])
            drawn_ms[i], credit_ms = playout_ms[i - 1] + moved_ms, reach_ms[i] - abs(moved_ms)
        if overtaken[i]:
            playout_ms[i] = drawn_ms[i]
            concealed_ms += UNIT_MS * _sigmoid((delay_ms[i] - drawn_ms[i]) / STEP_WIDTH_MS)
        else:
            playout_ms[i] = max(drawn_ms[i], delay_ms[i])
            concealed_ms += playout_ms[i] - drawn_ms[i]
        total_ms += playout_ms[i]
    return total_ms, concealed_ms


@kernel
def _pull(distance_ms, reach_ms):
    """Return the share of k by which P moves toward a target at a distance."""
    return math.tanh(distance_ms / max(reach_ms, LEAST_REACH_MS))


@kernel
def _go_back(target_ms, delay_ms, overtaken, count, playout_ms, drawn_ms, reach_ms, by_ms, by_concealed, gradient):
    """Write dR / dT of each arrival, from dR / dP through the mean and dR / d(time concealed)."""
    carried, by_credit = 0.0, 0.0  # dR / dP_i and dR / dc_i through all arrivals after i
    for i in range(count - 1, 0, -1):
        by_playout = carried + by_ms
        if overtaken[i]:
            step = _sigmoid((delay_ms[i] - drawn_ms[i]) / STEP_WIDTH_MS)
            by_drawn = by_playout - by_concealed * UNIT_MS * step * (1.0 - step) / STEP_WIDTH_MS
        elif drawn_ms[i] >= delay_ms[i]:
            by_drawn = by_playout
        else:
            by_drawn = -by_concealed
        if _jumps(playout_ms[i - 1], target_ms[i - 1]):
            gradient[i - 1], carried, by_reach = by_drawn, 0.0, by_credit
        else:
            distance_ms = target_ms[i - 1] - playout_ms[i - 1]
            pull = _pull(distance_ms, reach_ms[i])
            slope = 1.0 - pull * pull
            by_moved = by_drawn - math.copysign(by_credit, by_credit * pull)
            gradient[i - 1] = by_moved * slope
            carried = by_drawn - gradient[i - 1]
            by_reach = by_credit + by_moved * (pull - slope * distance_ms / max(reach_ms[i], LEAST_REACH_MS))
        by_credit = by_reach if reach_ms[i] < MAX_CREDIT_MS else 0.0
    gradient[count - 1] = 0.0
    gradient[0] += carried + by_ms


@kernel
def ratings(target_ms, delay_ms, passed_ms, overtaken, count, packets, gradient, r, scratch):
    """Write R of each call, and its derivative with respect to each target.

    Args:
        target_ms: float64 (calls, arrivals), T, in force from the arrival on.
        delay_ms: float64 (calls, arrivals), d.
        passed_ms: float64 (calls, arrivals), dt.
        overtaken: bool (calls, arrivals).
        count: int64 (calls,), number of arrivals; a call without arrivals is left out.
        packets: int64, packets sent in each call.
        gradient: float64 (calls, arrivals), initially 0; dR / dT is written.
        r: float64 (calls,), initially 0; R is written.
        scratch: float64 (3, arrivals), scratch.
    """
    for s in range(count.size):
        if count[s] > 0:
            r[s] = call_rating(
                target_ms[s], delay_ms[s], passed_ms[s], overtaken[s], count[s], packets, scratch[0], scratch[1], scratch[2], gradient[s]
            )
