"""Who holds a lever of the call: a named rule inside the loop, or an agent outside it.

Inside, a lever is a rule's parameters (`vcgym.baselines`). The holders here stand for an agent; they are rules that do nothing, so that the
compiled loop treats every lever alike and asks `holder` where a decision comes from.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines import rule
from vcgym.baselines.mechanism import holds, mechanism
from vcgym.baselines.rate_rule import is_rate_rule
from vcgym.network.kernels.by_type import constant_by_type
from vcgym.network.playout.receiver import COUNT, PUBLISHED, WATERMARK

INSIDE, OUTSIDE, COMMANDED = 0, 1, 2


class Agent(NamedTuple):
    """The lever is held outside: a router's is asked every `interval` packets sent, a receiver's, a watermark's lag, at each arrival."""

    interval: int = 1


class CountAgent(NamedTuple):
    """The receiver's lever is held outside, asked at each arrival; its level is a count buffer's target."""

    interval: int = 1


class PublishedAgent(NamedTuple):
    """The receiver's lever is held outside, asked at each arrival; its level is a published count buffer's target."""

    interval: int = 1


class Commanded(NamedTuple):
    """The receiver's lag follows commands that come with the router's decisions (the joint env, whose agent sits elsewhere)."""

    interval: int = 1


class Nothing(NamedTuple):
    """State of a holder that remembers nothing."""

    rows: NDArray[np.int8]


_HOLDERS: dict[Any, int] = {Agent: OUTSIDE, CountAgent: OUTSIDE, PublishedAgent: OUTSIDE, Commanded: COMMANDED}


# INSIDE for a rule, OUTSIDE for an agent asked here, COMMANDED for one that sends commands; by the class of the parameters.
holder = constant_by_type(lambda lever_class: _HOLDERS.get(lever_class, INSIDE))


def require_rule(lever: str, params: Any) -> None:
    """Refuse what is not the parameters of a rule for that lever, router or receiver.

    Raises:
        ValueError: naming the lever, the value and what is allowed.
    """
    other = type(params) in _HOLDERS or is_rate_rule(type(params))
    if other or not _answers(rule.allocate, params, 1, 1) or _answers(mechanism, params) != (lever == "receiver"):
        raise ValueError(f"{lever} = {params!r}: allowed are parameters of a {lever} rule of vcgym.baselines")


def _answers(generic: Callable[..., Any], *arguments: Any) -> bool:
    try:
        generic(*arguments)
    except KeyError:
        return False
    return True


for _class in _HOLDERS:
    holds(_class, {CountAgent: COUNT, PublishedAgent: PUBLISHED}.get(_class, WATERMARK))

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
