"""BF as its code has it throughout: the target of `buffer_target.py`, held by the published count buffer.

That buffer lets go before it takes in and discards nothing on arrival; what comes out behind a newer packet is counted as lost afterwards
(`vcgym.network.playout.receiver`). Its steady wait is a packet longer than the target.
"""

from typing import NamedTuple

from vcgym.baselines.mechanism import holds
from vcgym.baselines.receivers.buffer_target import NetEqTarget
from vcgym.baselines.rule import allocate, decide, implements, init, update
from vcgym.network.playout.receiver import PUBLISHED


class PublishedBuffer(NamedTuple):
    """Parameters."""

    target: NetEqTarget = NetEqTarget()


holds(PublishedBuffer, PUBLISHED)


@implements(allocate, PublishedBuffer)
def _allocate(params, sessions, paths):
    return allocate(params.target, sessions, paths)


@implements(init, PublishedBuffer)
def _init(params, state, s, history, key):
    init(params.target, state, s, history, key)


@implements(update, PublishedBuffer)
def _update(params, state, s, record):
    update(params.target, state, s, record)


@implements(decide, PublishedBuffer)
def _decide(params, state, s, slot):
    return decide(params.target, state, s, slot)
