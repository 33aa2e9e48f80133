"""Adaptive playout by an exponential average (Ramjee, Kurose, Towsley, Schulzrinne, INFOCOM 1994, algorithm 1).

For each packet of one-way delay n that arrives, late or not,

    d <- alpha d + (1 - alpha) n,   v <- alpha v + (1 - alpha) |d - n|,   playout time = sent time + d + 4 v

A lag is measured from the least delay: a player that holds lag L plays at sent time + least delay + L. So

    lag = max(0, d + 4 v - least delay of the last 2000 ms)

with which the clocked player plays at d + 4 v exactly, and the watermark, which stands a lag behind the newest packet, never runs ahead
of that playout time: a packet goes at the first arrival that proves it to be due. A lag being a difference of delays, clocks need not
agree. It starts with d = the first delay, and v such that the lag is NetEQ's 80 ms; the paper does not say.

Left out: holding the playout time within a talkspurt. A call here is one talkspurt, and the player has its own limit of pace.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.receivers.jitter_window import JITTER_WINDOW, NO_JITTER, accumulated_jitter, reset_window
from vcgym.baselines.records import PROBE
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds


@rule(Control.LAG)
class AdaptiveEwma(NamedTuple):
    """Parameters."""

    alpha: float = 0.998002
    deviations: float = 4.0
    start_lag_ms: float = 80.0


class AdaptiveEwmaState(NamedTuple):
    """Plain arrays (sessions,)."""

    window: np.recarray  # of JITTER_WINDOW
    mean_ms: np.ndarray  # d
    deviation_ms: np.ndarray  # v
    lag_us: np.ndarray  # int64


@allocate.register(AdaptiveEwma)
def _allocate(params, sessions, paths):
    require_within(params, alpha=(0.0, 1.0), deviations=(0.1, 100.0), start_lag_ms=(0.0, 1e4))
    window = np.zeros(sessions, JITTER_WINDOW).view(np.recarray)
    return AdaptiveEwmaState(window, np.zeros(sessions), np.zeros(sessions), np.zeros(sessions, np.int64))


@init.register(AdaptiveEwma)
def _init(params, state, s, start, key):
    reset_window(state.window[s])
    state.deviation_ms[s] = params.start_lag_ms / params.deviations
    state.lag_us[s] = microseconds(params.start_lag_ms)


@update.register(AdaptiveEwma)
def _update(params, state, s, record):
    if record.kind == PROBE:
        return
    delay_ms = (record.arrived_us - record.sent_us) / 1000.0
    jitter_us = accumulated_jitter(state.window[s], record.sent_us, record.arrived_us)
    if jitter_us == NO_JITTER:
        state.mean_ms[s] = delay_ms
        return
    state.mean_ms[s] = params.alpha * state.mean_ms[s] + (1.0 - params.alpha) * delay_ms
    state.deviation_ms[s] = params.alpha * state.deviation_ms[s] + (1.0 - params.alpha) * abs(state.mean_ms[s] - delay_ms)
    playout_delay_ms = state.mean_ms[s] + params.deviations * state.deviation_ms[s]
    state.lag_us[s] = max(0, microseconds(playout_delay_ms - (delay_ms - jitter_us / 1000.0)))


@decide.register(AdaptiveEwma)
def _decide(params, state, s, now_us):
    return state.lag_us[s]
