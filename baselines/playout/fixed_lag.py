"""Fixed lag: a watermark at a constant distance behind the newest packet."""

from typing import NamedTuple

from vcgym.baselines.rule import Control, allocate, decide, init, rule
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds


@rule(Control.PLAYOUT, learns=False)
class FixedLag(NamedTuple):
    """Parameters."""

    lag_ms: float


class FixedLagState(NamedTuple):
    """Empty state."""


@allocate.register(FixedLag)
def _allocate(params, sessions, paths):
    require_within(params, lag_ms=(0.0, 1e4))
    return FixedLagState()


@init.register(FixedLag)
def _init(params, state, s, start, key):
    pass


@decide.register(FixedLag)
def _decide(params, state, s, now_us):
    return microseconds(params.lag_ms)
