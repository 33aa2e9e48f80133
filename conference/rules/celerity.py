"""Celerity: primal-dual control of the rate of each session on each overlay link (Chen et al., sections 3 to 5).

Every 200 ms the receiver of each overlay link updates the rates of all sessions on it, by the marginal utility of the sessions whose
critical cut contains the link, minus the measured loss and queueing delay, and reports to the link's tail. Every 300 ms each party reports
rates and delays of its outgoing links to all sources, and each source computes its min-cut, critical cut and trees from these reports. Cut
and marginal utility reach the receivers in the headers of its packets.

    c[m,e] <- max(0, c[m,e] + alpha (beta / (R_m + delta) [e in the critical cut of m] - loss_e - queueing_e))

Not given in the paper, and chosen here: alpha and beta, both proportional to the mean rate of all sessions, which parties report, at least
USUAL_KBPS, so that fast networks are climbed as soon as slow ones; in quick start alpha is proportional to R_m + delta instead, which is
smoother, but makes sessions with varying rates too small in the long run; delta; the start rate of a session; all parties act at the same
instants; messages forward the newest header of every session; a link is dead after a second without a message; queueing does not count
towards the delay bound while no tree is within it, since a source that falls silent costs its listeners more. Quick start increases only
alpha: a larger beta, as in the paper, only filled queues. Coded local recovery is off unless `recovery` is positive.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rule import rule
from vcgym.conference.network.forwarding import advance
from vcgym.conference.network.links import PACKET
from vcgym.conference.network.network import PLANS, set_plan
from vcgym.conference.network.trees import DELAY_BOUND_MS
from vcgym.conference.network.world import happen
from vcgym.conference.rules.link_rates import Update, change_kbps, recovery_share, session_rate, weigh_cut
from vcgym.conference.rules.packing import Packing, allocate_packing, fill_repairs, pack
from vcgym.conference.rules.reports import learn, measure, report_link, report_to_sources
from vcgym.conference.stage import TREES
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

TICK_US = 100_000
USUAL_KBPS = 240.0  # below this mean rate neither alpha nor beta fall
_UPDATE_TICKS, _REPORT_TICKS = 2, 3
UPDATE_S, REPORT_S = _UPDATE_TICKS * TICK_US / 1e6, _REPORT_TICKS * TICK_US / 1e6


@rule(TREES)
class Celerity(NamedTuple):
    """Parameters.

    Attributes:
        gain: step per update: alpha is gain times the mean rate of all sessions, per second of price.
        standing_s: queueing on the path of a session of mean rate: beta is standing_s times the mean rate of all sessions.
        quick_gain: gain during quick start, relative to R_m + delta.
        quick_s: length of quick start, from the arrival of the source.
        delta_kbps: bounds the marginal utility.
        start_kbps: initial rate on each direct link.
        bound_ms: bound on the delay from a source to a receiver.
        recovery: share of unused link rates that carries coded packets, at most one per packet; 0 to 1.
    """

    gain: Annotated[float, (0.0, 1e3)] = 0.065
    standing_s: Annotated[float, (1e-4, 10.0)] = 0.05
    quick_gain: Annotated[float, (0.0, 1e3)] = 0.4
    quick_s: Annotated[float, (0.0, 1e6)] = 30.0
    delta_kbps: Annotated[float, (1e-3, 1e6)] = 10.0
    start_kbps: Annotated[float, (0.0, 1e6)] = 60.0
    bound_ms: Annotated[float, (0.0, 60e3)] = DELAY_BOUND_MS
    recovery: Annotated[float, (0.0, 1.0)] = 0.0


@recovery_share.register(Celerity)
def _recovery_share(params):
    return params.recovery


@weigh_cut.register(Celerity)
def _weigh_cut(params, source, receives, rates_kbps, delay_ms, cut):
    return session_rate(source, receives, rates_kbps, delay_ms, params.bound_ms, cut)


@change_kbps.register(Celerity)
def _change_kbps(params, update):
    alpha = params.gain * update.usual_kbps
    if update.quick:
        alpha = params.quick_gain * params.standing_s * update.usual_kbps / update.marginal if update.marginal > 0.0 else 0.0
    return alpha * (update.worth - (update.loss + update.queueing_s))


class CelerityState(NamedTuple):
    """State of all parties."""

    rates_kbps: NDArray[np.float64]  # (P, P, P), rates at the receivers of the links, by session, tail and head
    loss: NDArray[np.float64]  # (P, P), last loss measured at the receiver of each link
    queueing_s: NDArray[np.float64]  # (P, P), last queueing delay measured there
    risen_s: NDArray[np.float64]  # (P, P), its change since the measurement before
    delay_ms: NDArray[np.float64]  # (P, P), last mean one-way delay measured there; infinite while the link is dead
    # (P, P), last arrival over each link, of anything and of media:
    arrived_us: NDArray[np.int64]
    media_us: NDArray[np.int64]
    joined_us: NDArray[np.int64]  # (P,), time at which a party last joined; -1 while it is absent
    cut: NDArray[np.float64]  # (P, PLANS, P, P), weight of each link in the cut of each plan
    marginal: NDArray[np.float64]  # (P, PLANS), marginal utility of each plan
    mean_kbps: NDArray[np.float64]  # (P,), mean min-cut of all sessions as known to each source
    # (P,), min-cut of each session as last computed by its source, and rate of its trees:
    bound_kbps: NDArray[np.float64]
    packed_kbps: NDArray[np.float64]
    known_kbps: NDArray[np.float64]  # (P, P, P), rates known to the source of each session
    known_ms: NDArray[np.float64]  # (P, P, P), one-way delays known to the source
    # (P, P, P), losses and queueing delays known to the source:
    known_loss: NDArray[np.float64]
    known_s: NDArray[np.float64]
    counted_ms: NDArray[np.float64]  # (P, P), working memory: delays that the bound is compared with
    packing: Packing  # working memory
    scratch: NDArray  # (1,) of PACKET
    clock: NDArray[np.int64]  # (2,), number of ticks and of events so far


def allocate_celerity(params: Any, parties: int) -> CelerityState:
    """Allocate the state for P parties, not yet started.

    Raises:
        ValueError: a parameter is out of range.
    """
    require_within(params)
    square, cube = (parties, parties), (parties,) * 3
    return CelerityState(
        np.zeros(cube), np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(square, np.int64),
        np.full(square, -1 << 40), np.zeros(parties, np.int64), np.zeros((parties, PLANS, parties, parties)), np.zeros((parties, PLANS)),
        np.zeros(parties), np.zeros(parties), np.zeros(parties), np.zeros(cube), np.zeros(cube), np.zeros(cube), np.zeros(cube),
        np.zeros(square), allocate_packing(parties), np.zeros(1, PACKET), np.zeros(2, np.int64),
    )  # fmt: skip


@kernel
def start_celerity(params, state, net):
    """Start on a started network."""
    state.rates_kbps[:] = 0.0
    state.loss[:] = state.queueing_s[:] = state.risen_s[:] = state.delay_ms[:] = 0.0
    state.arrived_us[:] = 0
    state.media_us[:] = -(1 << 40)
    state.cut[:] = 0.0
    state.marginal[:] = 0.0
    state.bound_kbps[:] = state.packed_kbps[:] = state.mean_kbps[:] = 0.0
    state.clock[:] = 0
    state.joined_us[:] = -1


@kernel
def _come_and_go(params, state, net, now_us):
    """Start the sessions of parties that have joined, on their direct links."""
    for m in range(net.sessions.size):
        if not net.present[m]:
            state.joined_us[m] = -1
        elif state.joined_us[m] < 0:
            state.joined_us[m] = now_us
            state.rates_kbps[m, :, :] = 0.0
            for j in range(net.sessions.size):
                if j != m:
                    state.rates_kbps[m, m, j] = params.start_kbps
                    state.arrived_us[m, j] = state.arrived_us[j, m] = now_us
                    state.delay_ms[m, j] = state.delay_ms[j, m] = 0.0


@kernel
def play_celerity(params, state, net, events, seed, inside, until_us):
    """Play the conference up to `until_us`, a whole number of ticks.

    Args:
        params: Celerity.
        state: CelerityState.
        net: Network.
        events: events of the world, in order of time.
        seed: seed of the world.
        inside: True: Celerity changes link rates; False: an agent does, and a source packs trees into `state.rates_kbps` of its session.
        until_us: end time.
    """
    while state.clock[0] * TICK_US < until_us:
        tick, now_us = state.clock[0], state.clock[0] * TICK_US
        advance(net, state.scratch, now_us)
        state.clock[1] = happen(net, events, state.clock[1], now_us)
        _come_and_go(params, state, net, now_us)
        if tick % _UPDATE_TICKS == 0 and tick > 0:
            _update_rates(params, state, net, now_us, inside)
        if tick % _REPORT_TICKS == 0:
            report_to_sources(state, net, now_us)
            for m in range(net.sessions.size):
                _plan(params, state, net, m, now_us, seed, inside)
        state.clock[0] += 1
    advance(net, state.scratch, until_us - 1)


@kernel
def _update_rates(params, state, net, now_us, inside):
    parties = net.sessions.size
    for head in range(parties):
        usual_kbps = max(state.mean_kbps[head], USUAL_KBPS)
        for tail in range(parties):
            if tail == head or not (net.present[head] and net.present[tail]):
                continue
            measure(state, net, tail, head, now_us)
            loss, queueing_s, risen_s = state.loss[tail, head], state.queueing_s[tail, head], state.risen_s[tail, head]
            dead = state.delay_ms[tail, head] == math.inf
            for m in range(parties if inside else 0):
                slot, rate = net.known_plans[head, m] % PLANS, state.rates_kbps[m, tail, head]
                marginal = state.marginal[m, slot]
                worth, quick = marginal * state.cut[m, slot, tail, head], now_us - state.joined_us[m] < params.quick_s * 1e6
                update = Update(worth, marginal, loss, queueing_s, risen_s, usual_kbps, rate, quick, tail == m, parties)
                state.rates_kbps[m, tail, head] = 0.0 if dead else max(0.0, rate + change_kbps(params, update))
            report_link(state, net, tail, head, now_us)


@kernel
def _fill_counted(counted_ms, delay_ms, queueing_s, without):
    """Fill the delays that the bound is compared with; a delay is half a round trip, and `without` is 1 to leave queueing out."""
    for tail in range(len(delay_ms)):
        for head in range(len(delay_ms)):
            counted_ms[tail, head] = delay_ms[tail, head] - without * 500.0 * (queueing_s[tail, head] + queueing_s[head, tail])


@kernel
def _plan(params, state, net, m, now_us, seed, inside):
    learn(state, net, m, now_us)
    rates, delay_ms = state.known_kbps[m] if inside else state.rates_kbps[m], state.known_ms[m]
    slot = (net.sessions[m].plan + 1) % PLANS
    count, bound = 0, 0.0
    counted_ms, trees, weights = state.counted_ms, net.trees[m, slot], net.weights[m, slot]
    for without in range(1 + int(inside)):
        if net.present[m] and count == 0:
            _fill_counted(counted_ms, delay_ms, state.known_s[m], without)
            bound = weigh_cut(params, m, net.present, rates, counted_ms, state.cut[m, slot])
            count = pack(state.packing, m, net.present, rates, counted_ms, params.bound_ms, bound, trees, weights)
    if net.repairs.share.size > 0:
        fill_repairs(state.packing, rates, recovery_share(params), net.repairs.share[m, slot])
    packed = 0.0
    for tree in range(count):
        packed += net.weights[m, slot, tree]
    for tree in range(count):
        net.weights[m, slot, tree] /= packed
    state.marginal[m, slot] = params.standing_s * max(state.mean_kbps[m], USUAL_KBPS) / (bound + params.delta_kbps)
    state.bound_kbps[m], state.packed_kbps[m] = bound, packed
    set_plan(net, m, count, packed, now_us, seed)
