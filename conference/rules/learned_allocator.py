"""A learned allocator of conferences: Celerity (Chen et al.) with a smooth cut, damped and faster steps, and learned constants.

All links and sessions share its numbers, so it runs with any number of parties, and it decides where Celerity does: at the receiver of each
overlay link, every 200 ms, from what is known there. Apart from Celerity's constants it has

- a smooth cut: receiver j's cut counts with weight exp(-(its min-cut - the smallest) / (softness (the smallest + delta))), normalised, and
  a relay's path is cut at both sides in a proportion that depends on their difference, so that all links that limit a session rise at once;
- damping: rates fall by the factor exp(-damp times the rise of queueing in s), since an integral of queueing alone oscillates;
- a climb on links in the cut whose queueing is below standing_s: in proportion to the rate on links of the source, and to the mean rate of
  all sessions on other links;
- a gain that falls with a power of the number of receivers, since a link at the edge then carries more link rates that move together;
- another gain while the price exceeds the worth, and a price of loss.

The defaults were found by hand on training worlds; a search starts from them.
"""

import math
from typing import Annotated, NamedTuple

from vcgym.baselines.rule import rule
from vcgym.conference.network.trees import DELAY_BOUND_MS
from vcgym.conference.rules.celerity import Celerity
from vcgym.conference.rules.link_rates import change_kbps, min_cut, weigh_cut
from vcgym.conference.stage import TREES
from vcgym.network.kernels.jit import kernel

_PUBLISHED = Celerity()
_RECEIVERS = 3.0  # of the dumbbell, with which Celerity's constants were chosen
_STEEPNESS = 4.0  # of the division of a relay's path between its two sides
_LIMIT = 30.0  # of exponents


@rule(TREES, learned=True)
class LearnedAllocator(NamedTuple):
    """Parameters; see `Celerity` for those that both have.

    Attributes:
        softness: width of the smooth cut relative to the smallest min-cut, above 0.
        damp: damping, per second of queueing.
        first_climb: growth per update of the rate on a link of the source without queueing.
        other_climb: the same on other links, relative to the mean rate of all sessions.
        receivers_power: the gain is in proportion to (3 / receivers) to this power.
        gain: gain with three receivers.
        fall: gain while the price exceeds the worth, relative to `gain`.
        loss_price: price of a lost packet, in seconds of queueing.
    """

    softness: Annotated[float, (1e-6, 100.0)] = 0.08
    damp: Annotated[float, (0.0, 100.0)] = 1.5
    first_climb: Annotated[float, (0.0, 100.0)] = 0.0003
    other_climb: Annotated[float, (0.0, 100.0)] = 0.0002
    receivers_power: Annotated[float, (0.0, 100.0)] = 0.7
    fall: Annotated[float, (0.0, 100.0)] = 1.0
    loss_price: Annotated[float, (0.0, 100.0)] = 1.0
    gain: Annotated[float, (0.0, 1e3)] = 0.12
    standing_s: Annotated[float, (1e-4, 10.0)] = 0.045
    quick_gain: Annotated[float, (0.0, 1e3)] = 0.45
    quick_s: Annotated[float, (0.0, 1e6)] = _PUBLISHED.quick_s
    delta_kbps: Annotated[float, (1e-3, 1e6)] = _PUBLISHED.delta_kbps
    start_kbps: Annotated[float, (0.0, 1e6)] = 80.0
    bound_ms: Annotated[float, (0.0, 60e3)] = DELAY_BOUND_MS


@weigh_cut.register(LearnedAllocator)
def _weigh_cut(params, source, receives, rates_kbps, delay_ms, cut):
    cut[:] = 0.0
    min_kbps, total = math.inf, 0.0
    for j in range(receives.size):
        if receives[j] and j != source:
            min_kbps = min(min_kbps, min_cut(source, j, receives, rates_kbps, delay_ms, params.bound_ms))
    if min_kbps == math.inf:
        return 0.0
    width_kbps = params.softness * (min_kbps + params.delta_kbps)
    for j in range(receives.size):
        if receives[j] and j != source:
            weight = math.exp((min_kbps - min_cut(source, j, receives, rates_kbps, delay_ms, params.bound_ms)) / width_kbps)
            total += weight
            _add_cut(source, j, receives, rates_kbps, delay_ms, params.bound_ms, width_kbps, weight, cut)
    for i in range(receives.size):
        for j in range(receives.size):
            cut[i, j] /= total
    return min_kbps


@kernel
def _add_cut(source, j, receives, rates_kbps, delay_ms, bound_ms, width_kbps, weight, cut):
    if delay_ms[source, j] <= bound_ms:
        cut[source, j] += weight
    for i in range(receives.size):
        if receives[i] and i != j and i != source and delay_ms[source, i] + delay_ms[i, j] <= bound_ms:
            steep = _STEEPNESS * (rates_kbps[source, i] - rates_kbps[i, j]) / width_kbps
            first = 1.0 / (1.0 + math.exp(max(-_LIMIT, min(_LIMIT, steep))))
            cut[source, i] += weight * first
            cut[i, j] += weight * (1.0 - first)


@change_kbps.register(LearnedAllocator)
def _change_kbps(params, update):
    fewer = (_RECEIVERS / (update.parties - 1)) ** params.receivers_power
    slope = update.worth - (params.loss_price * update.loss + update.queueing_s)
    alpha = fewer * params.gain * update.usual_kbps
    if update.quick:
        alpha = params.quick_gain * params.standing_s * update.usual_kbps / update.marginal if update.marginal > 0.0 else 0.0
    step = alpha * slope
    if slope < 0.0:
        step *= params.fall
    elif update.marginal > 0.0:
        empty = max(0.0, 1.0 - update.queueing_s / params.standing_s)
        climb_kbps = params.first_climb * update.rate_kbps if update.first else params.other_climb * update.usual_kbps
        step += climb_kbps * empty * update.worth / update.marginal
    return step + update.rate_kbps * (math.exp(max(-_LIMIT, min(_LIMIT, -params.damp * update.risen_s))) - 1.0)
