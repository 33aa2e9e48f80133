"""Observation of an agent: features, computed only from the records that have reached its location, or these records themselves."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.records import MEDIA, write_record
from vcgym.baselines.rule import allocate, update
from vcgym.envs.call.features.added import measure_added
from vcgym.envs.call.features.call import CALL_FEATURES, CALL_WIDTH, CallStats, update_call, write_call
from vcgym.envs.call.features.layout import Feature, ObservationLayout, ObservationPart
from vcgym.envs.call.features.path import PATH_FEATURES, PATH_WIDTH, PathStats, update_path, write_paths
from vcgym.envs.call.paths.feed import read_next, unread
from vcgym.envs.call.paths.prefetching import ask_for_beginnings, ask_for_records
from vcgym.envs.call.paths.receiving import record_in_hand
from vcgym.envs.call.paths.state import BEGINNINGS, FEED_ROWS, awaits_level
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import records
from vcgym.network.kernels.slots import SLOT_US

RECORDS_SHOWN = 512  # most records of an observation
_NEW_CALL, _NEW_PATH = records(CallStats, 1), records(PathStats, 1)


def call_layout(
    path_names: tuple[str, ...], *others: ObservationPart, of_path: tuple[Feature, ...] = (), of_call: tuple[Feature, ...] = ()
) -> ObservationLayout:
    """Return the parts of an observation of calls.

    Args:
        path_names: names of the paths; () for an agent at the receiver, which does not observe paths.
        others: parts after those of the call.
        of_path: features added to those of each path.
        of_call: features added to those of the call.
    """
    of_paths = [ObservationPart("paths", (*PATH_FEATURES, *of_path), path_names)] if path_names else []
    return ObservationLayout(*of_paths, ObservationPart("call", (*CALL_FEATURES, *of_call)), *others)


class FeatureState(NamedTuple):
    """State from which features are computed; first axis: session."""

    paths: NDArray  # (sessions, paths) of PathStats
    call: NDArray  # (sessions,) of CallStats
    added: Any  # state of the added features


def allocate_features(sessions: int, paths: int, added: NamedTuple) -> FeatureState:
    """Return an initial state, with added features (`vcgym.envs.call.features.added`)."""
    return FeatureState(records(PathStats, sessions, paths), records(CallStats, sessions), allocate(added, sessions, paths))


def clear_features(state: FeatureState, s: int, history: NDArray[np.float64]) -> None:
    """Reset session `s`, whose paths have `history` (paths, 3): n, mean and sd in ms before the call."""
    state.call[s], state.paths[s] = _NEW_CALL[0], _NEW_PATH[0]
    state.paths["newest_ms"][s] = state.paths["smoothed_ms"][s] = history[:, 1]
    state.paths["deviation_ms"][s] = history[:, 2]


@kernel
def _update(state, s, record, added):
    delay_ms = (record.arrived_us - record.sent_us) * 0.001
    update_path(state.paths[s, record.path], record, delay_ms)
    if record.kind == MEDIA:
        update_call(state.call[s], record, delay_ms)
    update(added, state.added, s, record)


@kernel
def observe_feed(calls, which, state, history, added, paths, call_rows):
    """Process the records that have reached the router's location, then update the features of each session in `which`.

    `history`: (sessions, paths, 3), n, mean and sd in ms before the call. `paths`, float32 (sessions, paths, features), and `call_rows`,
    float32 (sessions, features), are the same arrays every time, since only changes are written.
    """
    for turn in range(which.size):
        if turn + 2 < which.size:
            ask_for_beginnings(calls, which[turn + 2], BEGINNINGS)
        if turn + 1 < which.size:
            ask_for_records(calls, which[turn + 1], FEED_ROWS)
        s = which[turn]
        call = calls[s]
        now_us = call.slot * SLOT_US
        while unread(call.feed, now_us):
            record = read_next(call.feed)
            _update(state, s, record, added)
        write_paths(state.paths, s, now_us, history, call.to_sender.latest, paths)
        write_call(state.call[s], now_us, call.slot / call.slots, call.to_receiver.latest, call_rows[s])
        measure_added(added, state.added, s, now_us, paths, PATH_WIDTH, call_rows, CALL_WIDTH)


@kernel
def observe_arrival(calls, which, state, receiver, added, paths, call_rows):
    """Process the current arrival at the receiver, then update the features of each session in `which`.

    `paths` is float32 (sessions, 0, 0), since such an agent does not observe paths; `call_rows`, float32 (sessions, features), the same
    array every time.
    """
    for s in which:
        call = calls[s]
        now_us = call.slot * SLOT_US
        if awaits_level(call):
            record = record_in_hand(call, receiver, call.packet_shift)
            now_us = record.arrived_us
            _update(state, s, record, added)
        write_call(state.call[s], now_us, min(call.slot / call.slots, 1.0), call.receiver.level_us, call_rows[s])
        measure_added(added, state.added, s, now_us, paths, 0, call_rows, CALL_WIDTH)


@kernel
def show_feed(calls, which, records, count):
    """Move the records at the router's location into an observation; return False if they do not fit.

    `records`: int64 (sessions, RECORDS_SHOWN, 8), rows of `Record`, of which the first `count`, int64 (sessions,), are written.
    """
    for s in which:
        call = calls[s]
        now_us = call.slot * SLOT_US
        count[s] = 0
        while unread(call.feed, now_us):
            if count[s] == records.shape[1]:
                return False
            write_record(records[s], count[s], read_next(call.feed))
            count[s] += 1
    return True


@kernel
def show_arrival(calls, which, receiver, records, count):
    """Write the current arrival, the only record at the receiver, into row 0 of `records`; `count`: 1 or 0 records."""
    for s in which:
        call = calls[s]
        count[s] = 0
        if awaits_level(call):
            write_record(records[s], 0, record_in_hand(call, receiver, call.packet_shift))
            count[s] = 1
