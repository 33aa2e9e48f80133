"""An oracle: a share of what the bottleneck will carry in the next tenth of a second, asked as often. No sender knows it; never ranked.

It is told the capacity and nothing else. What other flows take of it, what waits in the queue, loss and outages of the last hop are not
its to know, so beside a TCP flow it asks for all and shares only by what the queue drops. It is no bound on what a rule can reach: a rule
that learns of a competitor, or that lets the queue drain after a fall, may do better.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, allocate, decide, init, rule, see_capacity, wake_us
from vcgym.network.bottleneck.capacity.capacity import capacity_between_bps
from vcgym.network.kernels.ranges import require_within

_AHEAD_US = 100_000  # how far it sees; an encoder follows no faster (RFC 8867, reaction time)


@rule(Control.RATE, learns=False, oracle=True)
class OracleRate(NamedTuple):
    """Parameters: the share of the capacity that is asked for."""

    share: float = 0.95


class OracleRateState(NamedTuple):
    """The first axis is the session."""

    seen_bps: np.ndarray  # (sessions,)
    seen_us: np.ndarray


@allocate.register(OracleRate)
def _allocate(params, sessions, paths):
    require_within(params, share=(0.01, 2.0))
    return OracleRateState(np.zeros(sessions), np.zeros(sessions, np.int64))


@init.register(OracleRate)
def _init(params, state, s, start, key):
    state.seen_bps[s], state.seen_us[s] = start.start_bps, -_AHEAD_US


@see_capacity.register(OracleRate)
def _see_capacity(params, state, s, capacity, now_us):
    state.seen_bps[s] = capacity_between_bps(capacity, s, now_us, now_us + _AHEAD_US)
    state.seen_us[s] = now_us


@decide.register(OracleRate)
def _decide(params, state, s, now_us):
    return np.int64(params.share * state.seen_bps[s])


@wake_us.register(OracleRate)
def _wake_us(params, state, s):
    return state.seen_us[s] + _AHEAD_US
