"""Adaptive playout by an exponential average (Ramjee, Kurose, Towsley, Schulzrinne, INFOCOM 1994, algorithm 1).

For each arriving packet with one-way delay n, late or not,

    d <- alpha d + (1 - alpha) n,   v <- alpha v + (1 - alpha) |d - n|,   playout time = sent time + d + 4 v

A lag is relative to the minimum delay: a player with lag L plays at sent time + minimum delay + L. So

    lag = max(0, d + 4 v - minimum delay of the last 2000 ms)

With this lag the clocked player plays exactly at d + 4 v. The watermark, one lag behind the newest packet, never passes that playout time:
a packet is emitted at the first arrival that proves it due. A lag is a difference of delays, so clocks need not be synchronised. Initially
d is the first delay, and v gives NetEQ's lag of 80 ms; the paper does not specify this.

Left out: a constant playout delay within a talkspurt. A call here is one talkspurt, and the player limits its own rate of change.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.playout.jitter_window import JITTER_WINDOW, NO_JITTER, accumulated_jitter, reset_window
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds


@rule(Control.PLAYOUT)
class AdaptiveEwma(NamedTuple):
    """Parameters."""

    alpha: float = 0.998002
    deviations: float = 4.0
    start_lag_ms: float = 80.0


class AdaptiveEwmaState(NamedTuple):
    """State: arrays (sessions,)."""

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
    if record.kind != MEDIA:
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
