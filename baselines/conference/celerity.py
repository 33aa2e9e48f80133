"""Celerity: primal-dual control of the rate of each session on each overlay link (Chen et al., as in its sections 3 to 5).

Every 200 ms the receiver of each overlay link changes the rates of all sessions on it by the marginal utility of those whose critical cut
it is in, less the loss and the queueing delay that it measured, and tells the link's tail. Every 300 ms each party reports rates and
delays of its outgoing links to all sources, and each source computes its min-cut, critical cut and trees from what it has been told; cut
and marginal utility reach the receivers in the headers of its packets.

    c[m,e] <- max(0, c[m,e] + alpha (beta / (R_m + delta) [e in the critical cut of m] - loss_e - queueing_e))

Not given in the paper, and chosen here: alpha, in proportion to R_m + delta, so that small and large sessions are as stable; beta and
delta; the rate at which a session starts; that all parties act at the same instants; that messages pass on the newest header of every
session; that a link is dead after a second without a message. Quick start raises alpha alone: a larger beta, which the paper has too, only
filled queues. Coded local recovery is left out: what is lost stays lost.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.conference.packing import Packing, allocate_packing, pack
from vcgym.baselines.conference.session_rate import session_rate
from vcgym.baselines.conference.trees import DELAY_BOUND_MS
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.overlay.forwarding import advance, send_message
from vcgym.network.overlay.links import PACKET
from vcgym.network.overlay.network import PLANS, set_plan
from vcgym.network.overlay.world import happen

RATES, STATE = 0, 1  # messages
TICK_US = 100_000
_UPDATE_TICKS, _REPORT_TICKS = 2, 3
_DEAD_US = 1_000_000
RATES_BYTES = 5  # per session: 0.2 kbps at 5 messages a second
STATE_BYTES = 6  # per link: 0.158 kbps at 3.3 messages a second


class Celerity(NamedTuple):
    """Parameters.

    Attributes:
        gain: step per update, as a share of the session's rate and unit of price: alpha is gain (R_m + delta).
        beta: weight of utility, kbps times seconds: a session of rate R keeps beta / R seconds of queueing on its way.
        quick_gain: the same during quick start.
        quick_s: length of quick start, from when the source came.
        delta_kbps: bounds the marginal utility.
        start_kbps: rate on each direct link at the beginning.
        bound_ms: of the delay from a source to a receiver.
    """

    gain: float = 0.06
    beta: float = 12.0
    quick_gain: float = 0.4
    quick_s: float = 30.0
    delta_kbps: float = 10.0
    start_kbps: float = 60.0
    bound_ms: float = DELAY_BOUND_MS


class CelerityState(NamedTuple):
    """State of all parties.

    Attributes:
        rates_kbps: (P, P, P) by session, tail and head, as the receivers of the links have them.
        loss: (P, P) measured last at the receiver of each link.
        queueing_s: (P, P) the same.
        delay_ms: (P, P) the same: mean one-way delay; infinite while the link is dead.
        heard_us: (P, P) when something came over the link last.
        joined_us: (P,) when a party came last; -1 while it is away.
        cut: (P, PLANS, P, P) critical cut of each plan.
        marginal: (P, PLANS) marginal utility of each plan.
        bound_kbps: (P,) min-cut of each session, as its source last computed it.
        packed_kbps: (P,) rate of its trees.
        known_kbps: (P, P, P) rates as the source of each session knows them.
        known_ms: (P, P, P) one-way delays as the source knows them.
        packing: working memory.
        scratch: (1,) of PACKET.
        clock: (2,) ticks so far, events so far.
    """

    rates_kbps: NDArray[np.float64]
    loss: NDArray[np.float64]
    queueing_s: NDArray[np.float64]
    delay_ms: NDArray[np.float64]
    heard_us: NDArray[np.int64]
    joined_us: NDArray[np.int64]
    cut: NDArray[np.bool_]
    marginal: NDArray[np.float64]
    bound_kbps: NDArray[np.float64]
    packed_kbps: NDArray[np.float64]
    known_kbps: NDArray[np.float64]
    known_ms: NDArray[np.float64]
    packing: Packing
    scratch: NDArray
    clock: NDArray[np.int64]


def allocate_celerity(params: Celerity, parties: int) -> CelerityState:
    """Allocate the state for P parties, not yet started.

    Raises:
        ValueError: a parameter out of its range.
    """
    require_within(
        params, gain=(0.0, 1e3), beta=(1e-3, 1e6), quick_gain=(0.0, 1e3), quick_s=(0.0, 1e6), delta_kbps=(1e-3, 1e6),
        start_kbps=(0.0, 1e6), bound_ms=(0.0, 60e3),
    )  # fmt: skip
    square, cube = (parties, parties), (parties,) * 3
    return CelerityState(
        np.zeros(cube), np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(square, np.int64),
        np.zeros(parties, np.int64),
        np.zeros((parties, PLANS, parties, parties), np.bool_), np.zeros((parties, PLANS)), np.zeros(parties), np.zeros(parties),
        np.zeros(cube), np.zeros(cube), allocate_packing(parties), np.zeros(1, PACKET), np.zeros(2, np.int64),
    )  # fmt: skip


@kernel
def start_celerity(params, state, net):
    """Begin on a network that has been started."""
    state.rates_kbps[:] = 0.0
    state.loss[:] = state.queueing_s[:] = state.delay_ms[:] = 0.0
    state.heard_us[:] = 0
    state.cut[:] = False
    state.marginal[:] = 0.0
    state.bound_kbps[:] = state.packed_kbps[:] = 0.0
    state.clock[:] = 0
    state.joined_us[:] = -1


@kernel
def _come_and_go(params, state, net, now_us):
    """Begin the sessions of parties that have come, on their direct links."""
    for m in range(net.sessions.size):
        if not net.present[m]:
            state.joined_us[m] = -1
        elif state.joined_us[m] < 0:
            state.joined_us[m] = now_us
            state.rates_kbps[m, :, :] = 0.0
            for j in range(net.sessions.size):
                if j != m:
                    state.rates_kbps[m, m, j] = params.start_kbps
                    state.heard_us[m, j] = state.heard_us[j, m] = now_us
                    state.delay_ms[m, j] = state.delay_ms[j, m] = 0.0


@kernel
def play_celerity(params, state, net, events, seed, until_us):
    """Play the conference up to `until_us`, a whole number of ticks."""
    while state.clock[0] * TICK_US < until_us:
        tick, now_us = state.clock[0], state.clock[0] * TICK_US
        advance(net, state.scratch, now_us)
        state.clock[1] = happen(net, events, state.clock[1], now_us)
        _come_and_go(params, state, net, now_us)
        if tick % _UPDATE_TICKS == 0 and tick > 0:
            _update_rates(params, state, net, now_us)
        if tick % _REPORT_TICKS == 0:
            _report(state, net, now_us)
            for m in range(net.sessions.size):
                _plan(params, state, net, m, now_us, seed)
        state.clock[0] += 1
    advance(net, state.scratch, until_us - 1)


@kernel
def _update_rates(params, state, net, now_us):
    parties = net.sessions.size
    for head in range(parties):
        for tail in range(parties):
            if tail == head or not (net.present[head] and net.present[tail]):
                continue
            _measure(state, net, tail, head, now_us)
            price = state.loss[tail, head] + state.queueing_s[tail, head]
            dead = state.delay_ms[tail, head] == math.inf
            for m in range(parties):
                slot = net.told[head, m] % PLANS
                gain = params.quick_gain if now_us - state.joined_us[m] < params.quick_s * 1e6 else params.gain
                marginal = state.marginal[m, slot]
                alpha = gain * params.beta / marginal if marginal > 0.0 else 0.0
                worth = marginal if state.cut[m, slot, tail, head] else 0.0
                rate = state.rates_kbps[m, tail, head] + alpha * (worth - price)
                state.rates_kbps[m, tail, head] = 0.0 if dead else max(0.0, rate)
            message = net.messages[RATES, head, tail, net.written[RATES, head, tail] % net.messages.shape[3]]
            for m in range(parties):
                message[m] = state.rates_kbps[m, tail, head]
                message[parties + m] = net.told[head, m]
            message[2 * parties] = state.delay_ms[tail, head]
            send_message(net, state.scratch, RATES, head, tail, RATES_BYTES * parties, now_us)


@kernel
def _measure(state, net, tail, head, now_us):
    """Close a window of the link's measurements; a window without packets changes nothing but the link's life."""
    one = net.measured[tail, head]
    if one.received > 0:
        mean_us = one.delay_us / one.received
        state.loss[tail, head] = one.lost / (one.lost + one.received)
        state.queueing_s[tail, head] = one.excess_us / (one.received * 1e6)
        state.delay_ms[tail, head] = mean_us / 1000.0
        state.heard_us[tail, head] = now_us
    elif now_us - state.heard_us[tail, head] >= _DEAD_US:
        state.delay_ms[tail, head] = math.inf
    one.received = one.lost = one.delay_us = one.excess_us = 0


@kernel
def _report(state, net, now_us):
    """Take in what receivers of outgoing links have told, and report it to all sources."""
    parties = net.sessions.size
    for head in range(parties):
        for m in range(parties):
            newest = net.told[head, m]
            for tail in range(parties):
                newest = max(newest, np.int64(net.inbox[RATES, head, tail, parties + m]))
            net.told[head, m] = newest
    for tail in range(parties):
        for m in range(parties):
            if m != tail and net.present[tail] and net.present[m]:
                message = net.messages[STATE, tail, m, net.written[STATE, tail, m] % net.messages.shape[3]]
                for head in range(parties):
                    message[head] = net.inbox[RATES, tail, head, m]
                    message[parties + head] = _one_way_ms(state, net, tail, head, now_us)
                send_message(net, state.scratch, STATE, tail, m, STATE_BYTES * (parties - 1), now_us)


@kernel
def _one_way_ms(state, net, tail, head, now_us):
    """Return the delay of a link as its tail knows it: half the round trip; infinite if it has heard nothing for a second."""
    silent_us = now_us - max(net.inbox_us[RATES, tail, head], state.joined_us[head])
    if silent_us >= _DEAD_US or tail == head or not net.present[head]:
        return math.inf
    forth_ms = net.inbox[RATES, tail, head, 2 * net.sessions.size]
    return (forth_ms + state.delay_ms[head, tail]) / 2.0


@kernel
def _plan(params, state, net, m, now_us, seed):
    parties = net.sessions.size
    rates, delay_ms = state.known_kbps[m], state.known_ms[m]
    for tail in range(parties):
        for head in range(parties):
            if tail == m:
                told = net.inbox_us[RATES, m, head] >= 0
                rates[m, head] = net.inbox[RATES, m, head, m] if told else state.rates_kbps[m, m, head]
                delay_ms[m, head] = _one_way_ms(state, net, m, head, now_us)
            elif net.inbox_us[STATE, m, tail] >= 0 and now_us - net.inbox_us[STATE, m, tail] < _DEAD_US:
                rates[tail, head] = net.inbox[STATE, m, tail, head]
                delay_ms[tail, head] = net.inbox[STATE, m, tail, parties + head]
            else:
                rates[tail, head], delay_ms[tail, head] = 0.0, 0.0
    slot = (net.sessions[m].plan + 1) % PLANS
    count, bound = 0, 0.0
    if net.present[m]:
        bound = session_rate(m, net.present, rates, delay_ms, params.bound_ms, state.cut[m, slot])
        count = pack(
            state.packing, m, net.present, rates, delay_ms, params.bound_ms, bound, net.trees[m, slot], net.weights[m, slot]
        )  # fmt: skip
    packed = 0.0
    for tree in range(count):
        packed += net.weights[m, slot, tree]
    for tree in range(count):
        net.weights[m, slot, tree] /= packed
    state.marginal[m, slot] = params.beta / (bound + params.delta_kbps)
    state.bound_kbps[m], state.packed_kbps[m] = bound, packed
    set_plan(net, m, count, packed, now_us, seed)
