"""Who holds the levers of rate and order: a rule inside the loop, or an agent outside it."""

from typing import NamedTuple

import numpy as np

from vcgym.baselines import rule
from vcgym.baselines.order_rule import REJECT, choose, make_room, orders
from vcgym.network.by_type import constant_by_type


class RateAgent(NamedTuple):
    """The rate is decided outside, after each report."""


class OrderAgent(NamedTuple):
    """What leaves is decided outside, at each chance to send; a full queue rejects what comes."""


class Nothing(NamedTuple):
    """State of a holder that remembers nothing."""

    rows: np.ndarray


# Whether a lever is held outside, by the class of its parameters.
outside = constant_by_type(lambda lever: lever in (RateAgent, OrderAgent))


@rule.implements(rule.allocate, RateAgent)
def _allocate(params, sessions, paths):
    return Nothing(np.zeros(sessions, np.int8))


@rule.implements(rule.init, RateAgent)
def _init(params, state, s, history, key):
    pass


@rule.implements(rule.update, RateAgent)
def _update(params, state, s, record):
    pass


@rule.implements(rule.decide, RateAgent)
def _decide(params, state, s, slot):
    return 0


@orders(choose, OrderAgent)
def _choose(params, queue, now_us, rtt_us):
    return 0


@orders(make_room, OrderAgent)
def _make_room(params, queue, kind, expires_us, now_us, rtt_us):
    return REJECT
