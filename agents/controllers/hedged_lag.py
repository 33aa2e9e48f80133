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
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.arrival_features import QUANTILE, WIDTH, Arm
from vcgym.agents.controllers.learned_lag import Call, LearnedLag, headroom_ms, set_history, set_target, take_in
from vcgym.agents.controllers.policy import LAYERS, require_network, two_layers
from vcgym.baselines.playout.playout_delay import JUMP_MS, PACE
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.playout.player import UNIT_US
from vcgym.network.playout.quality import rating

UNIT_MS = UNIT_US / 1000.0
MAX_CREDIT_MS = UNIT_MS / 2.0
QUANTILE_HEADROOM_MS = 7.0  # chosen with the temperature on training and validation worlds
CALL_ARRIVALS = 6000.0  # of a minute


@record
class Expert:
    """State of an expert."""

    target_ms: float = 0.0
    playout_ms: float = 0.0  # P
    credit_ms: float = MAX_CREDIT_MS
    sum_ms: float = 0.0  # sum of P over the arrivals
    concealed_ms: float = 0.0
    weight: float = 0.0


EXPERTS = Rows(Expert, lambda params, paths: params.prior.size)


@rule(Control.PLAYOUT, learned=True, call=Call, arms=Rows(Arm), x=Rows(np.float32, WIDTH), layers=LAYERS, expert=EXPERTS)
class HedgedLag(NamedTuple):
    """Parameters."""

    first: NDArray[np.float32]  # (networks, WIDTH + 1, hidden), the last row of each layer its bias
    second: NDArray[np.float32]  # (networks, hidden + 1, hidden)
    last: NDArray[np.float32]  # (networks, hidden + 1)
    prior: NDArray[np.float64]  # (networks + quantiles,), above 0
    temperature: Annotated[float, (1e-3, 1e3)]  # points of R

    def check(self):
        networks, experts = len(self.first), len(self.first) + QUANTILE.size
        if not len(self.second) == len(self.last) == networks > 0 or self.prior.shape != (experts,):
            lengths = len(self.first), len(self.second), len(self.last), self.prior.shape
            allowed = f"n, n, n and (n + {QUANTILE.size},), n > 0"
            raise ValueError(f"lengths of first, second, last and prior are {lengths}: allowed are {allowed}")
        if not (np.isfinite(self.prior).all() and (self.prior > 0.0).all()):
            raise ValueError(f"prior = {self.prior}: allowed are numbers above 0")
        for weights in zip(*self[:3], strict=True):
            require_network(LearnedLag(*weights), WIDTH)

    def init(self, call, arms, x, layers, expert, start, key):
        set_history(arms, start)

    def update(self, call, arms, x, layers, expert, record):
        if record.kind != MEDIA:
            return
        seen = call.seen
        passed_ms, overtaken = (record.arrived_us - seen.arrived_us) / 1000.0, record.sent_us < seen.newest_us
        take_in(call, arms, x, record)
        delay_ms = (record.arrived_us - record.sent_us) / 1000.0
        if seen.packets > 1:
            for e in range(expert.size):
                _play(expert[e], passed_ms, delay_ms, overtaken)
        _weigh(self, expert, seen.packets - 1)
        target_ms = _aim_experts(self, seen, x, layers, expert)
        if seen.packets == 1:
            for e in range(expert.size):
                expert[e].playout_ms = expert[e].target_ms
        set_target(call, target_ms)

    def decide(self, call, arms, x, layers, expert, now_us):
        return call.lag_us


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
def _aim_experts(params, seen, x, layers, experts):
    """Set the target of each expert; return their weighted mean."""
    networks, target_ms = params.first.shape[0], 0.0
    for e in range(experts.size):
        expert = experts[e]
        if e < networks:
            lag = LearnedLag(params.first[e], params.second[e], params.last[e])
            expert.target_ms = seen.delay_ms + headroom_ms(two_layers(lag, x, layers))
        else:
            expert.target_ms = max(seen.delay_ms, seen.quantile_ms[e - networks]) + QUANTILE_HEADROOM_MS
        target_ms += expert.weight * expert.target_ms
    return target_ms
