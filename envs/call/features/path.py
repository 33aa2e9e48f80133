"""Features: what an agent sees, computed by one function from the records that have reached its place, never from the simulator.

The layout is data: the Box, the docs table and the tests read it. Features of a path stand together, path after path, then the features of
the whole call. Delays are in units of 100 ms, ages in seconds, so that all are of order one; each is clipped to its range.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import allocate, decide, update
from vcgym.envs.call.features.forecast import ForecastState
from vcgym.envs.call.feed import read_next, unread
from vcgym.envs.call.loop import BEGINNINGS, DECIDE, FEED_ROWS, record_in_hand
from vcgym.envs.call.prefetching import ask_for_beginnings, ask_for_records
from vcgym.envs.faces.actions import level_place
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.worlds.world import HISTORY_BLOCKS

SMOOTHING = 1.0 / 8.0  # RFC 6298 2.3: alpha of the smoothed delay
DEVIATION_SMOOTHING = 1.0 / 4.0  # RFC 6298 2.3: beta of its deviation
JITTER_SMOOTHING = 1.0 / 16.0  # RFC 3550 6.4.1: gain of the interarrival jitter
SHARE_SMOOTHING = 1.0 / 64.0
FLOOR_RISE_MS_PER_S = 5.0  # the smallest delay is forgotten this fast
PEAK_TIMES_S = (0.5, 2.0, 8.0)
LIMIT = 20.0
PER_100_MS, PER_SECOND = 0.01, 1e-6  # a division costs as much as all else about a feature
# How many features a sender adds behind those of the call, see `vcgym.envs.call.features.remote_sender`.
SENDER_WIDTHS = (0, 13, 14, 15, 16)
HISTORY_SLOTS = HISTORY_BLOCKS * BLOCK_SLOTS


class Feature(NamedTuple):
    """One line of the layout; `age` says how old the value may be at a decision."""

    name: str
    unit: str
    low: float
    high: float
    age: str


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
# The last one of a path, where the environment is given a predictor.
FORECAST_FEATURE = Feature("predicted_e2e", "100 ms, end-to-end delay expected of a packet", 0, LIMIT, "newest_age, record_age")
CALL_FEATURES = (
    Feature("elapsed", "share of the call", 0, 1, "0"),
    Feature("level_commanded", "place on the log scale of lags, -1 to 1", -1, 1, "0"),
    Feature("level_reported", "place on the log scale of lags, -1 to 1", -1, 1, "record_age"),
    Feature("record_age", "s, since the newest record was sent", 0, LIMIT, "0"),
    Feature("feedback_delay", "100 ms, from the receiver to this place", 0, LIMIT, "record_age"),
    Feature("transit_jitter", "100 ms, smoothed |difference| of arrivals", 0, LIMIT, "record_age, 16 records"),
    Feature("excess", "100 ms, newest delay above the running minimum", 0, LIMIT, "record_age"),
    Feature("excess_peak_0.5s", "100 ms, decaying maximum of the excess", 0, LIMIT, "record_age, 0.5 s"),
    Feature("excess_peak_2s", "100 ms, decaying maximum of the excess", 0, LIMIT, "record_age, 2 s"),
    Feature("excess_peak_8s", "100 ms, decaying maximum of the excess", 0, LIMIT, "record_age, 8 s"),
    Feature("late_share", "share of arrivals discarded", 0, 1, "record_age, 64 records"),
    Feature("missing_share", "share of packets passed over by the newest record", 0, 1, "record_age, 64 records"),
)
PATH_WIDTH, CALL_WIDTH = len(PATH_FEATURES), len(CALL_FEATURES)

# Of a path not heard of, history stands in.
PATH_SENSE = np.dtype(
    (
        np.record,
        [
            ("heard", "i8"),
            ("newest_sent_us", "i8"),
            ("newest_ms", "f8"),
            ("smoothed_ms", "f8"),
            ("deviation_ms", "f8"),
            ("news", "i8"),  # what of it has changed since it was shown
        ],
    )
)
CALL_SENSE = np.dtype(
    (
        np.record,
        [
            ("heard", "i8"),
            ("newest_sent_us", "i8"),
            ("newest_packet", "i8"),
            ("arrived_us", "i8"),
            ("delay_us", "i8"),
            ("level_us", "i8"),
            ("feedback_us", "i8"),
            ("floor_ms", "f8"),
            ("jitter_ms", "f8"),
            ("excess_ms", "f8"),
            ("peak_ms", "f8", (3,)),
            ("late_share", "f8"),
            ("missing_share", "f8"),
            ("shown_us", "i8", (2,)),  # levels commanded and reported that were shown last
        ],
    )
)
_NO_NEWS, _HEARD, _ALL = 0, 1, 2
_NOT_SHOWN_US = -1
_NEVER_US = -(2**62)


class Senses(NamedTuple):
    """What the features remember; first axis the session."""

    paths: NDArray  # (sessions, paths) of PATH_SENSE
    call: NDArray  # (sessions,) of CALL_SENSE
    forecast: ForecastState


def allocate_senses(sessions: int, paths: int, forecast: NamedTuple) -> Senses:
    """Senses that have heard nothing; `forecast` is who forecasts, of `vcgym.envs.call.features.forecast`."""
    return Senses(np.zeros((sessions, paths), PATH_SENSE), np.zeros(sessions, CALL_SENSE), allocate(forecast, sessions, paths))


@kernel
def clear_senses(senses, s, history):
    """Forget everything heard in session `s`, whose paths have `history` (sessions, paths, 3) and whose features are to be written anew."""
    call = senses.call[s]
    call.heard = 0
    call.newest_packet = -1
    call.floor_ms = 0.0
    call.jitter_ms = 0.0
    call.excess_ms = 0.0
    call.peak_ms[:] = 0.0
    call.late_share = 0.0
    call.missing_share = 0.0
    call.shown_us[:] = _NOT_SHOWN_US
    for p in range(senses.paths.shape[1]):
        path = senses.paths[s, p]
        path.heard = 0
        path.newest_sent_us = _NEVER_US
        path.newest_ms = path.smoothed_ms = history[s, p, 1]
        path.deviation_ms = history[s, p, 2]
        path.news = _ALL


@kernel
def sense(senses, s, record):
    """One record has reached the place."""
    delay_ms = (record.arrived_us - record.sent_us) * 0.001
    path = senses.paths[s, record.path]
    if path.heard == 0:
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
    path.heard += 1
    path.news = max(path.news, _HEARD)
    if record.kind == MEDIA:
        _sense_media(senses.call[s], record, delay_ms)


@kernel
def _sense_media(call, record, delay_ms):
    call.late_share += SHARE_SMOOTHING * (record.late - call.late_share)
    if record.packet > call.newest_packet:
        for _ in range(min(record.packet - call.newest_packet - 1, 64)):
            call.missing_share += SHARE_SMOOTHING * (1.0 - call.missing_share)
        call.newest_packet = record.packet
    call.missing_share -= SHARE_SMOOTHING * call.missing_share
    if call.heard == 0:
        call.newest_sent_us = record.sent_us
        call.floor_ms = delay_ms
    else:
        passed_s = (record.arrived_us - call.arrived_us) * PER_SECOND
        call.newest_sent_us = max(call.newest_sent_us, record.sent_us)
        call.jitter_ms += JITTER_SMOOTHING * (abs(delay_ms - call.delay_us * 0.001) - call.jitter_ms)
        call.floor_ms = min(call.floor_ms + FLOOR_RISE_MS_PER_S * passed_s, delay_ms)
        kept = math.exp(-passed_s / PEAK_TIMES_S[2])
        for i in range(2, -1, -1):
            call.peak_ms[i] *= kept
            kept = (kept * kept) * (kept * kept)  # each time is a quarter of the next one
    call.excess_ms = delay_ms - call.floor_ms
    for i in range(3):
        call.peak_ms[i] = max(call.peak_ms[i], call.excess_ms)
    call.heard += 1
    call.arrived_us = record.arrived_us
    call.delay_us = record.arrived_us - record.sent_us
    call.level_us = record.lag_us
    call.feedback_us = record.known_us - record.arrived_us


@kernel
def _put(out, s, i, value, low, high):
    out[s, i] = min(max(value, low), high)


@kernel
def _write_paths(senses, s, now_us, history, commanded, width, out):
    """Features of the paths. Of a path that nothing has come of, those that time does not change stand in row `s` already."""
    paths = senses.paths.shape[1]
    best_ms = np.inf
    for p in range(paths):
        best_ms = min(best_ms, senses.paths[s, p].smoothed_ms)
    for p in range(paths):
        path, first = senses.paths[s, p], p * width
        if path.news == _ALL:
            _write_history(s, history[s, p], first, out)
        if path.news != _NO_NEWS:
            _write_news(path, s, first, out)
        _put(out, s, first + 4, (now_us - path.newest_sent_us) * PER_SECOND, 0.0, LIMIT)
        _put(out, s, first + 7, (path.smoothed_ms - best_ms) * PER_100_MS, 0.0, LIMIT)
        out[s, first + 8] = 1.0 if p == commanded else 0.0
    return paths * width


@kernel
def _write_history(s, history, first, out):
    _put(out, s, first, history[1] * PER_100_MS, 0.0, LIMIT)
    _put(out, s, first + 1, history[2] * PER_100_MS, 0.0, LIMIT)
    _put(out, s, first + 2, 100.0 - history[0] * (100.0 / HISTORY_SLOTS), 0.0, LIMIT)


@kernel
def _write_news(path, s, first, out):
    path.news = _NO_NEWS
    _put(out, s, first + 3, path.newest_ms * PER_100_MS, 0.0, LIMIT)
    _put(out, s, first + 5, path.smoothed_ms * PER_100_MS, 0.0, LIMIT)
    _put(out, s, first + 6, path.deviation_ms * PER_100_MS, 0.0, LIMIT)


@kernel
def _write_forecasts(senses, s, slot, forecast, width, out):
    """The last feature of each path, if there is a forecaster."""
    paths = senses.forecast.e2e_ms.shape[1]
    for p in range(paths):
        senses.forecast.transmit_ms[s, p] = senses.paths[s, p].newest_ms
    decide(forecast, senses.forecast, s, slot * SLOT_US)
    for p in range(paths):
        _put(out, s, (p + 1) * width - 1, senses.forecast.e2e_ms[s, p] * PER_100_MS, 0.0, LIMIT)


@kernel
def _write_level(sensed, s, which, level_us, i, out):
    """A level, `which` of those shown: a logarithm costs as much as the features of a path, and levels often stay."""
    if level_us != sensed.shown_us[which]:
        sensed.shown_us[which] = level_us
        out[s, i] = level_place(level_us)


@kernel
def _write_call(sensed, s, now_us, elapsed, level_us, first, out):
    heard = sensed.heard > 0
    _put(out, s, first, elapsed, 0.0, 1.0)
    _write_level(sensed, s, 0, level_us, first + 1, out)
    _write_level(sensed, s, 1, sensed.level_us if heard else level_us, first + 2, out)
    _put(out, s, first + 3, (now_us - sensed.newest_sent_us) * PER_SECOND if heard else LIMIT, 0.0, LIMIT)
    _put(out, s, first + 4, sensed.feedback_us * (10.0 * PER_SECOND) if heard else 0.0, 0.0, LIMIT)
    _put(out, s, first + 5, sensed.jitter_ms * PER_100_MS, 0.0, LIMIT)
    _put(out, s, first + 6, sensed.excess_ms * PER_100_MS, 0.0, LIMIT)
    for i in range(3):
        _put(out, s, first + 7 + i, sensed.peak_ms[i] * PER_100_MS, 0.0, LIMIT)
    out[s, first + 10] = sensed.late_share
    out[s, first + 11] = sensed.missing_share


@kernel
def observe_feed(calls, which, senses, history, forecast, out):
    """Features at the router's place, for each session of `which`: take in what has arrived there, then renew row `s` of `out`.

    `out` is the same at every call: only what has changed is written.
    """
    width = PATH_WIDTH + (1 if senses.forecast.e2e_ms.shape[1] > 0 else 0)
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
            sense(senses, s, record)
            update(forecast, senses.forecast, s, record)
        first = _write_paths(senses, s, now_us, history, call.to_sender.latest, width, out)
        _write_forecasts(senses, s, call.slot, forecast, width, out)
        _write_call(senses.call[s], s, now_us, call.slot / call.packets, call.to_receiver.latest, first, out)


@kernel
def observe_arrival(calls, which, senses, receiver_lever, out):
    """Features at the receiver: take in the arrival in hand, then renew row `s` of `out`, the same at every call."""
    for s in which:
        call = calls[s]
        now_us = call.slot * SLOT_US
        if call.why == DECIDE:
            record = record_in_hand(call, receiver_lever)
            now_us = record.arrived_us
            sense(senses, s, record)
        _write_call(senses.call[s], s, now_us, min(call.slot / call.packets, 1.0), call.receiver.level_us, 0, out)


def layout(path_names: tuple[str, ...], forecast: bool = False) -> list[Feature]:
    """The features in order: those of each path (none for an agent at the receiver), perhaps with a forecast, then those of the call."""
    of_path = (*PATH_FEATURES, FORECAST_FEATURE) if forecast else PATH_FEATURES
    of_paths = [feature._replace(name=f"{feature.name}[{name}]") for name in path_names for feature in of_path]
    return [*of_paths, *CALL_FEATURES]


def path_width(features: int, paths: int) -> int:
    """How many features each path has in an observation of so many features and paths: with a forecast one more than without."""
    of_sender = features - paths * (PATH_WIDTH + 1) - CALL_WIDTH
    return PATH_WIDTH + (of_sender in SENDER_WIDTHS)
