"""An oracle: a share of the bottleneck's capacity over the next tenth of a second, updated as often. No sender knows it; never ranked.

It knows the capacity only, not the other flows, the queue, or loss and outages of the last hop. So against a TCP flow it uses the whole
capacity, and shares only through drops in the queue. It is not an upper bound for rules: a rule that detects a competitor, or lets the
queue drain after a fall of the capacity, may do better.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, allocate, decide, init, rule, see_capacity, wake_us
from vcgym.network.bottleneck.capacity.capacity import capacity_between_bps
from vcgym.network.kernels.ranges import require_within

_AHEAD_US = 100_000  # horizon; an encoder reacts no faster (RFC 8867, reaction time)


@rule(Control.RATE, learns=False, oracle=True)
class OracleRate(NamedTuple):
    """Parameters: the share of the capacity to use."""

    share: float = 0.95


class OracleRateState(NamedTuple):
    """State; first axis: session."""

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
