"""Who holds the levers of rate and order: a rule inside the loop, or an agent outside it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines import rule
from vcgym.baselines.order_rule import choose, make_room, orders
from vcgym.baselines.rate_rule import NEVER_US, report_every_us, times, wake_us
from vcgym.baselines.schedulers.fifo import Fifo
from vcgym.baselines.schedulers.sbpn import WHEN_FULL, Sbpn
from vcgym.network.kernels.by_type import constant_by_type


class RateAgent(NamedTuple):
    """The rate is decided outside: at set-up, after each report, and when the agent wanted to be asked again."""


class OrderAgent(NamedTuple):
    """What leaves is decided outside, at each chance to send. What gives way in a full queue is decided by the rule `overflow`."""

    overflow: Any = Fifo()


class RateCommanded(NamedTuple):
    """The target follows commands that are on their way to the sender (vcgym.envs.call.sender.uplink)."""


class OrderCommanded(NamedTuple):
    """One of several rules of order governs, by commands that are on their way to the sender; ORDERS names them."""

    fifo: Any = Fifo()
    sbpn2: Any = Sbpn()
    audio_first: Any = Sbpn(discard=WHEN_FULL)


ORDERS = OrderCommanded._fields


class Asked(NamedTuple):
    """What a rate agent said besides the rate; first axis the session."""

    every_us: NDArray[np.int64]  # how long the receiver collects; 0: as usual in the call
    wake_us: NDArray[np.int64]  # when it wants to be asked though no report has come


# Whether a lever is held outside, by the class of its parameters.
outside = constant_by_type(lambda lever: lever in (RateAgent, OrderAgent))
# Whether it follows commands.
commanded = constant_by_type(lambda lever: lever in (RateCommanded, OrderCommanded))


@rule.implements(rule.allocate, RateAgent)
def _allocate(params, sessions, paths):
    return Asked(np.zeros(sessions, np.int64), np.full(sessions, NEVER_US))


@rule.implements(rule.init, RateAgent)
def _init(params, state, s, history, key):
    state.every_us[s], state.wake_us[s] = 0, NEVER_US


@rule.implements(rule.allocate, RateCommanded)
def _allocate_nothing(params, sessions, paths):
    return Asked(np.zeros(0, np.int64), np.zeros(0, np.int64))


@rule.implements(rule.init, RateCommanded)
def _init_nothing(params, state, s, history, key):
    pass


for _class in (RateAgent, RateCommanded):

    @rule.implements(rule.update, _class)
    def _update(params, state, s, record):
        pass

    @rule.implements(rule.decide, _class)
    def _decide(params, state, s, slot):
        return 0


@times(report_every_us, RateAgent)
def _report_every_us(params, state, s, usual_us):
    return state.every_us[s] if state.every_us[s] > 0 else usual_us


@times(wake_us, RateAgent)
def _wake_us(params, state, s):
    return state.wake_us[s]


@orders(choose, OrderAgent)
def _choose(params, queue, now_us, rtt_us):
    return 0


@orders(make_room, OrderAgent)
def _make_room(params, queue, kind, expires_us, now_us, rtt_us):
    return make_room(params.overflow, queue, kind, expires_us, now_us, rtt_us)


@orders(choose, OrderCommanded)
def _choose_commanded(params, queue, now_us, rtt_us):
    if queue.governs == 0:
        return choose(params.fifo, queue, now_us, rtt_us)
    if queue.governs == 1:
        return choose(params.sbpn2, queue, now_us, rtt_us)
    return choose(params.audio_first, queue, now_us, rtt_us)


@orders(make_room, OrderCommanded)
def _make_room_commanded(params, queue, kind, expires_us, now_us, rtt_us):
    if queue.governs == 0:
        return make_room(params.fifo, queue, kind, expires_us, now_us, rtt_us)
    if queue.governs == 1:
        return make_room(params.sbpn2, queue, kind, expires_us, now_us, rtt_us)
    return make_room(params.audio_first, queue, kind, expires_us, now_us, rtt_us)
