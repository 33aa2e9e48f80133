"""VCRoute (arXiv 2310.05054): Thompson sampling over the paths that history does not rule out, rewarded with predicted end-to-end delays.

Per decision, among the candidates (`top_k.py`): draw from each path's Gaussian belief, choose the smallest draw, predict the end-to-end
delay x of a packet on that path, and update the belief about that path only, as a Gaussian mean with known observation precision
tau0:

    mu <- (tau mu + tau0 x) / (tau + tau0),   then   tau <- tau + tau0

(The paper increases tau before using it in mu, which counts the observation twice.) The initial belief has mean 0 and precision 0.001. This
is optimistic for a delay, so every candidate is tried. A draw is N(mu, 1/tau + 1/tau0), the posterior predictive of the paper (`sample`
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
variance approximates that of end-to-end delays. tau0 stays the same when the candidates are chosen again.

The paper's default plan is the plan in force: a decision that repeats the last one sends nothing; any other decision is a plan, which takes
effect one control delay later (`vcgym.envs.call.batch`: computed from the historical mean of the direct path and the router's location; 0
for a router at the sender, the paper's case without plan delay). The belief of the chosen path is updated even while the previous plan is
still in force.

Left out: a control delay that follows the control path's current delay, since delays belong to the control and not to the rule.
"""

import enum
import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.path.draws import upper_bound
from vcgym.baselines.path.history import imputed_means, imputed_variances
from vcgym.baselines.path.top_k import Bounds, Candidates, TopK, has_converged, refresh, start_candidates, watch
from vcgym.baselines.path.vcroute.screening import PASSES, UPPER, ScreenLimit, lowest_draw
from vcgym.baselines.playout.wmjitter import Lag, WMJitter, learn_lag, start_lag
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, Rows, record, rule
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.rng import POLICY, stream_key
from vcgym.network.kernels.slots import microseconds, packet_at, slot_at
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


@record
class Call:
    key: np.uint64 = np.uint64(0)
    candidates: Candidates = Candidates()
    screen_limit: ScreenLimit = ScreenLimit()
    pending: NDArray[np.int32] = np.full(_RING, -1, np.int32)  # path chosen for a packet without feedback, by packet modulo the ring
    jitter: Lag = Lag()


@record
class Arm:
    mu_ms: float = 0.0
    tau: float = 0.0  # per ms^2
    tau0: float = 0.0  # per ms^2
    sd_ms: float = 0.0  # standard deviation of a draw
    newest_ms: float = 0.0  # newest fed-back one-way delay, or its moving average
    newest_sent_us: int = -1
    bounds: Bounds = Bounds()


PARTS: dict[str, Any] = {"call": Call, "arms": Rows(Arm), "shortlist": Rows(np.int64), "upper": UPPER, "passes": PASSES}
"""State of a VCRoute, also where another rule wraps it."""


@rule(Control.PATH, **PARTS)
class VCRoute(NamedTuple):
    tau_prior_per_ms2: Annotated[float, (1e-9, 1e9)] = 0.001  # precision of the initial belief, whose mean is 0
    variance_floor_ms2: Annotated[float, (1e-9, 1e9)] = 1.0
    sample: Sample = Sample.PREDICTIVE
    reward: RewardSource = RewardSource.PREDICTED
    loss_reward_ms: Annotated[float, (0.0, 1e6)] = 0.0  # for DELAYED_ACTUAL alone; 0: lost packets are ignored
    loss_after_packets: Annotated[int, (1, _RING - 1)] = 100
    discount: Annotated[float, (0.0, 1.0)] = 1.0  # tau <- max(tau_prior, discount tau) before an update; 1 never forgets
    topk: TopK = TopK()
    predictor: Any = LastValue()  # or another of `vcgym.predictors`
    newest_weight: Annotated[float, (0.0, 1.0)] = 1.0  # weight of the newest delay in the predictor's input; below 1 an EWMA
    jitter: WMJitter = WMJitter()
    packet_ms: Annotated[float, PACKET_MS_RANGE] = 10.0  # packet interval

    def check(self):
        require_within(self, loss_reward_ms=(0.0, 1e6 if self.reward == RewardSource.DELAYED_ACTUAL else 0.0))
        require_predictor(self.predictor)

    def init(self, call, arms, shortlist, upper, passes, start, key):
        begin(self, call, arms, shortlist, start, key)

    def update(self, call, arms, shortlist, upper, passes, record):
        follow(self, call, arms, upper, record)

    def decide(self, call, arms, shortlist, upper, passes, now_us):
        path, is_only = sample_path(self, call, arms, shortlist, upper, passes, now_us)
        if is_only:
            return path
        if self.reward == RewardSource.PREDICTED:
            transmit_ms, jitter_ms = predictor_inputs(call, arms, path)
            learn(self, call, arms, upper, path, predict_e2e(self.predictor, transmit_ms, jitter_ms))
        else:
            call.pending[packet_at(now_us, self.packet_ms) % _RING] = path
        return path


