"""A learned scheduler: linear scores of each queued packet, without a rule of priority or expiry in them.

With left = (expiry - now) / 100 ms of a packet, trip = the sender's round trip / 100 ms, and alone = 1 if no other packet waits:

    rank  = rank weights . (audio, left, audio x left)
    waste = waste weights . (1, audio, left, audio x left, trip, alone)

The packet of the highest rank leaves, the oldest of equals; it is discarded instead if its waste is above 0. Of a full queue and the new
packet, the one of the lowest rank is rejected, the newest of equals. With weights of 0 this is first in, first out.

Our own formulation; `lab.learners.order_search` finds the weights.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.policy import require_numbers
from vcgym.baselines.order.scheduler import REJECT, drop
from vcgym.baselines.rule import Control, rule
from vcgym.network.bottleneck.send_queue import item_at
from vcgym.network.kernels.jit import kernel

RANK, WASTE = 3, 6  # numbers of weights
NUMBERS = RANK + WASTE
_UNIT_US = 100_000.0


@rule(Control.ORDER, learns=False, learned=True)
class LearnedOrder(NamedTuple):
    """Parameters."""

    weights: NDArray[np.float64]  # (NUMBERS,): `RANK` of the rank, then `WASTE` of the waste

    def check(self):
        require_numbers("weights", self.weights, NUMBERS)

    def choose(self, queue, now_us, rtt_us):
        best, best_rank = 0, -np.inf
        for i in range(queue.waiting):
            item = item_at(queue, i)
            rank = _rank(self, item.kind, item.expires_us, now_us)
            if rank > best_rank:
                best, best_rank = i, rank
        item, weights = item_at(queue, best), self.weights[RANK:]
        waste = weights[0] + _linear(weights[1:], item.kind, (item.expires_us - now_us) / _UNIT_US)
        waste += weights[4] * rtt_us / _UNIT_US + weights[5] * (queue.waiting == 1)
        return drop(best) if waste > 0.0 else best

    def choose_victim(self, queue, kind, expires_us, now_us, rtt_us):
        victim, lowest = REJECT, _rank(self, kind, expires_us, now_us)
        for i in range(queue.waiting - 1, -1, -1):
            item = item_at(queue, i)
            rank = _rank(self, item.kind, item.expires_us, now_us)
            if rank < lowest:
                victim, lowest = i, rank
        return victim


@kernel
def _linear(weights, kind, left):
    """Return weights . (audio, left, audio x left)."""
    return weights[0] * kind + weights[1] * left + weights[2] * kind * left


@kernel
def _rank(params, kind, expires_us, now_us):
    return _linear(params.weights, kind, (expires_us - now_us) / _UNIT_US)
