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
from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.path.history import imputed_means
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.network.kernels.jit import kernel

MAX_HALF_LIVES = 30.0  # maximum distance of the reference from now, in half lives
FARTHEST_BACK = 500.0  # half lives; older feedback has no weight anyway


@record
class Call:
    path: int = -1  # in use; -1 before the first decision
    reference_us: int = 0


@record
class Arm:
    usual_ms: float = 0.0  # h
    estimate_ms: float = 0.0  # e
    sent_us: int = -1  # sent time of the newest feedback; -1 before the first
    leaning_ms: float = 0.0


@rule(Control.PATH, call=Call, arms=Rows(Arm))
class Greedy(NamedTuple):
    smoothing_ms: Annotated[float, (0.0, 1e6)] = 0.0  # 0: only the newest delay
    margin_ms: Annotated[float, (0.0, 1e6)] = 5.0
    half_life_ms: Annotated[float, (1e-3, 1e9)] = 2000.0

    def init(self, call, arms, start, key):
        mean_ms = imputed_means(start)
        for path in range(arms.size):
            arms[path].usual_ms = mean_ms[path]
            arms[path].estimate_ms = mean_ms[path]

    def update(self, call, arms, record):
        arm = arms[record.path]
        since_us = record.sent_us - arm.sent_us
        if since_us <= 0:
            return
        weight = 1.0
        if self.smoothing_ms > 0.0 and arm.sent_us >= 0:
            weight = 1.0 - math.exp(-since_us / (1000.0 * self.smoothing_ms))
        arm.estimate_ms += weight * ((record.arrived_us - record.sent_us) / 1000.0 - arm.estimate_ms)
        arm.sent_us = record.sent_us
        arm.leaning_ms = (arm.estimate_ms - arm.usual_ms) / _fading(self, call, arms, record.sent_us)

    def decide(self, call, arms, now_us):
        fade = _fading(self, call, arms, now_us)
        best, best_ms = np.int64(0), math.inf
        for path in range(arms.size):
            expected_ms = arms[path].usual_ms + fade * arms[path].leaning_ms
            if expected_ms < best_ms:
                best, best_ms = np.int64(path), expected_ms
        if call.path < 0 or best_ms < arms[call.path].usual_ms + fade * arms[call.path].leaning_ms - self.margin_ms:
            call.path = best
        return call.path


@kernel
def _fading(params, call, arms, at_us):
    """Return 2^(-(at - reference) / half life), above 1 before the reference; a reference too far behind moves to `at_us`."""
    half_lives = (at_us - call.reference_us) / (1000.0 * params.half_life_ms)
    fade = math.exp(-math.log(2.0) * max(half_lives, -FARTHEST_BACK))
    if half_lives <= MAX_HALF_LIVES:
        return fade
    for path in range(arms.size):
        arms[path].leaning_ms *= fade
    call.reference_us = at_us
    return 1.0
