"""VCRoute, second version: the reward is delay plus deviation (after the later version, arXiv 2310.05054v2; we know only its abstract).

It equals VCRoute (`vcroute.py`) except for the predicted reward, which is

    x = tl + w sd(tl),   tl predicted as in VCRoute, by default the newest fed-back one-way delay of the path

sd(tl) is the path's recent deviation. With gain g, and m and v initialised to the historical mean and variance, for each fed-back delay

    d = tl - m,   m <- m + g d,   v <- (1 - g) (v + g d^2),   sd = sqrt(v)

(Finch, Incremental calculation of weighted mean and variance, 2009, section 9). We do not know the paper's definition of the variance.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.path.history import imputed_means, imputed_variances
from vcgym.baselines.path.top_k import has_converged
from vcgym.baselines.path.vcroute.vcroute import VCRoute, VCRouteState, learn, predictor_inputs, require_predicted, sample_path
from vcgym.baselines.rule import Control, allocate, decide, init, record, records, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.predictors.predictor import predict_e2e


@rule(Control.PATH)
class VCRouteV2(NamedTuple):
    """Parameters."""

    spread_weight: Annotated[float, (0.0, 1000.0)] = 1.0  # w
    spread_gain: Annotated[float, (0.0, 1.0)] = 0.05  # g
    route: VCRoute = VCRoute()


@record
class Recent:
    """State of a path."""

    mean_ms: float = 0.0  # m
    variance_ms2: float = 0.0  # v


class VCRouteV2State(NamedTuple):
    """State; first axis: session."""

    route: VCRouteState
    recent: np.recarray  # (sessions, paths) of Recent


@allocate.register(VCRouteV2)
def _allocate(params, sessions, paths):
    require_within(params)
    require_predicted(params.route)
    return VCRouteV2State(allocate(params.route, sessions, paths), records(Recent, sessions, paths))


@init.register(VCRouteV2)
def _init(params, state, s, start, key):
    init(params.route, state.route, s, start, key)
    mean_ms, variance_ms2 = imputed_means(start), imputed_variances(start, 0.0)
    for path in range(start.mean_ms.size):
        recent = state.recent[s, path]
        recent.mean_ms = mean_ms[path]
        recent.variance_ms2 = variance_ms2[path]


@update.register(VCRouteV2)
def _update(params, state, s, record):
    if has_converged(params.route.topk, state.route.call[s].candidates):
        return
    update(params.route, state.route, s, record)
    recent, gain = state.recent[s, record.path], params.spread_gain
    difference_ms = (record.arrived_us - record.sent_us) / 1000.0 - recent.mean_ms
    recent.mean_ms += gain * difference_ms
    recent.variance_ms2 = (1.0 - gain) * (recent.variance_ms2 + gain * difference_ms * difference_ms)


@decide.register(VCRouteV2)
def _decide(params, state, s, now_us):
    route, beliefs = params.route, state.route
    path, is_only = sample_path(route, beliefs, s, now_us)
    if is_only:
        return path
    delay_ms = predict_e2e(route.predictor, *predictor_inputs(beliefs, s, path))
    learn(route, beliefs, s, path, delay_ms + params.spread_weight * math.sqrt(state.recent[s, path].variance_ms2))
    return path
