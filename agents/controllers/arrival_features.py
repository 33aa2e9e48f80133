"""Features of an arrival at the receiver: the input of a learned lag.

Delays are in units of 20 ms and relative to the newest delay, so clocks need not agree; only `level_*` are absolute. Averages and peaks
describe the stream: at a change of path they shift by the step of the delay, so that the difference between two paths does not count as
deviation of one path. Probes do not count as arrivals.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.features.layout import Feature, columns
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.quality import REDUCED_KNEE_MS

LIMIT = 2000.0  # in 20 ms: no packet is in flight for longer than 39 s

_DELAY, _AGE = "20 ms", "0"
FEATURES = (
    Feature("above_fast", f"{_DELAY}: newest delay above the mean of about 3 packets", -LIMIT, LIMIT, _AGE),
    Feature("above_medium", f"{_DELAY}: ... of 300 ms", -LIMIT, LIMIT, _AGE),
    Feature("above_slow", f"{_DELAY}: ... of 3 s", -LIMIT, LIMIT, _AGE),
    Feature("deviation_fast", f"{_DELAY}: mean absolute deviation over the same times", 0, LIMIT, _AGE),
    Feature("deviation_medium", _DELAY, 0, LIMIT, _AGE),
    Feature("deviation_slow", _DELAY, 0, LIMIT, _AGE),
    Feature("peak_1s", f"{_DELAY}: peak above the slow mean with this half life, above the newest delay", -LIMIT, LIMIT, _AGE),
    Feature("peak_5s", _DELAY, -LIMIT, LIMIT, _AGE),
    Feature("peak_30s", _DELAY, -LIMIT, LIMIT, _AGE),
    Feature("quantile_90", f"{_DELAY}: running quantile of the delay, above the newest delay", -LIMIT, LIMIT, _AGE),
    Feature("quantile_97", _DELAY, -LIMIT, LIMIT, _AGE),
    Feature("quantile_99", _DELAY, -LIMIT, LIMIT, _AGE),
    Feature("above_minimum", f"{_DELAY}: newest delay above the smallest of the last 2 s, from which the player aims", 0, LIMIT, _AGE),
    Feature("above_path_minimum", f"{_DELAY}: ... above the smallest of this path in the call", 0, LIMIT, _AGE),
    Feature("above_history", f"{_DELAY}: ... above the mean of this path in the history", -LIMIT, LIMIT, _AGE),
    Feature("history_sd", f"{_DELAY}: standard deviation of this path in the history", 0, LIMIT, "before the call"),
    Feature("slope", f"{_DELAY}: newest delay above the one before", -LIMIT, LIMIT, _AGE),
    Feature("gap", f"{_DELAY}: time since the last arrival", 0, LIMIT, _AGE),
    Feature("skipped", "packets missing between the newest and this one; or minus those that overtook this one", -20, 20, _AGE),
    Feature("missing", "percent of packets missing in the last second; above 100 after a silence", 0, 4000, _AGE),
    Feature("missing_slow", "percent of packets missing in the last ten seconds", 0, 400, _AGE),
    Feature("since_change", "1 at a change of path, half as much every 500 ms", 0, 1, _AGE),
    Feature("change_step", f"{_DELAY}: delay of the path before, above this one's, at the change; fades alike", -LIMIT, LIMIT, _AGE),
    Feature("level_slow", f"{_DELAY}: slow mean above the knee of the delay impairment", -LIMIT, LIMIT, _AGE),
    Feature("level_call", f"{_DELAY}: mean delay of the call so far above the same", -LIMIT, LIMIT, _AGE),
)
"""Features before their compression."""
AT = columns(FEATURES)
WIDTH = len(FEATURES)
UNIT_MS = 20.0
MAX_SKIPPED = 20.0
PACKETS_FAST = 3.0
MEMORY_MS = np.array([0.0, 300.0, 3000.0])  # memory of the averages, except the fast one
HALF_LIFE_MS = np.array([1000.0, 5000.0, 30000.0])  # half-lives of the peaks
MISSING_PACKETS = np.array([100.0, 1000.0])  # memory of the shares of missing packets
CHANGE_HALF_LIFE_MS = 500.0
QUANTILE = np.array([0.90, 0.97, 0.99])
QUANTILE_STEP = np.array([0.1, 0.15, 0.2])  # step of a running quantile, in mean deviations
MIN_DEVIATION_MS = 0.1  # lets a running quantile move on a path without jitter

_SLOT_MS = SLOT_US / 1000.0
_WEIGHT = np.array([1.0 / PACKETS_FAST, *(1.0 - np.exp(-_SLOT_MS / MEMORY_MS[1:]))])  # one slot after the previous packet
_FADE = np.exp(-math.log(2.0) * _SLOT_MS / HALF_LIFE_MS)


@record
class Arrivals:
    """Statistics of the arrivals of a call."""

    packets: int = 0  # arrivals so far
    newest: int = -1  # largest packet number, and its sent time
    newest_us: int = -SLOT_US
    arrived_us: int = 0  # last arrival
    path: int = -1  # path of the newest packet
    delay_ms: float = 0.0
    mean_ms: NDArray[np.float64] = np.zeros(3)
    deviation_ms: NDArray[np.float64] = np.zeros(3)
    peak_ms: NDArray[np.float64] = np.zeros(3)  # above the slow mean
    quantile_ms: NDArray[np.float64] = np.zeros(3)
    missing: NDArray[np.float64] = np.zeros(2)
    sum_ms: float = 0.0  # sum of delays
    changed_us: int = -(1 << 40)  # arrival at which the path changed
    step_ms: float = 0.0


@record
class Arm:
    """Delays of a path: the smallest one of the call, and those before it."""

    minimum_ms: float = math.inf
    mean_ms: float = 0.0
    sd_ms: float = 0.0


@kernel
def _start_averages(seen, record, delay_ms):
    for i in range(3):
        seen.mean_ms[i] = delay_ms
        seen.quantile_ms[i] = delay_ms
    seen.delay_ms = delay_ms
    seen.arrived_us = record.arrived_us
    seen.path = record.path


@kernel
def _follow_path(seen, record, delay_ms):
    """Shift the averages by the step of the delay if the newest packet took another path."""
    if record.path == seen.path or record.sent_us < seen.newest_us:
        return
    step_ms = delay_ms - seen.mean_ms[0]
    seen.step_ms = -step_ms
    seen.changed_us = record.arrived_us
    seen.path = record.path
    seen.delay_ms += step_ms
    for i in range(3):
        seen.mean_ms[i] += step_ms
        seen.quantile_ms[i] += step_ms


@kernel
def _average(seen, delay_ms, passed_ms):
    """Update averages, deviations and peaks with a delay that arrived `passed_ms` after the previous one."""
    for i in range(3):
        weight, fade = _WEIGHT[i], _FADE[i]
        if passed_ms != _SLOT_MS:
            weight = weight if i == 0 else 1.0 - math.exp(-passed_ms / MEMORY_MS[i])
            fade = math.exp(-math.log(2.0) * passed_ms / HALF_LIFE_MS[i])
        seen.deviation_ms[i] += weight * (abs(delay_ms - seen.mean_ms[i]) - seen.deviation_ms[i])
        seen.mean_ms[i] += weight * (delay_ms - seen.mean_ms[i])
        seen.peak_ms[i] = max(seen.peak_ms[i] * fade, delay_ms - seen.mean_ms[2])
        step_ms = QUANTILE_STEP[i] * (seen.deviation_ms[2] + MIN_DEVIATION_MS)
        seen.quantile_ms[i] += step_ms * (QUANTILE[i] if delay_ms > seen.quantile_ms[i] else QUANTILE[i] - 1.0)


@kernel
def take_arrival(seen, arms, record, jitter_us, x):
    """Update the statistics with an arrival and write its features into the first WIDTH of `x`, each compressed: x / sqrt(1 + |x|).

    Args:
        seen: Arrivals, updated.
        arms: (paths,) of Arm; that of the packet is updated.
        record: the media packet.
        jitter_us: newest delay minus the minimum of the last 2 s (`vcgym.baselines.playout.jitter_window`), >= 0.
        x: result, written.
    """
    delay_ms = (record.arrived_us - record.sent_us) / 1000.0
    if seen.packets == 0:
        _start_averages(seen, record, delay_ms)
    gap_ms = (record.arrived_us - seen.arrived_us) / 1000.0
    skipped = np.float64(record.packet - seen.newest)
    overtaken = skipped < 0.0
    if not overtaken:
        _follow_path(seen, record, delay_ms)
        x[AT.slope] = (delay_ms - seen.delay_ms) / UNIT_MS
        _average(seen, delay_ms, (record.sent_us - seen.newest_us) / 1000.0)
        for i in range(2):
            seen.missing[i] = seen.missing[i] * (1.0 - 1.0 / MISSING_PACKETS[i]) + (skipped - 1.0) / MISSING_PACKETS[i]
        seen.newest = record.packet
        seen.newest_us = record.sent_us
        seen.delay_ms = delay_ms
    else:
        x[AT.slope] = 0.0
        for i in range(2):
            seen.missing[i] = max(0.0, seen.missing[i] - 1.0 / MISSING_PACKETS[i])
    seen.packets += 1
    seen.sum_ms += delay_ms
    seen.arrived_us = record.arrived_us
    arms[record.path].minimum_ms = min(arms[record.path].minimum_ms, delay_ms)
    _write(seen, arms[seen.path], x)
    x[AT.above_minimum] = jitter_us / 1000.0 / UNIT_MS
    x[AT.gap] = gap_ms / UNIT_MS
    x[AT.skipped] = min(skipped - 1.0, MAX_SKIPPED) if not overtaken else max(skipped, -MAX_SKIPPED)
    for i in range(WIDTH):
        x[i] = x[i] / math.sqrt(np.float32(1.0) + abs(x[i]))


@kernel
def _write(seen, arm, x):
    """Write the features that follow from the averages."""
    for i in range(3):
        x[AT.above_fast + i] = (seen.delay_ms - seen.mean_ms[i]) / UNIT_MS
        x[AT.deviation_fast + i] = seen.deviation_ms[i] / UNIT_MS
        x[AT.peak_1s + i] = (seen.peak_ms[i] + seen.mean_ms[2] - seen.delay_ms) / UNIT_MS
        x[AT.quantile_90 + i] = (seen.quantile_ms[i] - seen.delay_ms) / UNIT_MS
    x[AT.above_path_minimum] = (seen.delay_ms - arm.minimum_ms) / UNIT_MS
    x[AT.above_history] = (seen.delay_ms - arm.mean_ms) / UNIT_MS
    x[AT.history_sd] = arm.sd_ms / UNIT_MS
    for i in range(2):
        x[AT.missing + i] = 100.0 * seen.missing[i]
    since_ms = (seen.arrived_us - seen.changed_us) / 1000.0
    recent = math.exp(-math.log(2.0) * since_ms / CHANGE_HALF_LIFE_MS) if since_ms < 20.0 * CHANGE_HALF_LIFE_MS else 0.0
    x[AT.since_change] = recent
    x[AT.change_step] = recent * seen.step_ms / UNIT_MS
    x[AT.level_slow] = (seen.mean_ms[2] - REDUCED_KNEE_MS) / UNIT_MS
    x[AT.level_call] = (seen.sum_ms / seen.packets - REDUCED_KNEE_MS) / UNIT_MS
