"""The same rate whatever the receiver reports."""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rate_rule import holds_rate
from vcgym.baselines.rule import allocate, decide, implements, init, update
from vcgym.network.kernels.ranges import require_within


class FixedRate(NamedTuple):
    """Parameters."""

    rate_kbps: float = 1000.0


class FixedRateState(NamedTuple):
    """Nothing is remembered."""

    rows: np.ndarray


holds_rate(FixedRate)


@implements(allocate, FixedRate)
def _allocate(params, sessions, paths):
    require_within(params, rate_kbps=(1.0, 1e6))
    return FixedRateState(np.zeros(sessions, np.int8))


@implements(init, FixedRate)
def _init(params, state, s, history, key):
    pass


@implements(update, FixedRate)
def _update(params, state, s, record):
    pass


@implements(decide, FixedRate)
def _decide(params, state, s, slot):
    return np.int64(params.rate_kbps * 1000.0)
