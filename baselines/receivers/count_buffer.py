"""Fixed target: a count buffer of constant size, the textbook jitter buffer (Fig. 3 of arXiv 2310.05054)."""

from typing import NamedTuple

from vcgym.baselines.mechanism import holds, microseconds
from vcgym.baselines.rule import allocate, decide, implements, init, learns_nothing
from vcgym.network.kernels.ranges import require_within
from vcgym.network.playout.receiver import COUNT


class CountTarget(NamedTuple):
    """Parameters."""

    target_ms: float


class CountTargetState(NamedTuple):
    """Nothing is remembered."""


holds(CountTarget, COUNT)
learns_nothing(CountTarget)


@implements(allocate, CountTarget)
def _allocate(params, sessions, paths):
    require_within(params, target_ms=(0.0, 1e4))
    return CountTargetState()


@implements(init, CountTarget)
def _init(params, state, s, history, key):
    pass


@implements(decide, CountTarget)
def _decide(params, state, s, slot):
    return microseconds(params.target_ms)
