"""BF exactly as in its published code: the target of `buffer_target.py` with the published count buffer.

That buffer emits before it inserts and discards nothing on arrival; a packet emitted behind a newer one counts as lost
(`vcgym.network.playout.receiver`). Its steady-state wait is one packet longer than the target.
"""

from typing import NamedTuple

from vcgym.baselines.playout.buffer_target import NetEqTarget
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.playout.receiver import PUBLISHED


@rule(Control.PLAYOUT, buffer=PUBLISHED)
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
