"""A lag that follows several experts, each by how well it would have played this call so far.

Arrivals do not depend on the lag, so the receiver can play the call that it has seen with the targets of every expert. With P_e and c_e
the playout delay and the time concealed under the targets of expert e, averaged over the phase of the player's ticks (P_e moves toward
the target as far as a credit lasts, which grows with time up to half a tick; a late packet raises P_e and c_e by as much as it is late),

    R_e     = R of the mean of P_e + 5 ms and the share of c_e, over the n arrivals so far
    weight  = prior_e exp(n R_e / (6000 x temperature)), scaled to a sum of 1
    target  = sum of weight_e target_e

These are the weights of Hedge (Freund and Schapire, JCSS 55, 1997), with a gain per arrival in points of R of a call of a minute. The first
experts are networks as in `vcgym.agents.controllers.learned_lag`, which gives features, playout delay and lag; the last ones are

    target  = max(newest delay, running quantile of the delay) + 7 ms       quantiles 0.90, 0.97, 0.99

Left out of R_e: packets that never arrive, which are concealed under every expert.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.arrival_features import QUANTILE
from vcgym.agents.controllers.learned_lag import LearnedLag, LearnedLagState, headroom_ms, set_target, take_in
from vcgym.agents.controllers.policy import two_layers
from vcgym.baselines.playout.playout_delay import JUMP_MS, PACE
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_number
from vcgym.network.playout.player import UNIT_US
from vcgym.network.playout.quality import rating

UNIT_MS = UNIT_US / 1000.0
MAX_CREDIT_MS = UNIT_MS / 2.0
QUANTILE_HEADROOM_MS = 7.0  # chosen with the temperature on training and validation worlds
CALL_ARRIVALS = 6000.0  # of a minute


@rule(Control.PLAYOUT, learned=True)
class HedgedLag(NamedTuple):
    """Parameters; the first axis of the weights is the network, the last row of each layer its bias."""

    first: NDArray[np.float32]  # (networks, WIDTH + 1, hidden)
    second: NDArray[np.float32]  # (networks, hidden + 1, hidden)
    last: NDArray[np.float32]  # (networks, hidden + 1)
    prior: NDArray[np.float64]  # (networks + quantiles,), above 0
    temperature: float  # points of R


EXPERT = np.dtype(
    (
        np.record,
        [
            ("target_ms", "f8"),
            ("playout_ms", "f8"),  # P
            ("credit_ms", "f8"),
            ("sum_ms", "f8"),  # sum of P over the arrivals
            ("concealed_ms", "f8"),
            ("weight", "f8"),
        ],
    )
)


class HedgedLagState(NamedTuple):
    """State; the first axis is the session."""

    lag: LearnedLagState
    expert: np.recarray  # (sessions, experts) of EXPERT


@allocate.register(HedgedLag)
def _allocate(params, sessions, paths):
    networks, experts = len(params.first), len(params.first) + QUANTILE.size
    if not len(params.second) == len(params.last) == networks > 0 or params.prior.shape != (experts,):
        lengths = len(params.first), len(params.second), len(params.last), params.prior.shape
        raise ValueError(f"lengths of first, second, last and prior are {lengths}: allowed are n, n, n and (n + {QUANTILE.size},), n > 0")
    if not (np.isfinite(params.prior).all() and (params.prior > 0.0).all()):
        raise ValueError(f"prior = {params.prior}: allowed are numbers above 0")
    require_number("temperature", params.temperature, 1e-3, 1e3)
    lags = [allocate(LearnedLag(*weights), sessions, paths) for weights in zip(*params[:3], strict=True)]
    return HedgedLagState(lags[0], np.zeros((sessions, experts), EXPERT).view(np.recarray))


@init.register(HedgedLag)
def _init(params, state, s, start, key):
    init(LearnedLag(params.first[0], params.second[0], params.last[0]), state.lag, s, start, key)
    for e in range(state.expert.shape[1]):
        expert = state.expert[s, e]
        expert.credit_ms = MAX_CREDIT_MS
        expert.sum_ms = 0.0
        expert.concealed_ms = 0.0


@update.register(HedgedLag)
def _update(params, state, s, record):
    if record.kind != MEDIA:
        return
    seen = state.lag.seen[s]
    passed_ms, overtaken = (record.arrived_us - seen.arrived_us) / 1000.0, record.sent_us < seen.newest_us
    smallest_ms = take_in(state.lag, s, record)
    delay_ms = (record.arrived_us - record.sent_us) / 1000.0
    if seen.packets > 1:
        for e in range(state.expert.shape[1]):
            _play(state.expert[s, e], passed_ms, delay_ms, overtaken)
    _weigh(params, state.expert[s], seen.packets - 1)
    target_ms = _aim_experts(params, state, s)
    if seen.packets == 1:
        for e in range(state.expert.shape[1]):
            state.expert[s, e].playout_ms = state.expert[s, e].target_ms
    set_target(state.lag, s, target_ms, smallest_ms)


@decide.register(HedgedLag)
def _decide(params, state, s, now_us):
    return state.lag.lag_us[s]


@kernel
def _play(expert, passed_ms, delay_ms, overtaken):
    """Play one arrival under the target in force."""
    reach_ms = min(MAX_CREDIT_MS, expert.credit_ms + PACE * passed_ms)
    if expert.playout_ms > expert.target_ms + JUMP_MS:
        playout_ms, expert.credit_ms = expert.target_ms, reach_ms
    else:
        moved_ms = min(max(expert.target_ms - expert.playout_ms, -reach_ms), reach_ms)
        playout_ms, expert.credit_ms = expert.playout_ms + moved_ms, reach_ms - abs(moved_ms)
    late_ms = max(0.0, delay_ms - playout_ms)
    if overtaken:
        expert.concealed_ms += UNIT_MS if late_ms > 0.0 else 0.0
    else:
        expert.concealed_ms += late_ms
        playout_ms += late_ms
    expert.playout_ms = playout_ms
    expert.sum_ms += playout_ms


@kernel
def _weigh(params, experts, played):
    """Set the weights after `played` arrivals."""
    highest = -math.inf
    for e in range(experts.size):
        expert = experts[e]
        expert.weight = math.log(params.prior[e])
        if played > 0:
            r = rating(expert.sum_ms / played + MAX_CREDIT_MS, expert.concealed_ms / (UNIT_MS * played))
            expert.weight += r * played / (CALL_ARRIVALS * params.temperature)
        highest = max(highest, expert.weight)
    total = 0.0
    for e in range(experts.size):
        experts[e].weight = math.exp(experts[e].weight - highest)
        total += experts[e].weight
    for e in range(experts.size):
        experts[e].weight /= total


@kernel
def _aim_experts(params, state, s):
    """Set the target of each expert; return their weighted mean."""
    seen, networks, target_ms = state.lag.seen[s], params.first.shape[0], 0.0
    for e in range(state.expert.shape[1]):
        expert = state.expert[s, e]
        if e < networks:
            lag = LearnedLag(params.first[e], params.second[e], params.last[e])
            expert.target_ms = seen.delay_ms + headroom_ms(two_layers(lag, state.lag.x[s], state.lag.layers[s]))
        else:
            expert.target_ms = max(seen.delay_ms, seen.quantile_ms[e - networks]) + QUANTILE_HEADROOM_MS
        target_ms += expert.weight * expert.target_ms
    return target_ms
