"""BF as its code has it throughout: the target of `buffer_target.py`, realised by the published count buffer.

That buffer lets go before it takes in and discards nothing on arrival; what comes out behind a newer packet is counted as lost afterwards
(`vcgym.network.playout.receiver`). Its steady wait is a packet longer than the target.
"""

from typing import NamedTuple

from vcgym.baselines.receivers.buffer_target import NetEqTarget
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.playout.receiver import PUBLISHED


@rule(Control.TARGET, buffer=PUBLISHED)
class PublishedBuffer(NamedTuple):
    """Parameters."""

    target: NetEqTarget = NetEqTarget()


@allocate.register(PublishedBuffer)
def _allocate(params, sessions, paths):
    return allocate(params.target, sessions, paths)


@init.register(PublishedBuffer)
def _init(params, state, s, start, key):
    init(params.target, state, s, start, key)


@update.register(PublishedBuffer)
def _update(params, state, s, record):
    update(params.target, state, s, record)


@decide.register(PublishedBuffer)
def _decide(params, state, s, now_us):
    return decide(params.target, state, s, now_us)
