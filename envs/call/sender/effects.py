"""Effects of an agent's decisions at a sender: requests next to the rate, schedulers between which it changes, and relative actions.

A relative action is a small correction of what a published rule would do, so that every action is a sensible one.

Rate: the agent may set the queue that the target aims at (`vcgym.envs.call.sender.laws` has the other laws). With q the newest delay
above the running minimum, dq the change of the smoothed one since the report before, l the share of the newest report that is lost, and
`aim` the decision, at each report

    target *= exp(clip(0.075 (1 - q / aim) - 0.7 dq / aim - 2 l, -0.25, 0.3)),    at most the delivered rate while q > aim

A constant aim is a delay-based rule, like those of NADA (RFC 8698) and SCReAM (RFC 8298); both grow while the queue is short and yield to
losses. As in GCC (Carlucci et al. 2016), a queue that grows counts before it is long. The numbers are ours, chosen on training worlds
(lab/notes/defaults.md).

Order: SBPN2 (`vcgym.baselines.order.sbpn`) with a decision for video. A video packet is dropped if it has less than `margin` times half the
round trip left, where SBPN2 has 1, and, if `alone` is set, also while no other packet waits, where SBPN2 sends it. Audio as in SBPN2.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import CONTROLS, Control, OneOf
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.order.sbpn import Discard, Sbpn, best_of, is_expired
from vcgym.baselines.order.scheduler import choose, choose_victim, drop
from vcgym.baselines.rule import NEVER_US, allocate, init, report_every_us, wake_us
from vcgym.network.bottleneck.send_queue import AUDIO, item_at
from vcgym.network.kernels.jit import kernel

_ORDER = CONTROLS[Control.ORDER].decision
assert isinstance(_ORDER, OneOf)
ORDERS = _ORDER.names

MIN_AIM_MS, MAX_AIM_MS = 12.0, 60.0
GAIN, GROWTH, LOSS = 0.075, 0.7, 2.0  # of ln target per report
MOST_FALL, MOST_RISE = 0.25, 0.3
MIN_MARGIN, MAX_MARGIN = 1.0, 3.0
_SBPN2 = Sbpn()


class Requests(NamedTuple):
    """Effect: next to the rate an agent requests the interval between receiver reports, and a decision without a report."""


class PacketChoice(NamedTuple):
    """Effect: an agent chooses the packet to send at each transmission opportunity; scheduler `overflow` the victim of a full queue."""

    overflow: Any = Fifo()


class Schedulers(NamedTuple):
    """Schedulers of which the queue names the active one, that of a background call or of an agent's commands; the fields are `ORDERS`."""

    fifo: Any = Fifo()
    sbpn2: Any = Sbpn()
    audio_first: Any = Sbpn(discard=Discard.WHEN_FULL)


_FIFO, _SBPN2_ORDER, _AUDIO_FIRST = map(ORDERS.index, Schedulers._fields)  # the decisions


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
    if queue.governs == _FIFO:
        return choose(params.fifo, queue, now_us, rtt_us)
    if queue.governs == _SBPN2_ORDER:
        return choose(params.sbpn2, queue, now_us, rtt_us)
    return choose(params.audio_first, queue, now_us, rtt_us)


@choose_victim.register(Schedulers)
def _choose_victim_of_selected(params, queue, kind, expires_us, now_us, rtt_us):
    if queue.governs == _FIFO:
        return choose_victim(params.fifo, queue, kind, expires_us, now_us, rtt_us)
    if queue.governs == _SBPN2_ORDER:
        return choose_victim(params.sbpn2, queue, kind, expires_us, now_us, rtt_us)
    return choose_victim(params.audio_first, queue, kind, expires_us, now_us, rtt_us)


@kernel
def aimed_bps(stats, target_bps, aim_ms):
    """Return the target after a report, float64, not limited to the call's range; without a report, the target itself.

    `stats` (of FeedbackStats) is read; `aim_ms`, above 0, is the queueing delay at which the target aims.
    """
    if stats.reports == 0 or stats.newest_us < 0:
        return target_bps
    queue, grown_us = (stats.newest_us - stats.floor_us) / (1000.0 * aim_ms), 0.0
    if stats.reports > 1:
        grown_us = stats.queueing_us - stats.before_us
        if queue > 1.0:
            target_bps = min(target_bps, stats.rate_bps)
    lost = stats.lost / stats.packets if stats.packets > 0 else 0.0
    step = GAIN * (1.0 - queue) - GROWTH * grown_us / (1000.0 * aim_ms) - LOSS * lost
    return target_bps * math.exp(min(max(step, -MOST_FALL), MOST_RISE))


@kernel
def choose_by_margin(senders, which, margin, alone):
    """Set `answer_order` of each order agent in `which`, whose queue is not empty, to the packet to send or to drop.

    A video packet must have `margin`, float64 (sessions,), half round trips left; with `alone`, bool (sessions,), the only queued one too.
    """
    for s in which:
        sender = senders[s]
        if sender.queue.waiting == 0:
            continue
        rtt_us = int(sender.rtt_us)
        best = best_of(_SBPN2, sender.queue, sender.now_us)
        item, is_alone = item_at(sender.queue, best), sender.queue.waiting == 1
        if item.kind == AUDIO:
            is_late = is_expired(_SBPN2, item, sender.now_us, rtt_us) and not is_alone
        else:
            is_late = item.expires_us - sender.now_us < margin[s] * _SBPN2.way * rtt_us and (alone[s] or not is_alone)
        sender.answer_order = drop(best) if is_late else best
