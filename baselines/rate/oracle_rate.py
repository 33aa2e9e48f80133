"""An oracle: told the mean capacity of the bottleneck over the next moments each tenth of a second. No sender knows it; never ranked.

It asks for that capacity less what drains its own backlog: what it captured and the capacity since has not carried. With a horizon of 0 it
is told the present, as the mean of the last tenth.

It is told capacities only, which do not depend on what is sent. It knows neither the other flows, which react to it, nor the queue, nor
loss and outages of the last hop. So against a TCP flow it uses the whole capacity, and shares only through drops in the queue. It is not
an upper bound for rules: a rule that detects a competitor may do better.

Horizon and time to drain were chosen on training worlds of scenario rate (lab/notes/headroom.md).
"""

from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, record, rule, see_capacity
from vcgym.network.bottleneck.capacity.capacity import capacity_between_bps

_EVERY_US = 100_000  # an encoder reacts no faster (RFC 8867, reaction time)


@record
class Told:
    """Capacity that was told last, and when; the sender's own bits that it has not carried yet."""

    capacity_bps: float = 0.0
    at_us: int = -_EVERY_US
    captured_bytes: int = 0  # so far, sent or waiting
    carried_bits: float = 0.0  # since the decision before
    backlog_bits: float = 0.0


@rule(Control.RATE, learns=False, oracle=True, told=Told)
class OracleRate(NamedTuple):
    """Parameters: the share of the capacity to use, the horizon, and the time in which a backlog is to drain."""

    share: Annotated[float, (0.01, 2.0)] = 1.0
    ahead_ms: Annotated[float, (0.0, 10_000.0)] = 100.0
    drain_ms: Annotated[float, (10.0, 1e6)] = 150.0

    def init(self, told, start, key):
        told.capacity_bps = start.start_bps

    def see_sender(self, told, status):
        captured = status.sent_bytes + status.waiting_bytes
        told.backlog_bits = max(0.0, told.backlog_bits + 8.0 * (captured - told.captured_bytes) - told.carried_bits)
        told.captured_bytes = captured

    def decide(self, told, now_us):
        return np.int64(max(0.0, self.share * told.capacity_bps - 1000.0 * told.backlog_bits / self.drain_ms))

    def wake_us(self, told):
        return told.at_us + _EVERY_US


@see_capacity.register(OracleRate)  # no method, since the row is the index of the bottleneck
def _see_capacity(params, state, s, capacity, now_us):
    told, ahead_us = state.told[s], np.int64(1000.0 * params.ahead_ms)
    before_us, told.at_us = max(told.at_us, 0), now_us
    told.carried_bits = capacity_between_bps(capacity, s, before_us, now_us) * (now_us - before_us) * 1e-6 if now_us > before_us else 0.0
    if ahead_us > 0:
        told.capacity_bps = capacity_between_bps(capacity, s, now_us, now_us + ahead_us)
    elif now_us > 0:
        told.capacity_bps = capacity_between_bps(capacity, s, max(now_us - _EVERY_US, 0), now_us)
