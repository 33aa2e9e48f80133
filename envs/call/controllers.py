"""Stand-ins for an agent that sets a control of the call from outside the loop.

Inside, a control is set by a rule's parameters (`vcgym.baselines`). The classes here are rules that do nothing, so that the compiled loop
treats every control alike and asks `decided` where a decision comes from, and `level_at` what a decision about the level stands for.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rule import Control, Decided, allocate, decide, init, rule
from vcgym.network.kernels.generic import generic
from vcgym.network.playout.receiver import PUBLISHED


@rule(Control.PATH, learns=False, decided=Decided.OUTSIDE)
class Agent(NamedTuple):
    """The path is chosen outside, every `interval` packets sent."""

    interval: int = 1


@rule(Control.LAG, learns=False, decided=Decided.OUTSIDE)
class LagAgent(NamedTuple):
    """The watermark's lag is chosen outside, at each arrival."""


@rule(Control.TARGET, learns=False, decided=Decided.OUTSIDE)
class CountAgent(NamedTuple):
    """The target of a count buffer is chosen outside, at each arrival."""


@rule(Control.TARGET, learns=False, buffer=PUBLISHED, decided=Decided.OUTSIDE)
class PublishedAgent(NamedTuple):
    """The target of a published count buffer is chosen outside, at each arrival."""


@rule(Control.LAG, learns=False, decided=Decided.COMMANDED)
class Commanded(NamedTuple):
    """The watermark's lag follows commands that come with the router's decisions (the joint env, whose agent sits elsewhere)."""


@generic()
def level_at(params: Any, state: Any, s: int, record: Any, decided_us: int) -> int:
    """Return the level that a decision stands for when the packet of `record` arrives; by default the decision itself."""
    return decided_us


class Nothing(NamedTuple):
    """State of a stand-in, which remembers nothing."""

    rows: NDArray[np.int8]


@allocate.register(Agent, LagAgent, CountAgent, PublishedAgent, Commanded)
def _allocate(params, sessions, paths):
    return Nothing(np.zeros(sessions, np.int8))


@init.register(Agent, LagAgent, CountAgent, PublishedAgent, Commanded)
def _init(params, state, s, start, key):
    pass


@decide.register(Agent, LagAgent, CountAgent, PublishedAgent, Commanded)
def _decide(params, state, s, now_us):
    return 0
