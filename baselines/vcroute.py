"""VCRoute (arXiv 2310.05054): Thompson sampling over the paths that history does not rule out, taught by predicted end-to-end delays.

Per decision, among the kept paths (`history.py`): draw for each path from its Gaussian belief, take the smallest draw, predict the
end-to-end delay x of a packet on that path, and update the belief of that path alone, as a Gaussian mean of known observation precision
tau0:

    mu <- (tau mu + tau0 x) / (tau + tau0),   then   tau <- tau + tau0

(The print raises tau before using it in mu, which counts the observation twice.) The belief starts at mean 0, precision 0.001: optimistic
for a delay, so every kept path is tried. A draw is N(mu, 1/tau + 1/tau0), the posterior predictive of the paper, or N(mu, 1/tau),
textbook Thompson sampling. The paper's text takes the highest draw; of delays the lowest is meant.

x = predictor(newest fed-back one-way delay of the path, lag of CalculateLag run at the sender on what was fed back). Feedback refreshes
these two inputs and never the belief. A path not heard of yet uses its historical mean (without one, the median of the others' means,
else 0, the belief's start). Probes inform the newest delay, as they measure the network; they are no media, so not the jitter.

tau0 = 1 / variance of the path in history, where the variance is at least 1 ms^2 lest one sample freeze the belief; a path with fewer
than two samples takes the median variance, without any the variance of the starting belief. History holds one-way delays; their spread
stands in for that of end-to-end delay.

Left out: refreshing the kept set during the call, and rewards other than the predicted one.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.history import keep_by_history, known_median
from vcgym.baselines.ranges import require_within
from vcgym.baselines.rule import MEDIA, allocate, decide, implements, init, update
from vcgym.baselines.wmjitter import WMJitter
from vcgym.network.jit import kernel
from vcgym.network.rng import POLICY, normal, stream_key
from vcgym.predictors.last_value import LastValue
from vcgym.predictors.predictor import predict_e2e

PREDICTIVE, MEAN = 0, 1


class VCRoute(NamedTuple):
    """Parameters."""

    tau_prior_per_ms2: float = 0.001  # precision of the starting belief, whose mean is 0
    variance_floor_ms2: float = 1.0
    sample: int = PREDICTIVE  # or MEAN
    discount: float = 1.0  # tau <- max(tau_prior, discount tau) before an update; 1 never forgets
    predictor: LastValue = LastValue()
    jitter: WMJitter = WMJitter()


class VCRouteState(NamedTuple):
    """Arrays (sessions, paths), except `key`, which is (sessions,) and `jitter`."""

    kept: np.ndarray  # bool
    mu_ms: np.ndarray
    tau: np.ndarray  # per ms^2
    tau0: np.ndarray  # per ms^2
    newest_ms: np.ndarray  # newest fed-back one-way delay
    newest_sent_us: np.ndarray  # int64
    key: np.ndarray  # uint64
    jitter: np.recarray  # of the rule that computes the lag


@implements(allocate, VCRoute)
def _allocate(params, sessions, paths):
    require_within(params, tau_prior_per_ms2=(1e-9, 1e9), variance_floor_ms2=(1e-9, 1e9), sample=(PREDICTIVE, MEAN), discount=(0.0, 1.0))
    return VCRouteState(
        kept=np.zeros((sessions, paths), np.bool_),
        mu_ms=np.zeros((sessions, paths)),
        tau=np.zeros((sessions, paths)),
        tau0=np.zeros((sessions, paths)),
        newest_ms=np.zeros((sessions, paths)),
        newest_sent_us=np.zeros((sessions, paths), np.int64),
        key=np.zeros(sessions, np.uint64),
        jitter=allocate(params.jitter, sessions, paths),
    )


@implements(init, VCRoute)
def _init(params, state, s, history, key):
    keep_by_history(history, state.kept, s)
    usual_mean_ms = known_median(history[:, 1], history[:, 0], 1, 0.0)
    usual_variance_ms2 = known_median(history[:, 2] ** 2, history[:, 0], 2, 1.0 / params.tau_prior_per_ms2)
    for path in range(history.shape[0]):
        variance_ms2 = history[path, 2] ** 2 if history[path, 0] >= 2 else usual_variance_ms2
        state.mu_ms[s, path] = 0.0
        state.tau[s, path] = params.tau_prior_per_ms2
        state.tau0[s, path] = 1.0 / max(variance_ms2, params.variance_floor_ms2)
        state.newest_ms[s, path] = history[path, 1] if history[path, 0] >= 1 else usual_mean_ms
        state.newest_sent_us[s, path] = -1
    state.key[s] = stream_key(key, 0, POLICY)
    init(params.jitter, state.jitter, s, history, key)


@implements(update, VCRoute)
def _update(params, state, s, record):
    if record.sent_us > state.newest_sent_us[s, record.path]:
        state.newest_sent_us[s, record.path] = record.sent_us
        state.newest_ms[s, record.path] = (record.arrived_us - record.sent_us) / 1000.0
    if record.kind == MEDIA:
        update(params.jitter, state.jitter, s, record)


@implements(decide, VCRoute)
def _decide(params, state, s, slot):
    path = lowest_draw(params, state, s, slot)
    jitter_ms = decide(params.jitter, state.jitter, s, slot) / 1000.0
    reward_ms = predict_e2e(params.predictor, state.newest_ms[s, path], jitter_ms)
    tau = state.tau[s, path]
    if params.discount < 1.0:
        tau = max(params.tau_prior_per_ms2, params.discount * tau)
    state.mu_ms[s, path], state.tau[s, path] = believe(state.mu_ms[s, path], tau, state.tau0[s, path], reward_ms)
    return path


@kernel
def believe(mu_ms, tau, tau0, x_ms):
    """Belief (mu, tau) after one observation `x_ms` of precision `tau0`."""
    return (tau * mu_ms + tau0 * x_ms) / (tau + tau0), tau + tau0


@kernel
def draw_variance(tau, tau0, sample):
    """Variance (ms^2) of a draw: of the next observation (PREDICTIVE) or of its mean alone (MEAN)."""
    return 1.0 / tau + 1.0 / tau0 if sample == PREDICTIVE else 1.0 / tau


@kernel
def lowest_draw(params, state, s, slot):
    """The kept path of the smallest draw, the lowest path on ties."""
    paths = state.kept.shape[1]
    best, best_ms = -1, math.inf
    for path in range(paths):
        if state.kept[s, path]:
            sd_ms = math.sqrt(draw_variance(state.tau[s, path], state.tau0[s, path], params.sample))
            draw_ms = state.mu_ms[s, path] + sd_ms * normal(state.key[s], slot * paths + path)
            if best < 0 or draw_ms < best_ms:
                best, best_ms = path, draw_ms
    return best
