"""VCRoute, second version: the reward is delay plus deviation (after the later version, arXiv 2310.05054v2; we know only its abstract).

It equals VCRoute (`vcroute.py`) except for the predicted reward, which is

    x = tl + w sd(tl),   tl predicted as in VCRoute, by default the newest fed-back one-way delay of the path

sd(tl) is the path's recent deviation. With gain g, and m and v initialised to the historical mean and variance, for each fed-back delay

    d = tl - m,   m <- m + g d,   v <- (1 - g) (v + g d^2),   sd = sqrt(v)

(Finch, Incremental calculation of weighted mean and variance, 2009, section 9). We do not know the paper's definition of the variance.
"""

import math
from typing import Annotated, NamedTuple

from vcgym.baselines.path.history import imputed_means, imputed_variances
from vcgym.baselines.path.top_k import has_converged
from vcgym.baselines.path.vcroute.vcroute import PARTS, VCRoute, begin, follow, learn, predictor_inputs, require_predicted, sample_path
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.predictors.predictor import predict_e2e


@record
class Recent:
    mean_ms: float = 0.0  # m
    variance_ms2: float = 0.0  # v


@rule(Control.PATH, **PARTS, recent=Rows(Recent))
class VCRouteV2(NamedTuple):
    spread_weight: Annotated[float, (0.0, 1000.0)] = 1.0  # w
    spread_gain: Annotated[float, (0.0, 1.0)] = 0.05  # g
    route: VCRoute = VCRoute()

    def check(self):
        require_predicted(self.route)

    def init(self, call, arms, shortlist, upper, passes, recent, start, key):
        begin(self.route, call, arms, shortlist, start, key)
        mean_ms, variance_ms2 = imputed_means(start), imputed_variances(start, 0.0)
        for path in range(recent.size):
            recent[path].mean_ms = mean_ms[path]
            recent[path].variance_ms2 = variance_ms2[path]

    def update(self, call, arms, shortlist, upper, passes, recent, record):
        if has_converged(self.route.topk, call.candidates):
            return
        follow(self.route, call, arms, upper, record)
        own, gain = recent[record.path], self.spread_gain
        difference_ms = (record.arrived_us - record.sent_us) / 1000.0 - own.mean_ms
        own.mean_ms += gain * difference_ms
        own.variance_ms2 = (1.0 - gain) * (own.variance_ms2 + gain * difference_ms * difference_ms)

    def decide(self, call, arms, shortlist, upper, passes, recent, now_us):
        path, is_only = sample_path(self.route, call, arms, shortlist, upper, passes, now_us)
        if not is_only:
            delay_ms = predict_e2e(self.route.predictor, *predictor_inputs(call, arms, path))
            learn(self.route, call, arms, upper, path, delay_ms + self.spread_weight * math.sqrt(recent[path].variance_ms2))
        return path
