"""VCRoute (arXiv 2310.05054): Thompson sampling over the paths that history does not rule out, rewarded with predicted end-to-end delays.

Per decision, among the kept paths (`top_k.py`): draw from each path's Gaussian belief, choose the smallest draw, predict the end-to-end
delay x of a packet on that path, and update the belief about that path only, as a Gaussian mean with known observation precision
tau0:

    mu <- (tau mu + tau0 x) / (tau + tau0),   then   tau <- tau + tau0

(The paper increases tau before using it in mu, which counts the observation twice.) The initial belief has mean 0 and precision 0.001. This
is optimistic for a delay, so every kept path is tried. A draw is N(mu, 1/tau + 1/tau0), the posterior predictive of the paper (`sample`
PREDICTIVE), or N(mu, 1/tau), textbook Thompson sampling (MEAN). The paper's text chooses the highest draw; for delays it means the lowest.

The reward, `reward`:

    PREDICTED        x = predictor(newest fed-back one-way delay of the path, lag of CalculateLag run at the sender on the feedback).
                     Feedback updates these two inputs but never the belief. Before its first feedback a path uses its historical mean
                     (or the median of the other means, or 0, the mean of the initial belief). Probes update the newest delay, since they
                     measure the network, but not the jitter, since they are not media.
    DELAYED_ACTUAL   x = one-way delay of each media packet fed back, for the path that carried it. A record has the arrival time of a
                     packet, not its emission time, so the wait at the receiver is left out. A lost packet has no record. With
                     `loss_reward_ms` above 0, a packet without feedback `loss_after_packets` packets later gives its path that x; if it
                     arrives after all, it counts too.

The true delay known at once is available only to an oracle: `oracle.py`.

tau0 = 1 / historical variance of the path. The variance is at least 1 ms^2, so that one sample cannot freeze the belief. A path with fewer
than two samples uses the median variance or, without any, the variance of the initial belief. History contains one-way delays; their
variance approximates that of end-to-end delays. tau0 stays the same when the kept set is chosen again.

The paper's default plan is the plan in force: a decision that repeats the last one sends nothing; any other decision is a plan, which takes
effect one control delay later (`vcgym.envs.call.batch`: computed from the historical mean of the direct path and the router's location; 0
for a router at the sender, the paper's case without plan delay). The belief of the chosen path is updated even while the previous plan is
still in force.

Left out: a control delay that follows the control path's current delay, since delays belong to the control and not to the rule.
"""

import enum
import math
from typing import Any, NamedTuple

import numpy as np

from vcgym.baselines.path.draws import upper_bound
from vcgym.baselines.path.history import imputed_means, imputed_variances
from vcgym.baselines.path.top_k import KEPT, KEPT_PATH, TopK, has_converged, refresh, require_top_k, start_kept, watch
from vcgym.baselines.path.vcroute.screening import SCREEN_LIMIT, Screening, allocate_screening, lowest_draw, start_limit
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.rng import POLICY, stream_key
from vcgym.network.kernels.slots import packet_at, slot_at
from vcgym.predictors.predictor import LastValue, predict_e2e, require_predictor

_RING = 512


class Sample(enum.IntEnum):
    """Distribution of a draw."""

    PREDICTIVE = 0  # of the next observation
    MEAN = 1  # of its mean


class RewardSource(enum.IntEnum):
    """Source of the delay that updates a belief."""

    PREDICTED = 0
    DELAYED_ACTUAL = 1


@rule(Control.PATH)
class VCRoute(NamedTuple):
    """Parameters."""

    tau_prior_per_ms2: float = 0.001  # precision of the initial belief, whose mean is 0
    variance_floor_ms2: float = 1.0
    sample: Sample = Sample.PREDICTIVE
    reward: RewardSource = RewardSource.PREDICTED
    loss_reward_ms: float = 0.0  # for DELAYED_ACTUAL; 0: lost packets are ignored
    loss_after_packets: int = 100
    discount: float = 1.0  # tau <- max(tau_prior, discount tau) before an update; 1 never forgets
    topk: TopK = TopK()
    predictor: Any = LastValue()  # or another of `vcgym.predictors`
    newest_weight: float = 1.0  # weight of the newest delay in the predictor's input; below 1 an EWMA
    jitter: WMJitter = WMJitter()
    packet_ms: float = 10.0  # packet interval


