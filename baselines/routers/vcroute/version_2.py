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

from vcgym.baselines.routers.history import UNKNOWN_VARIANCE_MS2, usual_means, usual_variances
from vcgym.baselines.routers.top_k import is_settled, refresh
from vcgym.baselines.routers.vcroute.vcroute import VCRoute, VCRouteState, learn, lowest_draw, require_predicted
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import slot_at
from vcgym.predictors.predictor import predict_e2e


@rule(Control.PATH)
class VCRouteV2(NamedTuple):
    """Parameters."""

    spread_weight: float = 1.0  # w
    spread_gain: float = 0.05  # g
    route: VCRoute = VCRoute()


RECENT = np.dtype((np.record, [("mean_ms", "f8"), ("variance_ms2", "f8")]))  # m, v


class VCRouteV2State(NamedTuple):
    """The first axis is the session."""

    route: VCRouteState
    recent: np.recarray  # (sessions, paths) of RECENT


@allocate.register(VCRouteV2)
def _allocate(params, sessions, paths):
    require_within(params, spread_weight=(0.0, 1000.0), spread_gain=(0.0, 1.0))
    require_predicted(params.route)
    return VCRouteV2State(allocate(params.route, sessions, paths), np.zeros((sessions, paths), RECENT).view(np.recarray))


@init.register(VCRouteV2)
def _init(params, state, s, start, key):
    init(params.route, state.route, s, start, key)
    mean_ms, variance_ms2 = usual_means(start), usual_variances(start, 0.0, UNKNOWN_VARIANCE_MS2)
    for path in range(start.mean_ms.size):
        recent = state.recent[s, path]
        recent.mean_ms = mean_ms[path]
        recent.variance_ms2 = variance_ms2[path]


@update.register(VCRouteV2)
def _update(params, state, s, record):
    if is_settled(params.route.topk, state.route.call[s].kept):
        return
    update(params.route, state.route, s, record)
    recent, gain = state.recent[s, record.path], params.spread_gain
    difference_ms = (record.arrived_us - record.sent_us) / 1000.0 - recent.mean_ms
    recent.mean_ms += gain * difference_ms
    recent.variance_ms2 = (1.0 - gain) * (recent.variance_ms2 + gain * difference_ms * difference_ms)


@decide.register(VCRouteV2)
def _decide(params, state, s, now_us):
    route, beliefs = params.route, state.route
    call, arms = beliefs.call[s], beliefs.arm
    refresh(route.topk, call.kept, arms, s, now_us)
    if is_settled(route.topk, call.kept):
        return arms[s, 0].kept.nth
    path = lowest_draw(beliefs, s, slot_at(now_us))
    jitter_ms = decide(route.jitter, beliefs.jitter, s, now_us) / 1000.0
    delay_ms = predict_e2e(route.predictor, arms[s, path].newest_ms, jitter_ms)
    learn(route, beliefs, s, path, delay_ms + params.spread_weight * math.sqrt(state.recent[s, path].variance_ms2))
    return path
