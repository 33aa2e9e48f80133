"""A learned send order: SBPN2, but learned weights decide how much time a video packet must have left.

At a transmission opportunity the packet that SBPN would send is considered (`vcgym.baselines.order.sbpn`), and audio is sent or dropped as
in SBPN2. Video is dropped if it has less than `margin` half round trips left; SBPN2 has 1, and 0 for the only packet in the queue. With
trip = the smoothed round trip / 100 ms, left = (expiry - now) / 100 ms, and alone = 1 if no other packet waits,

    margin = 4 sigmoid(weights . (1, trip, left, alone, queued packets / 32))

A full queue drops the worst packet. Our own design, after the action of SendOrder-v1; `vcgym.agents.inside` trains the weights by the
reward of calls alone.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.order.sbpn import Overflow, Sbpn, best_of
from vcgym.baselines.order.scheduler import choose, choose_victim, drop
from vcgym.baselines.rule import Control, allocate, for_kernels, rule
from vcgym.network.bottleneck.send_queue import VIDEO, item_at
from vcgym.network.kernels.jit import kernel

WIDTH = 5
MAX_MARGIN = 4.0
SBPN2: Sbpn = for_kernels(Sbpn(overflow=Overflow.EVICTS))
_UNIT_US = 100_000.0
_MANY = 32.0  # packets, the longest queue of the seed paper on SBPN


@rule(Control.ORDER, learns=False, learned=True)
class LearnedMargin(NamedTuple):
    """Parameters."""

    weights: NDArray[np.float32]  # (WIDTH,)


@allocate.register(LearnedMargin)
def _allocate(params, sessions, paths):
    if params.weights.shape != (WIDTH,) or not np.isfinite(params.weights).all():
        raise ValueError(f"weights = {params.weights}: allowed are {WIDTH} finite numbers")
    return ()


@choose.register(LearnedMargin)
def _choose(params, queue, now_us, rtt_us):
    best = best_of(SBPN2, queue, now_us)
    if item_at(queue, best).kind != VIDEO:
        return choose(SBPN2, queue, now_us, rtt_us)
    return by_margin(queue, best, now_us, rtt_us, weighed(params, observed(queue, best, now_us, rtt_us)))


@choose_victim.register(LearnedMargin)
def _choose_victim(params, queue, kind, expires_us, now_us, rtt_us):
    return choose_victim(SBPN2, queue, kind, expires_us, now_us, rtt_us)


@kernel
def observed(queue, best, now_us, rtt_us):
    """Return the features of a decision about a video packet, WIDTH times float32.

    Args:
        queue: record of SEND_QUEUE, not empty; read only.
        best: int64, index of the packet.
        now_us: int64, current time.
        rtt_us: int64, smoothed round trip, 0 before the first report.
    """
    left = (item_at(queue, best).expires_us - now_us) / _UNIT_US
    alone, many = 1.0 if queue.waiting == 1 else 0.0, queue.waiting / _MANY
    return np.float32(1.0), np.float32(rtt_us / _UNIT_US), np.float32(left), np.float32(alone), np.float32(many)


@kernel
def weighed(params, x):
    """Return the weighted sum of features, float32."""
    out = np.float32(0.0)
    for i in range(WIDTH):
        out += params.weights[i] * x[i]
    return out


@kernel
def by_margin(queue, best, now_us, rtt_us, out):
    """Return the decision about a video packet: its index, or `drop` of it.

    Args:
        queue: record of SEND_QUEUE, not empty; read only.
        best: int64, index of the packet.
        now_us: int64, current time.
        rtt_us: int64, smoothed round trip, 0 before the first report.
        out: float32, weighted sum of its features.
    """
    margin = MAX_MARGIN / (1.0 + math.exp(-out))
    return drop(best) if item_at(queue, best).expires_us - now_us < margin * SBPN2.way * rtt_us else best