CALL = np.dtype(
    (
        np.record,
        [
            ("key", "u8"),
            ("kept", KEPT),
            ("screen_limit", SCREEN_LIMIT),
            ("unheard", "i4", (_RING,)),  # path chosen for a packet without feedback, by packet modulo the ring; -1: none
        ],
    )
)
ARM = np.dtype(
    (
        np.record,
        [
            ("mu_ms", "f8"),
            ("tau", "f8"),  # per ms^2
            ("tau0", "f8"),  # per ms^2
            ("sd_ms", "f8"),  # standard deviation of a draw
            ("newest_ms", "f8"),  # newest fed-back one-way delay, or its moving average
            ("newest_sent_us", "i8"),
            ("kept", KEPT_PATH),
        ],
    )
)


class VCRouteState(NamedTuple):
    """State; first axis: session."""

    call: np.recarray  # (sessions,) of CALL
    arm: np.recarray  # (sessions, paths) of ARM
    screening: Screening
    jitter: np.recarray  # of the rule that computes the lag


@allocate.register(VCRoute)
def _allocate(params, sessions, paths):
    require_within(
        params,
        tau_prior_per_ms2=(1e-9, 1e9),
        variance_floor_ms2=(1e-9, 1e9),
        loss_reward_ms=(0.0, 1e6 if params.reward == RewardSource.DELAYED_ACTUAL else 0.0),
        loss_after_packets=(1, _RING - 1),
        discount=(0.0, 1.0),
        newest_weight=(0.0, 1.0),
        packet_ms=PACKET_MS_RANGE,
    )
    require_top_k(params.topk)
    require_predictor(params.predictor)
    return VCRouteState(
        np.zeros(sessions, CALL).view(np.recarray),
        np.zeros((sessions, paths), ARM).view(np.recarray),
        allocate_screening(sessions, paths),
        allocate(params.jitter, sessions, paths),
    )


def require_predicted(route: VCRoute) -> None:
    """Check the reward of a VCRoute that another rule wraps.

    Raises:
        ValueError: the reward is not PREDICTED.
    """
    if route.reward is not RewardSource.PREDICTED:
        raise ValueError(f"VCRoute.reward is {route.reward!r}; allowed here: {RewardSource.PREDICTED!r}")


@init.register(VCRoute)
def _init(params, state, s, start, key):
    start_kept(params.topk, state.call[s].kept, state.arm, s, start)
    mean_ms = imputed_means(start)
    variance_ms2 = imputed_variances(start, params.variance_floor_ms2, 1.0 / params.tau_prior_per_ms2)
    for path in range(start.mean_ms.size):
        arm = state.arm[s, path]
        arm.mu_ms = 0.0
        arm.tau = params.tau_prior_per_ms2
        arm.tau0 = 1.0 / variance_ms2[path]
        arm.sd_ms = draw_sd(arm.tau, arm.tau0, params.sample)
        arm.newest_ms = mean_ms[path]
        arm.newest_sent_us = -1
    state.call[s].key = stream_key(key, 0, POLICY)
    state.call[s].unheard[:] = -1
    start_limit(state.call[s].screen_limit)
    init(params.jitter, state.jitter, s, start, key)


@update.register(VCRoute)
def _update(params, state, s, record):
    if has_converged(params.topk, state.call[s].kept):
        return
    arm = state.arm[s, record.path]
    delay_ms = (record.arrived_us - record.sent_us) / 1000.0
    watch(params.topk, arm.kept, delay_ms)
    if record.sent_us > arm.newest_sent_us:
        arm.newest_sent_us = record.sent_us
        arm.newest_ms = (1.0 - params.newest_weight) * arm.newest_ms + params.newest_weight * delay_ms
    if record.kind == MEDIA:
        if params.reward == RewardSource.DELAYED_ACTUAL:
            learn(params, state, s, record.path, delay_ms)
            state.call[s].unheard[record.packet % _RING] = -1
        else:
            update(params.jitter, state.jitter, s, record)


