"""Features of each path: delays of its records in units of 100 ms. Until a path has a record, its history is used.

Sources: smoothed delay and deviation follow RFC 6298 (2.3), with its alpha and beta.
"""

import numpy as np

from vcgym.envs.call.features.layout import LIMIT, PER_100_MS, PER_SECOND, Feature, columns, within
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.worlds.world import HISTORY_BLOCKS

SMOOTHING = 1.0 / 8.0
DEVIATION_SMOOTHING = 1.0 / 4.0
HISTORY_SLOTS = HISTORY_BLOCKS * BLOCK_SLOTS

PATH_FEATURES = (
    Feature("history_mean", "100 ms", 0, LIMIT, "before the call"),
    Feature("history_sd", "100 ms", 0, LIMIT, "before the call"),
    Feature("history_missing", "percent of the slots before the call", 0, LIMIT, "before the call"),
    Feature("newest_delay", "100 ms", 0, LIMIT, "newest_age"),
    Feature("newest_age", "s, since the packet was sent", 0, LIMIT, "0"),
    Feature("smoothed_delay", "100 ms", 0, LIMIT, "newest_age, 8 records"),
    Feature("delay_deviation", "100 ms", 0, LIMIT, "newest_age, 4 records"),
    Feature("excess_over_best", "100 ms, smoothed or history delay above the smallest of all paths", 0, LIMIT, "newest_age"),
    Feature("commanded", "1 on the path last decided", 0, 1, "0"),
)
PATH = columns(PATH_FEATURES)
PATH_WIDTH = len(PATH_FEATURES)

_CLEAN, _UPDATED, _ALL = 0, 1, 2


@record
class PathStats:
    """State from which the features of a path are computed; delays are those of its history before its first record."""

    received: int = 0
    newest_sent_us: int = -(2**62)
    newest_ms: float = 0.0
    smoothed_ms: float = 0.0
    deviation_ms: float = 0.0
    dirty: int = _ALL  # parts changed since the last write


@kernel
def update_path(path, record, delay_ms):
    """Update with a record of this path."""
    if path.received == 0:
        path.newest_sent_us = record.sent_us
        path.newest_ms = delay_ms
        path.smoothed_ms = delay_ms
        path.deviation_ms = 0.5 * delay_ms
    else:
        if record.sent_us >= path.newest_sent_us:
            path.newest_sent_us = record.sent_us
            path.newest_ms = delay_ms
        path.deviation_ms += DEVIATION_SMOOTHING * (abs(delay_ms - path.smoothed_ms) - path.deviation_ms)
        path.smoothed_ms += SMOOTHING * (delay_ms - path.smoothed_ms)
    path.received += 1
    path.dirty = max(path.dirty, _UPDATED)


@kernel
def write_paths(states, s, now_us, history, commanded, out):
    """Update the changed features of the paths of session `s` in `out`, float32 (sessions, paths, features), the same array every time.

    `states`: (sessions, paths) of PathStats. `history`: (sessions, paths, 3), n, mean and sd in ms before the call. `commanded`: last
    decided path.
    """
    best_ms = np.inf
    for p in range(states.shape[1]):
        best_ms = min(best_ms, states[s, p].smoothed_ms)
    for p in range(states.shape[1]):
        path, row = states[s, p], out[s, p]
        if path.dirty == _ALL:
            _write_history(history[s, p], row)
        if path.dirty != _CLEAN:
            _write_delays(path, row)
        row[PATH.newest_age] = within((now_us - path.newest_sent_us) * PER_SECOND, 0.0, LIMIT)
        row[PATH.excess_over_best] = within((path.smoothed_ms - best_ms) * PER_100_MS, 0.0, LIMIT)
        row[PATH.commanded] = 1.0 if p == commanded else 0.0


@kernel
def _write_history(history, row):
    row[PATH.history_mean] = within(history[1] * PER_100_MS, 0.0, LIMIT)
    row[PATH.history_sd] = within(history[2] * PER_100_MS, 0.0, LIMIT)
    row[PATH.history_missing] = within(100.0 - history[0] * (100.0 / HISTORY_SLOTS), 0.0, LIMIT)


@kernel
def _write_delays(path, row):
    path.dirty = _CLEAN
    row[PATH.newest_delay] = within(path.newest_ms * PER_100_MS, 0.0, LIMIT)
    row[PATH.smoothed_delay] = within(path.smoothed_ms * PER_100_MS, 0.0, LIMIT)
    row[PATH.delay_deviation] = within(path.deviation_ms * PER_100_MS, 0.0, LIMIT)
