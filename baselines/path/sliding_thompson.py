"""Sliding-window Thompson sampling (Trovo, Paladino, Restelli, Gatti, JAIR 68, 2020) with Gaussian beliefs, on a prior from history.

Only the last `window` packets and probes fed back, over all paths, count. With N of them on a path, X the sum of their one-way delays, and
h, sd the path's historical mean and deviation,

    draw ~ N( (w h + X) / (w + N),  sd^2 / (w + N) ),   choose the path with the smallest draw

So without feedback in the window the belief about a path returns to its history, weighted as w packets. (The paper's prior is flat.) h and
sd are as in `discounted_thompson.py`. Delays are summed in whole microseconds, so removal from the window is exact.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.path.draws import draw_below
from vcgym.baselines.path.history import imputed_means, imputed_variances
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.rng import POLICY, stream_key
from vcgym.network.kernels.slots import slot_at


@rule(Control.PATH)
class SlidingThompson(NamedTuple):
    """Parameters."""

    window: int = 500
    prior_packets: float = 10.0  # w
    variance_floor_ms2: float = 1.0


CALL = np.dtype((np.record, [("taken", "i8"), ("key", "u8")]))  # taken: number of feedback items so far
HEARD = np.dtype((np.record, [("path", "i4"), ("delay_us", "i8")]))
ARM = np.dtype(
    (
        np.record,
        [
            ("usual_ms", "f8"),  # h
            ("usual_sd_ms", "f8"),
            ("received", "i8"),  # N
            ("sum_us", "i8"),  # X
            ("mean_ms", "f8"),  # mean of a draw
            ("sd_ms", "f8"),  # standard deviation of a draw
        ],
    )
)


class SlidingThompsonState(NamedTuple):
    """State; first axis: session."""

    call: np.recarray  # (sessions,) of CALL
    arm: np.recarray  # (sessions, paths) of ARM
    window: np.recarray  # (sessions, window) of HEARD, a ring


@allocate.register(SlidingThompson)
def _allocate(params, sessions, paths):
    require_within(params, window=(1, 1_000_000), prior_packets=(1e-6, 1e6), variance_floor_ms2=(1e-9, 1e9))
    return SlidingThompsonState(
        np.zeros(sessions, CALL).view(np.recarray),
        np.zeros((sessions, paths), ARM).view(np.recarray),
        np.zeros((sessions, params.window), HEARD).view(np.recarray),
    )


@init.register(SlidingThompson)
def _init(params, state, s, start, key):
    mean_ms, variance_ms2 = imputed_means(start), imputed_variances(start, params.variance_floor_ms2)
    for path in range(start.mean_ms.size):
        arm = state.arm[s, path]
        arm.usual_ms = mean_ms[path]
        arm.usual_sd_ms = math.sqrt(variance_ms2[path])
        arm.received = 0
        arm.sum_us = 0
        update_posterior(params, arm)
    state.call[s].taken = 0
    state.call[s].key = stream_key(key, 0, POLICY)


@update.register(SlidingThompson)
def _update(params, state, s, record):
    window = state.window.shape[1]
    received = state.window[s, state.call[s].taken % window]
    if state.call[s].taken >= window:
        gone = state.arm[s, received.path]
        gone.received -= 1
        gone.sum_us -= received.delay_us
        update_posterior(params, gone)
    received.path = record.path
    received.delay_us = record.arrived_us - record.sent_us
    arm = state.arm[s, record.path]
    arm.received += 1
    arm.sum_us += received.delay_us
    update_posterior(params, arm)
    state.call[s].taken += 1


@decide.register(SlidingThompson)
def _decide(params, state, s, now_us):
    slot, paths = slot_at(now_us), state.arm.shape[1]
    key = state.call[s].key
    best, best_ms = np.int64(0), math.inf
    for path in range(paths):
        arm = state.arm[s, path]
        draw_ms = draw_below(best_ms, arm.mean_ms, arm.sd_ms, key, slot * paths + path)
        if draw_ms < best_ms:
            best, best_ms = np.int64(path), draw_ms
    return best


@kernel
def update_posterior(params, arm):
    """Set the mean and standard deviation of a path's draws from its packets in the window."""
    known = params.prior_packets + arm.received
    arm.mean_ms = (params.prior_packets * arm.usual_ms + arm.sum_us / 1000.0) / known
    arm.sd_ms = arm.usual_sd_ms / math.sqrt(known)