def require_predicted(route: VCRoute) -> None:
    """Check the VCRoute that another rule wraps.

    Raises:
        ValueError: the reward is not PREDICTED, or a parameter is out of range.
    """
    route.check()
    if route.reward is not RewardSource.PREDICTED:
        raise ValueError(f"VCRoute.reward is {route.reward!r}; allowed here: {RewardSource.PREDICTED!r}")


@allocating_kernel
def begin(params, call, arms, shortlist, start, key):
    """Start a row whose records have their initial values.

    Args:
        params: VCRoute.
        call: Call, updated.
        arms: (paths,) of Arm, updated.
        shortlist: int64 (paths,), updated.
        start: PathHistory.
        key: uint64, key of the rule's random draws.
    """
    start_candidates(params.topk, call.candidates, arms, shortlist, start)
    mean_ms = imputed_means(start)
    variance_ms2 = imputed_variances(start, params.variance_floor_ms2, 1.0 / params.tau_prior_per_ms2)
    for path in range(arms.size):
        arm = arms[path]
        arm.tau = params.tau_prior_per_ms2
        arm.tau0 = 1.0 / variance_ms2[path]
        arm.sd_ms = draw_sd(arm.tau, arm.tau0, params.sample)
        arm.newest_ms = mean_ms[path]
    call.key = stream_key(key, 0, POLICY)
    start_lag(params.jitter, call.jitter, microseconds(params.jitter.start_lag_ms))


@kernel
def follow(params, call, arms, upper, record):
    """Learn from a record, as `update` does; `upper` is that of `lowest_draw`."""
    if has_converged(params.topk, call.candidates):
        return
    arm = arms[record.path]
    delay_ms = (record.arrived_us - record.sent_us) / 1000.0
    watch(params.topk, arm.bounds, delay_ms)
    if record.sent_us > arm.newest_sent_us:
        arm.newest_sent_us = record.sent_us
        arm.newest_ms = (1.0 - params.newest_weight) * arm.newest_ms + params.newest_weight * delay_ms
    if record.kind == MEDIA:
        if params.reward == RewardSource.DELAYED_ACTUAL:
            learn(params, call, arms, upper, record.path, delay_ms)
            call.pending[record.packet % _RING] = -1
        else:
            learn_lag(params.jitter, call.jitter, record)


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
def learn(params, call, arms, upper, path, x_ms):
    """Update the belief about one path with a reward.

    Args:
        params: VCRoute.
        call: Call; read only.
        arms: (paths,) of Arm; that of the path is updated.
        upper: uint64, upper bounds of the screening; that of the path is updated.
        path: int64, path, 0 to paths - 1.
        x_ms: float64, the reward, a delay.
    """
    arm = arms[path]
    tau = arm.tau
    if params.discount < 1.0:
        tau = max(params.tau_prior_per_ms2, params.discount * tau)
    arm.mu_ms, arm.tau = update_posterior(arm.mu_ms, tau, arm.tau0, x_ms)
    arm.sd_ms = draw_sd(arm.tau, arm.tau0, params.sample)
    # The bound of a path depends on its belief; a stale one could hide a winning draw.
    if upper.size > 0:
        upper[path] = upper_bound(call.screen_limit.limit_ms, arm.mu_ms, arm.sd_ms)


@kernel
def sample_path(params, call, arms, shortlist, upper, passes, now_us):
    """Return the candidate with the smallest draw and False; or, if only one path remains for the whole call, that path and True.

    Args:
        params: VCRoute.
        call: Call, updated.
        arms: (paths,) of Arm, updated.
        shortlist: int64 (paths,), updated.
        upper: uint64, upper bounds of the screening, updated.
        passes: uint8, its marks, overwritten.
        now_us: int64, time of the decision; its slot numbers the draws.
    """
    refresh(params.topk, call.candidates, arms, shortlist, now_us)
    if has_converged(params.topk, call.candidates):
        return shortlist[0], True
    if params.loss_reward_ms > 0.0:
        _count_lost(params, call, arms, upper, packet_at(now_us, params.packet_ms))
    return lowest_draw(call, arms, shortlist, upper, passes, slot_at(now_us)), False


@kernel
def predictor_inputs(call, arms, path):
    """Return the newest fed-back delay of a path and the lag of CalculateLag, in ms."""
    return arms[path].newest_ms, call.jitter.lag_us / 1000.0


@kernel
def _count_lost(params, call, arms, upper, packet):
    """Count the packet sent `loss_after_packets` before `packet` as lost, if it has no feedback, in the belief about its chosen path."""
    index = (packet - params.loss_after_packets) % _RING
    path = call.pending[index]
    if path >= 0:
        learn(params, call, arms, upper, path, params.loss_reward_ms)
        call.pending[index] = -1
