"""Greedy: the path with the smallest expected delay by recent feedback, with hysteresis; old feedback relaxes to history.

The expected delay of a path depends on its estimate e (ms), the sent time of its newest feedback (packet or probe) and its historical
mean h:

    expected = h + (e - h) 2^-(age / half life),   age = now - that sent time

e is the newest fed-back one-way delay or, with smoothing, an average of fed-back delays with weights exp(-time / smoothing). Feedback older
than the newest is ignored. The rule leaves the current path when another one is expected to be faster by more than a margin.
A path without history uses the median of the other means as h; if no path has history, h = 0, so each is tried, and again once stale.

All paths relax at the same rate. So the state of a path is (e - h) 2^((sent time - reference) / half life), and a decision needs a single
power for all paths. The reference follows the call so that the powers do not overflow.

Our own formulation of a common rule; probes count as much as media.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.path.history import imputed_means
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

MAX_HALF_LIVES = 30.0  # maximum distance of the reference from now, in half lives
FARTHEST_BACK = 500.0  # half lives; older feedback has no weight anyway


@rule(Control.PATH)
class Greedy(NamedTuple):
    """Parameters."""

    smoothing_ms: float = 0.0  # 0: only the newest delay
    margin_ms: float = 5.0
    half_life_ms: float = 2000.0


CALL = np.dtype((np.record, [("path", "i8"), ("reference_us", "i8")]))  # path in use; -1 before the first decision
ARM = np.dtype(
    (
        np.record,
        [
            ("usual_ms", "f8"),  # h
            ("estimate_ms", "f8"),  # e
            ("sent_us", "i8"),  # sent time of the newest feedback; -1 before the first
            ("leaning_ms", "f8"),
        ],
    )
)


class GreedyState(NamedTuple):
    """State; first axis: session."""

    call: np.recarray  # (sessions,) of CALL
    arm: np.recarray  # (sessions, paths) of ARM


@allocate.register(Greedy)
def _allocate(params, sessions, paths):
    require_within(params, smoothing_ms=(0.0, 1e6), margin_ms=(0.0, 1e6), half_life_ms=(1e-3, 1e9))
    return GreedyState(np.zeros(sessions, CALL).view(np.recarray), np.zeros((sessions, paths), ARM).view(np.recarray))


@init.register(Greedy)
def _init(params, state, s, start, key):
    state.call[s].path = -1
    state.call[s].reference_us = 0
    mean_ms = imputed_means(start)
    for path in range(start.mean_ms.size):
        arm = state.arm[s, path]
        arm.usual_ms = mean_ms[path]
        arm.estimate_ms = mean_ms[path]
        arm.sent_us = -1
        arm.leaning_ms = 0.0


@update.register(Greedy)
def _update(params, state, s, record):
    arm = state.arm[s, record.path]
    since_us = record.sent_us - arm.sent_us
    if since_us <= 0:
        return
    weight = 1.0
    if params.smoothing_ms > 0.0 and arm.sent_us >= 0:
        weight = 1.0 - math.exp(-since_us / (1000.0 * params.smoothing_ms))
    arm.estimate_ms += weight * ((record.arrived_us - record.sent_us) / 1000.0 - arm.estimate_ms)
    arm.sent_us = record.sent_us
    arm.leaning_ms = (arm.estimate_ms - arm.usual_ms) / fading(params, state, s, record.sent_us)


@decide.register(Greedy)
def _decide(params, state, s, now_us):
    fade = fading(params, state, s, now_us)
    best, best_ms = np.int64(0), math.inf
    for path in range(state.arm.shape[1]):
        expected_ms = state.arm[s, path].usual_ms + fade * state.arm[s, path].leaning_ms
        if expected_ms < best_ms:
            best, best_ms = np.int64(path), expected_ms
    current = state.call[s].path
    if current < 0 or best_ms < state.arm[s, current].usual_ms + fade * state.arm[s, current].leaning_ms - params.margin_ms:
        state.call[s].path = best
    return state.call[s].path


@kernel
def fading(params, state, s, at_us):
    """Return 2^(-(at - reference) / half life), after moving the reference to `at_us` if it is too far behind.

    Args:
        params: Greedy.
        state: GreedyState; row `s` is updated if the reference moves.
        s: int64, session.
        at_us: int64, an instant; it may lie before the reference.

    Returns:
        Weight, float64, above 0; above 1 for an instant before the reference.
    """
    call = state.call[s]
    half_lives = (at_us - call.reference_us) / (1000.0 * params.half_life_ms)
    fade = math.exp(-math.log(2.0) * max(half_lives, -FARTHEST_BACK))
    if half_lives <= MAX_HALF_LIVES:
        return fade
    for path in range(state.arm.shape[1]):
        state.arm[s, path].leaning_ms *= fade
    call.reference_us = at_us
    return 1.0
