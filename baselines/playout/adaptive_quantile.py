"""Adaptive playout by a quantile of recent delays (after Moon, Kurose, Towsley, Multimedia Systems 6, 1998).

    lag = the `quantile` of the excess delays of the last `window` packets, in whole ms

The excess delay of a packet, late or not, is its one-way delay above the minimum of the last 2000 ms (the accumulated jitter of
`jitter_window.py`), rounded up to whole ms and clipped at 2000 ms. Excess delays, unlike delays, keep shifts of the base delay or of a
clock out of the quantile. Each packet updates the counts per ms for the packet that enters and the one that leaves the window, and the
quantile moves accordingly.

Left out: the paper's mode for delay spikes, and its restriction to change the playout delay only between talkspurts.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.playout.jitter_window import JITTER_WINDOW, NO_JITTER, accumulated_jitter, reset_window
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds

MAX_MS = 2000


@rule(Control.PLAYOUT)
class AdaptiveQuantile(NamedTuple):
    """Parameters."""

    quantile: float = 0.99
    window: int = 10_000  # packets, as in the paper
    start_lag_ms: float = 80.0  # before the first packet


class AdaptiveQuantileState(NamedTuple):
    """State: the window as a ring and a histogram of it in ms. Arrays are (sessions,) int64 unless stated otherwise."""

    jitter: np.recarray  # of JITTER_WINDOW
    excess_ms: np.ndarray  # (sessions, window) int16
    occurs: np.ndarray  # (sessions, 2001) int32
    taken: np.ndarray  # packets so far
    below: np.ndarray  # packets of the window below the quantile
    lag_ms: np.ndarray  # the quantile
    lag_us: np.ndarray


@allocate.register(AdaptiveQuantile)
def _allocate(params, sessions, paths):
    require_within(params, quantile=(0.0, 1.0), window=(1, 1_000_000), start_lag_ms=(0.0, 1e4))
    return AdaptiveQuantileState(
        np.zeros(sessions, JITTER_WINDOW).view(np.recarray),
        np.zeros((sessions, params.window), np.int16),
        np.zeros((sessions, MAX_MS + 1), np.int32),
        *(np.zeros(sessions, np.int64) for _ in range(4)),
    )


@init.register(AdaptiveQuantile)
def _init(params, state, s, start, key):
    reset_window(state.jitter[s])
    state.occurs[s] = 0
    state.taken[s] = 0
    state.below[s] = 0
    state.lag_ms[s] = 0
    state.lag_us[s] = microseconds(params.start_lag_ms)


@update.register(AdaptiveQuantile)
def _update(params, state, s, record):
    if record.kind != MEDIA:
        return
    jitter_us = accumulated_jitter(state.jitter[s], record.sent_us, record.arrived_us)
    excess_ms = 0 if jitter_us == NO_JITTER else min(-(-jitter_us // 1000), MAX_MS)
    _slide(state, s, excess_ms)
    count = min(state.taken[s], state.excess_ms.shape[1])
    _move_quantile(state, s, max(1, math.ceil(params.quantile * count)))
    state.lag_us[s] = 1000 * state.lag_ms[s]


@decide.register(AdaptiveQuantile)
def _decide(params, state, s, now_us):
    return state.lag_us[s]


@kernel
def _slide(state, s, excess_ms):
    """Add one excess delay to the window; remove the oldest if it is full."""
    window = state.excess_ms.shape[1]
    index = state.taken[s] % window
    if state.taken[s] >= window:
        gone_ms = state.excess_ms[s, index]
        state.occurs[s, gone_ms] -= 1
        state.below[s] -= gone_ms < state.lag_ms[s]
    state.excess_ms[s, index] = excess_ms
    state.occurs[s, excess_ms] += 1
    state.below[s] += excess_ms < state.lag_ms[s]
    state.taken[s] += 1


@kernel
def _move_quantile(state, s, wanted):
    """Set the quantile to the smallest ms value that at least `wanted` packets do not exceed."""
    while state.below[s] >= wanted:
        state.lag_ms[s] -= 1
        state.below[s] -= state.occurs[s, state.lag_ms[s]]
    while state.below[s] + state.occurs[s, state.lag_ms[s]] < wanted:
        state.below[s] += state.occurs[s, state.lag_ms[s]]
        state.lag_ms[s] += 1
