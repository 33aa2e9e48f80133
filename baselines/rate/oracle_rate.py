"""An oracle: a share of the bottleneck's capacity over the next tenth of a second, updated as often. No sender knows it; never ranked.

It knows the capacity only, not the other flows, the queue, or loss and outages of the last hop. So against a TCP flow it uses the whole
capacity, and shares only through drops in the queue. It is not an upper bound for rules: a rule that detects a competitor, or lets the
queue drain after a fall of the capacity, may do better.
"""

from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, record, rule, see_capacity
from vcgym.network.bottleneck.capacity.capacity import capacity_between_bps

_AHEAD_US = 100_000  # horizon; an encoder reacts no faster (RFC 8867, reaction time)


@record
class Seen:
    """Capacity that was seen last, and when."""

    capacity_bps: float = 0.0
    at_us: int = -_AHEAD_US


@rule(Control.RATE, learns=False, oracle=True, seen=Seen)
class OracleRate(NamedTuple):
    """Parameters: the share of the capacity to use."""

    share: Annotated[float, (0.01, 2.0)] = 0.95

    def init(self, seen, start, key):
        seen.capacity_bps = start.start_bps

    def decide(self, seen, now_us):
        return np.int64(self.share * seen.capacity_bps)

    def wake_us(self, seen):
        return seen.at_us + _AHEAD_US


@see_capacity.register(OracleRate)  # no method, since the row is the index of the bottleneck
def _see_capacity(params, state, s, capacity, now_us):
    seen = state.seen[s]
    seen.capacity_bps, seen.at_us = capacity_between_bps(capacity, s, now_us, now_us + _AHEAD_US), now_us
