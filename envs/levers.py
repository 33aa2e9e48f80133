"""Who holds a lever of the call: a named rule inside the loop, or an agent outside it.

Inside, a lever is a rule's parameters (`vcgym.baselines`). The two holders here stand for an agent; both are rules that do nothing, so that the
compiled loop treats every lever alike and asks `holder` where a decision comes from.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import NDArray

from vcgym.baselines import rule
from vcgym.baselines.mechanism import mechanism
from vcgym.network.receiver import WATERMARK

INSIDE, OUTSIDE, COMMANDED = 0, 1, 2


class Agent(NamedTuple):
    """The lever is held outside and asked at its place every `interval` of its native clock (Relay: packets sent; Playout: arrivals)."""

    interval: int


class Commanded(NamedTuple):
    """The receiver's lever follows commands that come with the router's decisions (the joint env, whose agent sits elsewhere)."""

    mechanism: int = WATERMARK


class Nothing(NamedTuple):
    """State of a holder that remembers nothing."""

    rows: NDArray[np.int8]


def holder(lever: Any) -> int:
    """INSIDE for a rule, OUTSIDE for `Agent`, COMMANDED for `Commanded`."""
    return {Agent: OUTSIDE, Commanded: COMMANDED}.get(type(lever), INSIDE)


@overload(holder)
def _holder(lever):
    if isinstance(lever, types.BaseNamedTuple) and lever.instance_class is Agent:
        return lambda lever: OUTSIDE
    if isinstance(lever, types.BaseNamedTuple) and lever.instance_class is Commanded:
        return lambda lever: COMMANDED
    return lambda lever: INSIDE


for _class in (Agent, Commanded):

    @rule.implements(rule.allocate, _class)
    def allocate(params, sessions, paths):
        return Nothing(np.zeros(sessions, np.int8))

    @rule.implements(rule.init, _class)
    def init(params, state, s, history, key):
        pass

    @rule.implements(rule.update, _class)
    def update(params, state, s, record):
        pass

    @rule.implements(rule.decide, _class)
    def decide(params, state, s, slot):
        return 0
