"""Placeholders for agents that set a control of the call from outside the loop.

Inside the loop a rule (`vcgym.baselines`) sets a control. The classes here are rules that do nothing, so that the compiled loop treats all
controls alike: `decided` gives the origin of a decision, and `level_at` converts a receiver's decision to a level.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rule import Control, Decided, allocate, decide, init, rule
from vcgym.network.kernels.generic import generic
from vcgym.network.playout.receiver import PUBLISHED


@rule(Control.PATH, learns=False, decided=Decided.OUTSIDE)
class Agent(NamedTuple):
    """Agent that chooses the path, every `interval` packets sent."""

    interval: int = 1


@rule(Control.LAG, learns=False, decided=Decided.OUTSIDE)
class LagAgent(NamedTuple):
    """Agent that chooses the watermark's lag, at each arrival."""


@rule(Control.TARGET, learns=False, decided=Decided.OUTSIDE)
class CountAgent(NamedTuple):
    """Agent that chooses the target of a count buffer, at each arrival."""


@rule(Control.TARGET, learns=False, buffer=PUBLISHED, decided=Decided.OUTSIDE)
class PublishedAgent(NamedTuple):
    """Agent that chooses the target of a published count buffer, at each arrival."""


@rule(Control.LAG, learns=False, decided=Decided.COMMANDED)
class Commanded(NamedTuple):
    """Remote agent whose commands, sent with the router's decisions, set the watermark's lag (the joint env)."""


@generic()
def level_at(params: Any, state: Any, s: int, record: Any, decided_us: int) -> int:
    """Return the level that follows from a decision when the packet of `record` arrives; by default the decision itself.

    Args:
        params: the controller.
        state: its state; row `s` may be updated.
        s: int64, session.
        record: `Record` of the packet that has just arrived.
        decided_us: int64, decision of the agent: lag or target, at least 0.
    """
    return decided_us


class Nothing(NamedTuple):
    """Empty state of a placeholder."""

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
