"""Fixed lag: a watermark that stays the same time behind the newest packet."""

from typing import NamedTuple

from vcgym.baselines.mechanism import holds, microseconds
from vcgym.baselines.rule import allocate, decide, implements, init, learns_nothing
from vcgym.network.kernels.ranges import require_within
from vcgym.network.playout.receiver import WATERMARK


class FixedLag(NamedTuple):
    """Parameters."""

    lag_ms: float


class FixedLagState(NamedTuple):
    """Nothing is remembered."""


holds(FixedLag, WATERMARK)
learns_nothing(FixedLag)


@implements(allocate, FixedLag)
def _allocate(params, sessions, paths):
    require_within(params, lag_ms=(0.0, 1e4))
    return FixedLagState()


@implements(init, FixedLag)
def _init(params, state, s, history, key):
    pass


@implements(decide, FixedLag)
def _decide(params, state, s, slot):
    return microseconds(params.lag_ms)
