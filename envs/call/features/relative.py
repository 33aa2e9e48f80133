"""Observation of a few slots instead of all paths: the choices of an action of the form `relative`.

Slot 0 is the path in use (last commanded), slot 1 the other path with the smallest expected delay. The expected delay of a path is its
newest delay, which relaxes to the historical mean with age (half life 20 s), since old feedback says little.

Values are compressed, x / sqrt(1 + x^2), so that all are of order one and a few milliseconds are visible. They are computed from the
features of all paths and of the call; added features follow uncompressed.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.features.call import CALL_FEATURES, CALL_WIDTH
from vcgym.envs.call.features.layout import (
    LIMIT,
    PER_20_MS,
    Feature,
    ObservationLayout,
    ObservationPart,
    columns,
    compressed,
    compressed_features,
    factors,
)
from vcgym.envs.call.features.path import PATH, PATH_WIDTH
from vcgym.network.kernels.jit import kernel

MAX_SLOTS = 2
HALF_LIFE_S = 20.0

SLOT_FEATURES = (
    Feature("above_used", "20 ms, compressed: expected delay above that of the path in use", -1, 1, "newest_age"),
    Feature("expected", "100 ms", 0, LIMIT, "newest_age"),
    Feature("above_history", "20 ms, compressed: newest delay above the historical mean", -1, 1, "newest_age"),
    Feature("deviation", "20 ms, compressed: delay_deviation", 0, 1, "newest_age, 4 records"),
    Feature("spread", "20 ms, compressed: history_sd", 0, 1, "before the call"),
    Feature("missing", "percent, compressed: history_missing", 0, 1, "before the call"),
    Feature("stale", "s, compressed: newest_age", 0, 1, "0"),
)
SLOT = columns(SLOT_FEATURES)
SLOT_WIDTH = len(SLOT_FEATURES)
_FACTOR = factors(CALL_FEATURES)


def slot_count(paths: int) -> int:
    """Return the number of slots for `paths` paths."""
    return min(paths, MAX_SLOTS)


class Slots(NamedTuple):
    """Source and content of slots; first axis: session."""

    paths: NDArray[np.float32]  # (sessions, paths, features) of all paths
    call: NDArray[np.float32]  # (sessions, features)
    order: NDArray[np.int64]  # (sessions, slots): the path in each slot


def allocate_slots(sessions: int, whole: ObservationLayout) -> Slots:
    """Allocate slots for the parts of an observation of all paths."""
    paths = whole.parts["paths"].shape if "paths" in whole.parts else (0, 0)
    order = np.zeros((sessions, slot_count(paths[0])), np.int64)
    return Slots(np.zeros((sessions, *paths), np.float32), np.zeros((sessions, *whole.parts["call"].shape), np.float32), order)


def relative_layout(whole: ObservationLayout) -> ObservationLayout:
    """Return the layout of an observation of slots, given that of all paths."""
    parts = dict(whole.parts)
    parts["call"] = ObservationPart("call", (*compressed_features(CALL_FEATURES), *parts["call"].features[CALL_WIDTH:]))
    if paths := parts.pop("paths", None):
        names = tuple(map(str, range(slot_count(paths.shape[0]))))
        slots = ObservationPart("slots", (*SLOT_FEATURES, *paths.features[PATH_WIDTH:]), names)
        return ObservationLayout(slots, *parts.values())
    return ObservationLayout(*parts.values())


@kernel
def expected_delay(row):
    """Return the expected delay (100 ms) of a path with features `row`."""
    mean = row[PATH.history_mean]
    # Products of a float32 and a number are double in compiled code, and single in Python.
    above, age_s = np.float64(row[PATH.newest_delay] - mean), np.float64(row[PATH.newest_age])
    return mean + above * 0.5 ** (age_s / HALF_LIFE_S)


@kernel
def fill_slots(which, slots, paths, call):
    """Choose the paths of the slots of each session in `which`; write its features into `paths` (sessions, slots, features) and `call`."""
    for s in which:
        _choose(slots.paths[s], slots.order[s])
        for i in range(slots.order.shape[1]):
            _write_slot(slots.paths[s], slots.order[s], i, paths[s, i])
        for i in range(call.shape[1]):
            value = slots.call[s, i]
            call[s, i] = compressed(value * _FACTOR[i]) if i < CALL_WIDTH and _FACTOR[i] > 0.0 else value


@kernel
def _choose(rows, order):
    """Put the path in use into slot 0 and sort the others by expected delay, ties by index."""
    for path in range(rows.shape[0]):
        if rows[path, PATH.commanded] == 1.0:
            order[0] = path
    last, last_path = -math.inf, -1
    for i in range(1, order.size):
        best, best_path = math.inf, -1
        for path in range(rows.shape[0]):
            delay = expected_delay(rows[path])
            later = delay > last or (delay == last and path > last_path)
            if path != order[0] and later and delay < best:
                best, best_path = delay, path
        order[i] = last_path = best_path
        last = best


@kernel
def _write_slot(rows, order, i, out):
    row, used = rows[order[i]], rows[order[0]]
    expected = expected_delay(row)
    out[SLOT.above_used] = compressed(PER_20_MS * (expected - expected_delay(used)))
    out[SLOT.expected] = expected
    out[SLOT.above_history] = compressed(PER_20_MS * np.float64(row[PATH.newest_delay] - row[PATH.history_mean]))
    out[SLOT.deviation] = compressed(PER_20_MS * np.float64(row[PATH.delay_deviation]))
    out[SLOT.spread] = compressed(PER_20_MS * np.float64(row[PATH.history_sd]))
    out[SLOT.missing] = compressed(row[PATH.history_missing])
    out[SLOT.stale] = compressed(row[PATH.newest_age])
    for k in range(row.size - PATH_WIDTH):
        out[SLOT_WIDTH + k] = row[PATH_WIDTH + k]
