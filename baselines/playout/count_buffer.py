"""Fixed target: a count buffer of constant size, the textbook jitter buffer (Fig. 3 of arXiv 2310.05054)."""

from typing import NamedTuple

from vcgym.baselines.rule import Control, allocate, decide, init, rule
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds
from vcgym.network.playout.receiver import COUNT


@rule(Control.PLAYOUT, buffer=COUNT, learns=False)
class CountTarget(NamedTuple):
    """Parameters."""

    target_ms: float


class CountTargetState(NamedTuple):
    """Empty state."""


@allocate.register(CountTarget)
def _allocate(params, sessions, paths):
    require_within(params, target_ms=(0.0, 1e4))
    return CountTargetState()


@init.register(CountTarget)
def _init(params, state, s, start, key):
    pass


@decide.register(CountTarget)
def _decide(params, state, s, now_us):
    return microseconds(params.target_ms)
