"""Effects of an agent's decisions at a sender: requests next to the rate, and the schedulers between which it changes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import CONTROLS, Control, OneOf
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.order.sbpn import Discard, Sbpn
from vcgym.baselines.order.scheduler import choose, choose_victim
from vcgym.baselines.rule import NEVER_US, allocate, init, report_every_us, wake_us

_ORDER = CONTROLS[Control.ORDER].decision
assert isinstance(_ORDER, OneOf)
ORDERS = _ORDER.names


class Requests(NamedTuple):
    """Effect: next to the rate an agent requests the interval between receiver reports, and a decision without a report."""


class PacketChoice(NamedTuple):
    """Effect: an agent chooses the packet to send at each transmission opportunity; scheduler `overflow` the victim of a full queue."""

    overflow: Any = Fifo()


class Schedulers(NamedTuple):
    """Effect: commands to the sender select the active scheduler; the fields are `ORDERS`."""

    fifo: Any = Fifo()
    sbpn2: Any = Sbpn()
    audio_first: Any = Sbpn(discard=Discard.WHEN_FULL)


class Asked(NamedTuple):
    """Requests of an agent; first axis: session."""

    every_us: NDArray[np.int64]  # interval between receiver reports; 0: the call's default
    wake_us: NDArray[np.int64]  # time of a decision without a report


@allocate.register(Requests)
def _allocate(params, sessions, paths):
    return Asked(np.zeros(sessions, np.int64), np.full(sessions, NEVER_US))


@init.register(Requests)
def _init(params, state, s, start, key):
    state.every_us[s], state.wake_us[s] = 0, NEVER_US


@report_every_us.register(Requests)
def _report_every_us(params, state, s, default_us):
    return state.every_us[s] if state.every_us[s] > 0 else default_us


@wake_us.register(Requests)
def _wake_us(params, state, s):
    return state.wake_us[s]


@choose.register(PacketChoice)
def _choose(params, queue, now_us, rtt_us):
    return 0


@choose_victim.register(PacketChoice)
def _choose_victim(params, queue, kind, expires_us, now_us, rtt_us):
    return choose_victim(params.overflow, queue, kind, expires_us, now_us, rtt_us)


@choose.register(Schedulers)
def _choose_selected(params, queue, now_us, rtt_us):
    if queue.governs == 0:
        return choose(params.fifo, queue, now_us, rtt_us)
    if queue.governs == 1:
        return choose(params.sbpn2, queue, now_us, rtt_us)
    return choose(params.audio_first, queue, now_us, rtt_us)


@choose_victim.register(Schedulers)
def _choose_victim_of_selected(params, queue, kind, expires_us, now_us, rtt_us):
    if queue.governs == 0:
        return choose_victim(params.fifo, queue, kind, expires_us, now_us, rtt_us)
    if queue.governs == 1:
        return choose_victim(params.sbpn2, queue, kind, expires_us, now_us, rtt_us)
    return choose_victim(params.audio_first, queue, kind, expires_us, now_us, rtt_us)
