"""A learned gate of rates: three rules learn from the reports of a call, and one of them drives.

The rules are SCReAM v2, NADA and the learned aim (`vcgym.agents.controllers.learned_aim`). Each learns from all reports and decides at
each, as if its own target were in force. The driver's target is that of the call, with its window, pacing and interval of reports. Every
second from `FROM_US` on, with x the features of `_features`, each compressed to x / sqrt(1 + |x|), and long means of them,

    preference[rule] = weights[rule] . (x, 1)

is the logarithm of the odds of a rule, and the best one takes over if its preference exceeds that of the driver by more than `margin`. A
call begins with SCReAM. Where NADA or the aim drives and the send queue holds what takes `STUCK_US` at the target, the link is nearly dead:
SCReAM, whose window keeps packets out of the network, drives for `HOLD_US`.

Our own design; `lab.learners.gate` fits the weights.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.learned_aim import LearnedAim
from vcgym.baselines.rule import (
    NEVER_US,
    Control,
    allocate,
    decide,
    init,
    pacing,
    reads_marks,
    record,
    records,
    report_every_us,
    require_rule,
    rule,
    see_sender,
    update,
    wake_us,
    window_bytes,
)
from vcgym.envs.call.features.layout import rate_position
from vcgym.envs.call.features.stretch import STRETCH_WIDTH, Stretch, end_stretch, learn_stretch, write_stretch
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.record import restart

SCREAM, NADA, AIM = range(3)
RULES = 3
_LASTING = STRETCH_WIDTH + RULES + 2  # features of the last second whose long means are features too: all but who drives
_NOW = _LASTING + 2
WIDTH = _NOW + _LASTING
FROM_US, EVERY_US = 3_000_000, 1_000_000
STUCK_US, HOLD_US = 3_000_000, 10_000_000
_LONG_MEMORY = 20.0  # decisions, of the long means
_WAITING_MS = 20.0  # unit of what waits


@record
class Reported:
    """State of a session: who drives, sums over the reports of the current second, and the features of the last one."""

    stretch: Stretch
    driver: int = SCREAM
    due_us: int = FROM_US
    held_until_us: int = 0
    min_bps: float = 0.0
    max_bps: float = 0.0
    waiting_bytes: int = 0
    targets_bps: NDArray[np.float64] = np.zeros(RULES)
    x: NDArray[np.float64] = np.zeros(WIDTH)  # the long means last


@rule(Control.RATE, learned=True)
class LearnedGate(NamedTuple):
    """Parameters: the rules, the learned aim by its weights, and the gate."""

    scream: Any
    nada: Any
    first: NDArray[np.float32]
    second: NDArray[np.float32]
    last: NDArray[np.float32]
    weights: NDArray[np.float64]  # (RULES, WIDTH + 1), the last column is the bias
    margin: Annotated[float, (0.0, 100.0)] = 1.0


class LearnedGateState(NamedTuple):
    """States of the rules, and of the gate."""

    scream: Any
    nada: Any
    aim: Any
    reported: NDArray[np.void]


_NEW = records(Reported, 1)


@allocate.register(LearnedGate)
def _allocate(params, sessions, paths):
    require_within(params)
    require_rule("scream", params.scream, Control.RATE)
    require_rule("nada", params.nada, Control.RATE)
    if params.weights.shape != (RULES, WIDTH + 1) or not np.isfinite(params.weights).all():
        raise ValueError(f"weights have shape {params.weights.shape}: allowed is {(RULES, WIDTH + 1)}, of finite numbers")
    rules = params.scream, params.nada, LearnedAim(params.first, params.second, params.last)
    scream, nada, aim = (allocate(one, sessions, paths) for one in rules)
    return LearnedGateState(scream, nada, aim, records(Reported, sessions))


@init.register(LearnedGate)
def _init(params, state, s, start, key):
    init(params.scream, state.scream, s, start, key)
    init(params.nada, state.nada, s, start, key)
    init(LearnedAim(params.first, params.second, params.last), state.aim, s, start, key)
    restart(state.reported[s : s + 1], _NEW)
    state.reported[s].min_bps, state.reported[s].max_bps = start.min_bps, start.max_bps


@update.register(LearnedGate)
def _update(params, state, s, record):
    update(params.scream, state.scream, s, record)
    update(params.nada, state.nada, s, record)
    update(LearnedAim(params.first, params.second, params.last), state.aim, s, record)
    learn_stretch(state.reported[s].stretch, record)


@see_sender.register(LearnedGate)
def _see_sender(params, state, s, status):
    see_sender(params.scream, state.scream, s, status)
    see_sender(params.nada, state.nada, s, status)
    see_sender(LearnedAim(params.first, params.second, params.last), state.aim, s, status)
    state.reported[s].waiting_bytes = status.waiting_bytes


@decide.register(LearnedGate)
def _decide(params, state, s, now_us):
    reported = state.reported[s]
    reported.targets_bps[SCREAM] = decide(params.scream, state.scream, s, now_us)
    reported.targets_bps[NADA] = decide(params.nada, state.nada, s, now_us)
    reported.targets_bps[AIM] = decide(LearnedAim(params.first, params.second, params.last), state.aim, s, now_us)
    if now_us >= reported.due_us:
        reported.due_us = now_us + EVERY_US
        _features(reported, now_us)
        if _holds(reported, now_us):
            reported.driver = SCREAM
        else:
            _choose(params, reported)
    return np.int64(reported.targets_bps[reported.driver])


@window_bytes.register(LearnedGate)
def _window_bytes(params, state, s):
    return window_bytes(params.scream, state.scream, s) if state.reported[s].driver == SCREAM else np.int64(NEVER_US)


@wake_us.register(LearnedGate)
def _wake_us(params, state, s):
    return wake_us(params.scream, state.scream, s)


@reads_marks.register(LearnedGate)
def _reads_marks(params, state, s):
    return reads_marks(params.scream, state.scream, s)


@pacing.register(LearnedGate)
def _pacing(params, state, s, default):
    if state.reported[s].driver == SCREAM:
        return pacing(params.scream, state.scream, s, default)
    if state.reported[s].driver == NADA:
        return pacing(params.nada, state.nada, s, default)
    return pacing(LearnedAim(params.first, params.second, params.last), state.aim, s, default)


@report_every_us.register(LearnedGate)
def _report_every_us(params, state, s, default_us):
    if state.reported[s].driver == SCREAM:
        return report_every_us(params.scream, state.scream, s, default_us)
    if state.reported[s].driver == NADA:
        return report_every_us(params.nada, state.nada, s, default_us)
    return report_every_us(LearnedAim(params.first, params.second, params.last), state.aim, s, default_us)


@kernel
def _holds(reported, now_us):
    """Return True while SCReAM must drive, since the send queue was stuck under another rule."""
    if reported.driver != SCREAM and 8e6 * reported.waiting_bytes > float(STUCK_US) * reported.targets_bps[reported.driver]:
        reported.held_until_us = now_us + HOLD_US
    return now_us < reported.held_until_us


@kernel
def _choose(params, reported):
    """Let the rule with the greatest preference drive, if it is greater by the margin."""
    best, found = reported.driver, _preference(params.weights, reported.x, reported.driver) + params.margin
    for one in range(RULES):
        preference = _preference(params.weights, reported.x, one)
        if preference > found:
            best, found = one, preference
    reported.driver = best


@kernel
def _preference(weights, x, one):
    found = weights[one, WIDTH]
    for i in range(WIDTH):
        found += weights[one, i] * x[i]
    return found


@kernel
def _features(reported, now_us):
    """Write the features: those of the stretch since the last decision, the targets of all rules, what waits, who drives; long means."""
    x, stretch, target_bps = reported.x, reported.stretch, reported.targets_bps[reported.driver]
    write_stretch(stretch, target_bps, now_us, x)
    x[STRETCH_WIDTH] = rate_position(target_bps, reported.min_bps, reported.max_bps)
    for one in range(RULES):
        x[STRETCH_WIDTH + 1 + one] = 2.0 * math.log(reported.targets_bps[one] / target_bps)
    x[_LASTING - 1] = 8000.0 * reported.waiting_bytes / target_bps / _WAITING_MS
    x[_LASTING] = 1.0 if reported.driver == NADA else 0.0
    x[_LASTING + 1] = 1.0 if reported.driver == AIM else 0.0
    for i in range(_NOW):
        x[i] = x[i] / math.sqrt(1.0 + abs(x[i]))
    for i in range(_LASTING):
        x[_NOW + i] += (x[i] - x[_NOW + i]) / min(stretch.decisions + 1.0, _LONG_MEMORY)
    end_stretch(stretch, now_us)
