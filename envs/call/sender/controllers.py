"""Placeholders for agents that set the rate or the order of sending from outside the loop."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rule import NEVER_US, Control, Decided, allocate, decide, init, report_every_us, rule, wake_us
from vcgym.baselines.schedulers.fifo import Fifo
from vcgym.baselines.schedulers.sbpn import Discard, Sbpn
from vcgym.baselines.schedulers.scheduler import choose, choose_victim


@rule(Control.RATE, learns=False, decided=Decided.OUTSIDE)
class RateAgent(NamedTuple):
    """Agent that chooses the rate: at set-up, after each report, and at the times it requested."""


@rule(Control.ORDER, learns=False, decided=Decided.OUTSIDE)
class OrderAgent(NamedTuple):
    """Agent that chooses the packet to send at each transmission opportunity; scheduler `overflow` chooses the victim of a full queue."""

    overflow: Any = Fifo()


@rule(Control.RATE, learns=False, decided=Decided.COMMANDED)
class RateCommanded(NamedTuple):
    """Remote agent whose commands to the sender set the target (vcgym.envs.call.sender.uplink)."""


@rule(Control.ORDER, learns=False, decided=Decided.COMMANDED)
class OrderCommanded(NamedTuple):
    """Remote agent whose commands to the sender select the active scheduler; ORDERS names the schedulers."""

    fifo: Any = Fifo()
    sbpn2: Any = Sbpn()
    audio_first: Any = Sbpn(discard=Discard.WHEN_FULL)


ORDERS = OrderCommanded._fields


class Asked(NamedTuple):
    """Requests of a rate agent besides the rate; first axis: session."""

    every_us: NDArray[np.int64]  # interval between receiver reports; 0: the call's default
    wake_us: NDArray[np.int64]  # time of a decision without a report


@allocate.register(RateAgent)
def _allocate(params, sessions, paths):
    return Asked(np.zeros(sessions, np.int64), np.full(sessions, NEVER_US))


@init.register(RateAgent)
def _init(params, state, s, start, key):
    state.every_us[s], state.wake_us[s] = 0, NEVER_US


@allocate.register(RateCommanded)
def _allocate_nothing(params, sessions, paths):
    return Asked(np.zeros(0, np.int64), np.zeros(0, np.int64))


@init.register(RateCommanded)
def _init_nothing(params, state, s, start, key):
    pass


@decide.register(RateAgent, RateCommanded)
def _decide(params, state, s, now_us):
    return 0


@report_every_us.register(RateAgent)
def _report_every_us(params, state, s, default_us):
    return state.every_us[s] if state.every_us[s] > 0 else default_us


@wake_us.register(RateAgent)
def _wake_us(params, state, s):
    return state.wake_us[s]


@choose.register(OrderAgent)
def _choose(params, queue, now_us, rtt_us):
    return 0


@choose_victim.register(OrderAgent)
def _choose_victim(params, queue, kind, expires_us, now_us, rtt_us):
    return choose_victim(params.overflow, queue, kind, expires_us, now_us, rtt_us)


@choose.register(OrderCommanded)
def _choose_commanded(params, queue, now_us, rtt_us):
    if queue.governs == 0:
        return choose(params.fifo, queue, now_us, rtt_us)
    if queue.governs == 1:
        return choose(params.sbpn2, queue, now_us, rtt_us)
    return choose(params.audio_first, queue, now_us, rtt_us)


@choose_victim.register(OrderCommanded)
def _choose_victim_commanded(params, queue, kind, expires_us, now_us, rtt_us):
    if queue.governs == 0:
        return choose_victim(params.fifo, queue, kind, expires_us, now_us, rtt_us)
    if queue.governs == 1:
        return choose_victim(params.sbpn2, queue, kind, expires_us, now_us, rtt_us)
    return choose_victim(params.audio_first, queue, kind, expires_us, now_us, rtt_us)
