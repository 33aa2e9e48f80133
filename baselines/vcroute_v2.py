"""VCRoute, second reading: the reward is delay plus spread (after the later version, arXiv 2310.05054v2, of which we know the abstract).

All is VCRoute (`vcroute.py`) but for the predicted reward, which becomes

    x = tl + w sd(tl),   tl predicted as in VCRoute, by default the newest fed-back one-way delay of the path

sd(tl) is the path's recent spread: with g the gain, m and v starting at the historical mean and variance, for each fed-back delay

    d = tl - m,   m <- m + g d,   v <- (1 - g) (v + g d^2),   sd = sqrt(v)

(Finch, Incremental calculation of weighted mean and variance, 2009, section 9). How the paper forms its variance is not known to us.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.discounted_thompson import usual_variances
from vcgym.baselines.ranges import require_within
from vcgym.baselines.rule import allocate, decide, implements, init, update
from vcgym.baselines.vcroute import VCRoute, VCRouteState, believe, lowest_draw
from vcgym.predictors.predictor import predict_e2e


class VCRouteV2(NamedTuple):
    """Parameters."""

    spread_weight: float = 1.0  # w
    spread_gain: float = 0.05  # g
    route: VCRoute = VCRoute()


class VCRouteV2State(NamedTuple):
    """Arrays (sessions, paths)."""

    route: VCRouteState
    mean_ms: np.ndarray  # m
    variance_ms2: np.ndarray  # v


@implements(allocate, VCRouteV2)
def _allocate(params, sessions, paths):
    require_within(params, spread_weight=(0.0, 1000.0), spread_gain=(0.0, 1.0))
    return VCRouteV2State(allocate(params.route, sessions, paths), np.zeros((sessions, paths)), np.zeros((sessions, paths)))


@implements(init, VCRouteV2)
def _init(params, state, s, history, key):
    init(params.route, state.route, s, history, key)
    usual_variances(history, 0.0, state.variance_ms2, s)
    for path in range(history.shape[0]):
        state.mean_ms[s, path] = state.route.newest_ms[s, path]


@implements(update, VCRouteV2)
def _update(params, state, s, record):
    update(params.route, state.route, s, record)
    path, gain = record.path, params.spread_gain
    difference_ms = (record.arrived_us - record.sent_us) / 1000.0 - state.mean_ms[s, path]
    state.mean_ms[s, path] += gain * difference_ms
    state.variance_ms2[s, path] = (1.0 - gain) * (state.variance_ms2[s, path] + gain * difference_ms * difference_ms)


@implements(decide, VCRouteV2)
def _decide(params, state, s, slot):
    route, beliefs = params.route, state.route
    path = lowest_draw(route, beliefs, s, slot)
    jitter_ms = decide(route.jitter, beliefs.jitter, s, slot) / 1000.0
    reward_ms = predict_e2e(route.predictor, beliefs.newest_ms[s, path], jitter_ms) + params.spread_weight * math.sqrt(
        state.variance_ms2[s, path]
    )
    tau = max(route.tau_prior_per_ms2, route.discount * beliefs.tau[s, path])
    beliefs.mu_ms[s, path], beliefs.tau[s, path] = believe(beliefs.mu_ms[s, path], tau, beliefs.tau0[s, path], reward_ms)
    return path
