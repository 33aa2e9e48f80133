"""Gradient through the player: the derivative of a call's R with respect to the target at each arrival.

The playout delay of the clocked player lies between P and P + 10 ms, the length of a tick. Between two arrivals P is drawn toward the
target T, at most 0.1 ms in a millisecond; a packet that is not there in time is waited for, in whole ticks, which over all phases of the
ticks conceals as much as P rises:

    Q_i = P_{i-1} + 0.1 dt_i tanh((T_{i-1} - P_{i-1}) / 4)
    P_i = max(Q_i, d_i),   concealed_i = max(0, d_i - Q_i)               a packet that was not overtaken
    P_i = Q_i,             concealed_i = 10 ms if d_i > Q_i              an overtaken one: the player has passed its place

With x the mean of P + 5 ms over the call and p the percent concealed, packets that never came among it,

    R = 93.2 - Id(x) - 95 p / (p + 25.1)                                  (G.107, and the reduced Id of `vcgym.network.playout.quality`)

and at least 0, from where no derivative leads back. tanh stands for the player's steps; the knee of Id is smoothed over 8 ms, and the step
of an overtaken packet over 2 ms. One number is carried from arrival to arrival, so that the adjoint costs as little as the recursion. A P
of over a second above T is given up at once: Q = T. Left out: a hole that concealment already heard pays for.
"""

import math

from vcgym.baselines.receivers.playout_delay import JUMP_MS, PACE
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
BAND_MS = 4.0  # declared, as are the two widths: distance to the target below which the pace falls
KNEE_WIDTH_MS = 8.0
STEP_WIDTH_MS = 2.0


@kernel
def _sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x)) if x > -500.0 else 0.0


@kernel
def _jumps(playout_ms, target_ms):
    """Return True if the player gives its delay up at once."""
    return playout_ms > target_ms + JUMP_MS


@kernel
def call_rating(target_ms, delay_ms, passed_ms, overtaken, count, packets, playout_ms, drawn_ms, gradient):
    """Return the smooth R of one call, and write its derivative with respect to each target.

    Args:
        target_ms: (arrivals,) T, in force from the arrival on.
        delay_ms: (arrivals,) d.
        passed_ms: (arrivals,) dt.
        overtaken: (arrivals,) bool.
        count: number of arrivals, >= 1; the rest of the arrays is left alone.
        packets: packets sent.
        playout_ms: (arrivals,) for P.
        drawn_ms: (arrivals,) for Q.
        gradient: (arrivals,) for dR / dT.
    """
    total_ms, concealed_ms = _play(target_ms, delay_ms, passed_ms, overtaken, count, playout_ms, drawn_ms)
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
    _go_back(target_ms, delay_ms, passed_ms, overtaken, count, playout_ms, drawn_ms, by_ms, by_concealed, gradient)
    return r


@kernel
def _play(target_ms, delay_ms, passed_ms, overtaken, count, playout_ms, drawn_ms):
    """Write P and Q of each arrival; return the sum of P and the time concealed for packets that came late, both in ms."""
    playout_ms[0] = max(target_ms[0], delay_ms[0])
    drawn_ms[0] = playout_ms[0]
    total_ms, concealed_ms = playout_ms[0], 0.0
    for i in range(1, count):
        if _jumps(playout_ms[i - 1], target_ms[i - 1]):
            drawn_ms[i] = target_ms[i - 1]
        else:
            pull = math.tanh((target_ms[i - 1] - playout_ms[i - 1]) / BAND_MS)
            drawn_ms[i] = playout_ms[i - 1] + PACE * passed_ms[i] * pull
        if overtaken[i]:
            playout_ms[i] = drawn_ms[i]
            concealed_ms += UNIT_MS * _sigmoid((delay_ms[i] - drawn_ms[i]) / STEP_WIDTH_MS)
        else:
            playout_ms[i] = max(drawn_ms[i], delay_ms[i])
            concealed_ms += playout_ms[i] - drawn_ms[i]
        total_ms += playout_ms[i]
    return total_ms, concealed_ms


@kernel
def _go_back(target_ms, delay_ms, passed_ms, overtaken, count, playout_ms, drawn_ms, by_ms, by_concealed, gradient):
    """Write dR / dT of each arrival, from dR / d(each P) by the mean alone and dR / d(time concealed)."""
    carried = 0.0  # dR / dP_i through all that comes after i
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
            gradient[i - 1] = by_drawn
            carried = 0.0
            continue
        pull = math.tanh((target_ms[i - 1] - playout_ms[i - 1]) / BAND_MS)
        slope = PACE * passed_ms[i] * (1.0 - pull * pull) / BAND_MS
        gradient[i - 1] = by_drawn * slope
        carried = by_drawn * (1.0 - slope)
    gradient[count - 1] = 0.0
    gradient[0] += carried + by_ms


@kernel
def ratings(target_ms, delay_ms, passed_ms, overtaken, count, packets, gradient, r, scratch):
    """Write R of each call into `r` (calls,), and dR / dT (calls, arrivals) into `gradient`, both 0 before; `scratch` is (2, arrivals)."""
    for s in range(count.size):
        if count[s] > 0:
            r[s] = call_rating(
                target_ms[s], delay_ms[s], passed_ms[s], overtaken[s], count[s], packets, scratch[0], scratch[1], gradient[s]
            )
