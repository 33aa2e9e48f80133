"""Sliding-window Thompson sampling (Trovo, Paladino, Restelli, Gatti, JAIR 68, 2020) with Gaussian beliefs, on a prior from history.

Only the last `window` packets and probes fed back, over all paths, count. With N of them on a path, X the sum of their one-way delays, and
h, sd the path's historical mean and deviation,

    draw ~ N( (w h + X) / (w + N),  sd^2 / (w + N) ),   choose the path with the smallest draw

So without feedback in the window the belief about a path returns to its history, weighted as w packets. (The paper's prior is flat.) h and
sd are as in `discounted_thompson.py`. Delays are summed in whole microseconds, so removal from the window is exact.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.path.draws import draw_below
from vcgym.baselines.path.history import imputed_means, imputed_variances
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.rng import POLICY, stream_key
from vcgym.network.kernels.slots import slot_at


@record
class Call:
    taken: int = 0  # number of records so far
    key: np.uint64 = np.uint64(0)


@record
class Arm:
    usual_ms: float = 0.0  # h
    usual_sd_ms: float = 0.0
    received: int = 0  # N
    sum_us: int = 0  # X
    mean_ms: float = 0.0  # mean of a draw
    sd_ms: float = 0.0  # standard deviation of a draw


@record
class Received:
    """Record in the window."""

    path: np.int32 = np.int32(0)
    delay_us: int = 0


@rule(Control.PATH, call=Call, arms=Rows(Arm), ring=Rows(Received, lambda params, paths: params.window))
class SlidingThompson(NamedTuple):
    window: Annotated[int, (1, 1_000_000)] = 500
    prior_packets: Annotated[float, (1e-6, 1e6)] = 10.0  # w
    variance_floor_ms2: Annotated[float, (1e-9, 1e9)] = 1.0

    def init(self, call, arms, ring, start, key):
        mean_ms, variance_ms2 = imputed_means(start), imputed_variances(start, self.variance_floor_ms2)
        for path in range(arms.size):
            arms[path].usual_ms = mean_ms[path]
            arms[path].usual_sd_ms = math.sqrt(variance_ms2[path])
            _update_posterior(self, arms[path])
        call.key = stream_key(key, 0, POLICY)

    def update(self, call, arms, ring, record):
        received = ring[call.taken % ring.size]
        if call.taken >= ring.size:
            gone = arms[received.path]
            gone.received -= 1
            gone.sum_us -= received.delay_us
            _update_posterior(self, gone)
        received.path = record.path
        received.delay_us = record.arrived_us - record.sent_us
        arm = arms[record.path]
        arm.received += 1
        arm.sum_us += received.delay_us
        _update_posterior(self, arm)
        call.taken += 1

    def decide(self, call, arms, ring, now_us):
        slot = slot_at(now_us)
        best, best_ms = np.int64(0), math.inf
        for path in range(arms.size):
            draw_ms = draw_below(best_ms, arms[path].mean_ms, arms[path].sd_ms, call.key, slot * arms.size + path)
            if draw_ms < best_ms:
                best, best_ms = np.int64(path), draw_ms
        return best


@kernel
def _update_posterior(params, arm):
    """Set the mean and standard deviation of a path's draws from its packets in the window."""
    known = params.prior_packets + arm.received
    arm.mean_ms = (params.prior_packets * arm.usual_ms + arm.sum_us / 1000.0) / known
    arm.sd_ms = arm.usual_sd_ms / math.sqrt(known)
