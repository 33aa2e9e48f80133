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

from vcgym.agents.controllers.policy import place, require_numbers
from vcgym.baselines.order.sbpn import Overflow, Sbpn, best_of
from vcgym.baselines.order.scheduler import choose, choose_victim, drop
from vcgym.baselines.rule import Control, Rows, for_kernels, rule
from vcgym.network.bottleneck.send_queue import VIDEO, item_at
from vcgym.network.kernels.jit import kernel

WIDTH = 5
MAX_MARGIN = 4.0
SBPN2: Sbpn = for_kernels(Sbpn(overflow=Overflow.EVICTS))
_UNIT_US = 100_000.0
_MANY = 32.0  # packets, the longest queue of the seed paper on SBPN


@rule(Control.ORDER, learns=False, learned=True, x=Rows(np.float32, WIDTH))
class LearnedMargin(NamedTuple):
    """Parameters."""

    weights: NDArray[np.float32]  # (WIDTH,)

    def check(self):
        require_numbers("weights", self.weights, WIDTH)

    def choose(self, queue, now_us, rtt_us):
        best = best_of(SBPN2, queue, now_us)
        if item_at(queue, best).kind != VIDEO:
            return choose(SBPN2, queue, now_us, rtt_us)
        return place(self, queue, best, now_us, rtt_us, _weighed(self, _features(queue, best, now_us, rtt_us)))

    def choose_victim(self, queue, kind, expires_us, now_us, rtt_us):
        return choose_victim(SBPN2, queue, kind, expires_us, now_us, rtt_us)

    def consider(self, x, queue, now_us, rtt_us):
        best = best_of(SBPN2, queue, now_us)
        if item_at(queue, best).kind != VIDEO:
            return -1
        for i, value in enumerate(_features(queue, best, now_us, rtt_us)):
            x[i] = value
        return best

    def output(self, x):
        return _weighed(self, x)

    def place(self, queue, index, now_us, rtt_us, out):
        return drop(index) if item_at(queue, index).expires_us - now_us < _margin(out) * SBPN2.way * rtt_us else index


@kernel
def _margin(out):
    """Return the half round trips that a video packet must have left, for a weighted sum."""
    return MAX_MARGIN / (1.0 + math.exp(-out))


@kernel
def _features(queue, best, now_us, rtt_us):
    """Return the features of a decision about the video packet of index `best`, WIDTH times float32."""
    left = (item_at(queue, best).expires_us - now_us) / _UNIT_US
    alone, many = 1.0 if queue.waiting == 1 else 0.0, queue.waiting / _MANY
    return np.float32(1.0), np.float32(rtt_us / _UNIT_US), np.float32(left), np.float32(alone), np.float32(many)


@kernel
def _weighed(params, x):
    """Return the weighted sum of features, float32."""
    out = np.float32(0.0)
    for i in range(WIDTH):
        out += params.weights[i] * x[i]
    return out
