"""A constant target bitrate, independent of reports."""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, allocate, decide, init, rule
from vcgym.network.kernels.ranges import require_within


@rule(Control.RATE, learns=False)
class FixedRate(NamedTuple):
    """Parameters."""

    rate_kbps: float = 1000.0


class FixedRateState(NamedTuple):
    """Empty state."""

    rows: np.ndarray


@allocate.register(FixedRate)
def _allocate(params, sessions, paths):
    require_within(params, rate_kbps=(1.0, 1e6))
    return FixedRateState(np.zeros(sessions, np.int8))


@init.register(FixedRate)
def _init(params, state, s, start, key):
    pass


@decide.register(FixedRate)
def _decide(params, state, s, now_us):
    return np.int64(params.rate_kbps * 1000.0)