@decide.register(VCRoute)
def _decide(params, state, s, now_us):
    path, is_only = sample_path(params, state, s, now_us)
    if is_only:
        return path
    if params.reward == RewardSource.PREDICTED:
        transmit_ms, jitter_ms = predictor_inputs(params, state, s, path, now_us)
        learn(params, state, s, path, predict_e2e(params.predictor, transmit_ms, jitter_ms))
    else:
        state.call[s].unheard[packet_at(now_us, params.packet_ms) % _RING] = path
    return path


@kernel
def update_posterior(mu_ms, tau, tau0, x_ms):
    """Return the belief (mu, tau) after one observation.

    Args:
        mu_ms: float64, mean of the belief.
        tau: float64, its precision per ms^2, above 0.
        tau0: float64, precision of an observation per ms^2, above 0.
        x_ms: float64, the observation.
    """
    return (tau * mu_ms + tau0 * x_ms) / (tau + tau0), tau + tau0


@kernel
def draw_sd(tau, tau0, sample):
    """Return the standard deviation (ms) of a draw: of the next observation (PREDICTIVE) or of its mean alone (MEAN)."""
    return math.sqrt(1.0 / tau + 1.0 / tau0 if sample == Sample.PREDICTIVE else 1.0 / tau)


@kernel
def learn(params, state, s, path, x_ms):
    """Update the belief about one path with a reward.

    Args:
        params: VCRoute.
        state: VCRouteState; path `path` of row `s` is updated.
        s: int64, session.
        path: int64, path, 0 to paths - 1.
        x_ms: float64, the reward, a delay.
    """
    arm = state.arm[s, path]
    tau = arm.tau
    if params.discount < 1.0:
        tau = max(params.tau_prior_per_ms2, params.discount * tau)
    arm.mu_ms, arm.tau = update_posterior(arm.mu_ms, tau, arm.tau0, x_ms)
    arm.sd_ms = draw_sd(arm.tau, arm.tau0, params.sample)
    # The bound of a path depends on its belief; a stale one could hide a winning draw.
    if state.screening.upper_bound.shape[1] > 0:
        state.screening.upper_bound[s, path] = upper_bound(state.call[s].screen_limit.limit_ms, arm.mu_ms, arm.sd_ms)


@kernel
def sample_path(params, state, s, now_us):
    """Return the kept path with the smallest draw and False; or, if only one path remains for the whole call, that path and True.

    Args:
        params: VCRoute.
        state: VCRouteState; row `s` is updated.
        s: int64, session.
        now_us: int64, time of the decision; its slot numbers the draws.
    """
    call, arms, slot = state.call[s], state.arm, slot_at(now_us)
    refresh(params.topk, call.kept, arms, s, now_us)
    if has_converged(params.topk, call.kept):
        return arms[s, 0].kept.nth, True
    if params.loss_reward_ms > 0.0:
        count_lost(params, state, s, packet_at(now_us, params.packet_ms))
    return lowest_draw(state, s, slot), False


@kernel
def predictor_inputs(params, state, s, path, now_us):
    """Return the newest fed-back delay of a path and the lag of CalculateLag, in ms.

    Args:
        params: VCRoute.
        state: VCRouteState.
        s: int64, session.
        path: int64, path, 0 to paths - 1.
        now_us: int64, time of the decision.
    """
    return state.arm[s, path].newest_ms, decide(params.jitter, state.jitter, s, now_us) / 1000.0


@kernel
def count_lost(params, state, s, packet):
    """Count the packet sent `loss_after_packets` ago as lost, if it has no feedback, in the belief about its chosen path.

    Args:
        params: VCRoute.
        state: VCRouteState; row `s` is updated.
        s: int64, session.
        packet: int64, packet that leaves now.
    """
    call, index = state.call[s], (packet - params.loss_after_packets) % _RING
    path = call.unheard[index]
    if path >= 0:
        learn(params, state, s, path, params.loss_reward_ms)
        call.unheard[index] = -1
