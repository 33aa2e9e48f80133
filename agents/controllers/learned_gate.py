"""A learned gate of rates: three rules learn from the reports of a call, and one of them drives.

The rules are SCReAM v2, NADA and the learned aim (`vcgym.agents.controllers.learned_aim`). Each learns from all reports and decides at
each, as if its own target were in force. The driver's target is that of the call, with its window, pacing and interval of reports. Every
second from `FROM_US` on, with x the features of `_features`, each compressed to x / sqrt(1 + |x|), and long means of them,

    preference[rule] = weights[rule] . (x, 1)

is the logarithm of the odds of a rule, and the best one takes over if its preference exceeds that of the driver by more than `margin`. A
call begins with SCReAM.

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
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.record import restart

SCREAM, NADA, AIM = range(3)
RULES = 3
_NOW = 29  # features of the last second
_LASTING = 27  # those of them whose long means are features too: all but who drives
WIDTH = _NOW + _LASTING
FROM_US, EVERY_US = 3_000_000, 1_000_000
_MEMORY_S, _LONG_MEMORY_S = 6.0, 20.0  # of the means
_SAMPLED = 9  # features that are of the last second, and means of it
_UNIT_MS = 20.0  # of delays
_LONG_MS = 100.0  # of round trips and of gaps between arrivals
_NONE_MS = 1e9


@record
class Reported:
    """State of a session: what reports have told the gate, with sums over the current second."""

    driver: int = SCREAM
    due_us: int = FROM_US
    since_us: int = 0  # last decision
    seconds: int = 0  # decisions so far
    min_bps: float = 0.0
    max_bps: float = 0.0
    waiting_bytes: int = 0
    packets: float = 0.0
    lost: float = 0.0
    bytes: float = 0.0
    sum_ms: float = 0.0  # of the queueing delay, ...
    squares: float = 0.0
    steps_ms: float = 0.0  # ... of its change from packet to packet, ...
    gaps: float = 0.0  # ... and of squared gaps between arrivals
    min_queue_ms: float = _NONE_MS
    max_queue_ms: float = 0.0
    max_gap_ms: float = 0.0
    min_rtt_ms: float = _NONE_MS
    base_rtt_ms: float = _NONE_MS  # least of the call
    base_ms: float = _NONE_MS  # least one-way delay of the call
    delay_ms: float = _NONE_MS  # of the newest packet
    arrived_us: int = 0
    log_rate: float = 0.0  # mean of the logarithm of the delivered rate
    log_rate_var: float = 0.0
    least_ms: NDArray[np.float64] = np.zeros(3)  # least queueing delays of the last seconds: a queue that others keep full
    means: NDArray[np.float64] = np.zeros(_SAMPLED)
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
    _learn(state.reported[s], record)


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
def _learn(reported, record):
    reported.packets += 1.0
    if record.arrived_us < 0:
        reported.lost += 1.0
        return
    delay_ms, rtt_ms = (record.arrived_us - record.sent_us) / 1000.0, (record.known_us - record.sent_us) / 1000.0
    reported.base_ms, reported.base_rtt_ms = min(reported.base_ms, delay_ms), min(reported.base_rtt_ms, rtt_ms)
    queue_ms = delay_ms - reported.base_ms
    reported.bytes += record.size_bytes
    reported.sum_ms += queue_ms
    reported.squares += queue_ms * queue_ms
    reported.min_queue_ms, reported.max_queue_ms = min(reported.min_queue_ms, queue_ms), max(reported.max_queue_ms, queue_ms)
    reported.min_rtt_ms = min(reported.min_rtt_ms, rtt_ms)
    if reported.delay_ms < _NONE_MS:
        gap_ms = (record.arrived_us - reported.arrived_us) / 1000.0
        reported.steps_ms += abs(delay_ms - reported.delay_ms)
        reported.gaps += gap_ms * gap_ms
        reported.max_gap_ms = max(reported.max_gap_ms, gap_ms)
    reported.delay_ms, reported.arrived_us = delay_ms, record.arrived_us


@kernel
def _features(reported, now_us):
    """Write the features: delays, gaps, losses, rates of the last second, their means, the targets of all rules, who drives; long means."""
    x, arrived, target_bps = reported.x, max(reported.packets - reported.lost, 1.0), reported.targets_bps[reported.driver]
    known = reported.packets > reported.lost
    mean_ms = reported.sum_ms / arrived if known else _UNIT_MS * reported.means[0]
    log_rate = math.log(max(8e6 * reported.bytes / (now_us - reported.since_us), 1e4))
    x[0] = mean_ms / _UNIT_MS
    x[1] = math.sqrt(max(reported.squares / arrived - mean_ms * mean_ms, 0.0)) / _UNIT_MS if known else 0.0
    x[2] = (reported.min_queue_ms if known else mean_ms) / _UNIT_MS
    x[3] = reported.max_queue_ms / _UNIT_MS
    x[4] = 5.0 * reported.steps_ms / arrived / _UNIT_MS
    x[5] = math.sqrt(reported.gaps / arrived) / 10.0
    x[6] = reported.max_gap_ms / _LONG_MS
    x[7] = 100.0 * reported.lost / max(reported.packets, 1.0)
    x[8] = log_rate - math.log(target_bps)
    weight = 1.0 / min(reported.seconds + 1.0, _MEMORY_S)
    for i in range(_SAMPLED):
        reported.means[i] += weight * (x[i] - reported.means[i])
        x[_SAMPLED + i] = reported.means[i]
    change = log_rate - reported.log_rate if reported.seconds > 0 else 0.0
    reported.log_rate = reported.log_rate + weight * change if reported.seconds > 0 else log_rate
    reported.log_rate_var += weight * (change * change - reported.log_rate_var)
    reported.least_ms[reported.seconds % 3] = _UNIT_MS * x[2]
    x[18] = rate_position(target_bps, reported.min_bps, reported.max_bps)
    for one in range(RULES):
        x[19 + one] = 2.0 * math.log(reported.targets_bps[one] / target_bps)
    x[22] = 3.0 * math.sqrt(reported.log_rate_var)
    x[23] = min(reported.least_ms[0], reported.least_ms[1], reported.least_ms[2]) / _UNIT_MS
    x[24] = reported.base_rtt_ms / _LONG_MS if reported.base_rtt_ms < _NONE_MS else 1.0
    x[25] = (reported.min_rtt_ms - reported.base_rtt_ms) / _LONG_MS if known else 3.0
    x[26] = 8000.0 * reported.waiting_bytes / target_bps / _UNIT_MS
    x[27] = 1.0 if reported.driver == NADA else 0.0
    x[28] = 1.0 if reported.driver == AIM else 0.0
    for i in range(_NOW):
        x[i] = x[i] / math.sqrt(1.0 + abs(x[i]))
    for i in range(_LASTING):
        x[_NOW + i] += (x[i] - x[_NOW + i]) / min(reported.seconds + 1.0, _LONG_MEMORY_S)
    reported.seconds, reported.since_us = reported.seconds + 1, now_us
    reported.packets = reported.lost = reported.bytes = reported.sum_ms = reported.squares = reported.steps_ms = reported.gaps = 0.0
    reported.max_queue_ms = reported.max_gap_ms = 0.0
    reported.min_queue_ms = reported.min_rtt_ms = _NONE_MS
