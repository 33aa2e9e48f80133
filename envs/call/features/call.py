"""Features of the call: lag, feedback, and delays and losses of media packets over all paths.

Sources: `transit_jitter` is the interarrival jitter of RFC 3550 (6.4.1), with its gain.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.features.layout import AGE, DELAY, LIMIT, PER_100_MS, PER_SECOND, SHARE, Feature, columns, lag_position, within
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

JITTER_SMOOTHING = 1.0 / 16.0
SHARE_SMOOTHING = 1.0 / 64.0
MAX_MISSING = 64  # maximum number of packets counted for a gap
FLOOR_RISE_MS_PER_S = 5.0  # rate at which the running minimum delay rises
PEAK_TIMES_S = (0.5, 2.0, 8.0)
PEAKS = len(PEAK_TIMES_S)

CALL_FEATURES = (
    Feature("elapsed", "share of the call", 0, 1, "0"),
    Feature("level_commanded", "position on the log scale of lags, -1 to 1", -1, 1, "0"),
    Feature("level_reported", "position on the log scale of lags, -1 to 1", -1, 1, "record_age"),
    Feature("record_age", "s, since the newest record was sent", 0, LIMIT, "0", *AGE),
    Feature("feedback_delay", "100 ms, from the receiver to this location", 0, LIMIT, "record_age"),
    Feature("transit_jitter", "100 ms, smoothed |difference| of arrivals", 0, LIMIT, "record_age, 16 records", *DELAY),
    Feature("excess", "100 ms, newest delay above the running minimum", 0, LIMIT, "record_age", *DELAY),
    *(
        Feature(f"excess_peak_{time_s:g}s", "100 ms, decaying maximum of the excess", 0, LIMIT, f"record_age, {time_s:g} s", *DELAY)
        for time_s in PEAK_TIMES_S
    ),
    Feature("late_share", "share of arrivals discarded", 0, 1, "record_age, 64 records", *SHARE),
    Feature("missing_share", "share of packets passed over by the newest record", 0, 1, "record_age, 64 records", *SHARE),
)
CALL = columns(CALL_FEATURES)
CALL_WIDTH = len(CALL_FEATURES)

_COMMANDED, _REPORTED = 0, 1
_NOT_WRITTEN_US = -1


@record
class CallStats:
    """State from which the features are computed."""

    received: int = 0
    newest_sent_us: int = 0
    newest_packet: int = -1
    arrived_us: int = 0
    delay_us: int = 0
    lag_us: int = 0
    feedback_us: int = 0
    floor_ms: float = 0.0
    jitter_ms: float = 0.0
    excess_ms: float = 0.0
    peak_ms: NDArray[np.float64] = np.zeros(PEAKS)
    late_share: float = 0.0
    missing_share: float = 0.0
    written_lag_us: NDArray[np.int64] = np.full(2, _NOT_WRITTEN_US)  # last written values of the commanded and the reported lag


@kernel
def update_call(call, record, delay_ms):
    """Update with the record of a media packet."""
    call.late_share += SHARE_SMOOTHING * (record.late - call.late_share)
    if record.packet > call.newest_packet:
        for _ in range(min(record.packet - call.newest_packet - 1, MAX_MISSING)):
            call.missing_share += SHARE_SMOOTHING * (1.0 - call.missing_share)
        call.newest_packet = record.packet
    call.missing_share -= SHARE_SMOOTHING * call.missing_share
    if call.received == 0:
        call.newest_sent_us = record.sent_us
        call.floor_ms = delay_ms
    else:
        passed_s = (record.arrived_us - call.arrived_us) * PER_SECOND
        call.newest_sent_us = max(call.newest_sent_us, record.sent_us)
        call.jitter_ms += JITTER_SMOOTHING * (abs(delay_ms - call.delay_us * 0.001) - call.jitter_ms)
        call.floor_ms = min(call.floor_ms + FLOOR_RISE_MS_PER_S * passed_s, delay_ms)
        fades = math.exp(-passed_s / PEAK_TIMES_S[PEAKS - 1])
        for i in range(PEAKS - 1, -1, -1):
            call.peak_ms[i] *= fades
            fades = (fades * fades) * (fades * fades)  # each time constant is a quarter of the next
    call.excess_ms = delay_ms - call.floor_ms
    for i in range(PEAKS):
        call.peak_ms[i] = max(call.peak_ms[i], call.excess_ms)
    call.received += 1
    call.arrived_us = record.arrived_us
    call.delay_us = record.arrived_us - record.sent_us
    call.lag_us = record.lag_us
    call.feedback_us = record.known_us - record.arrived_us


@kernel
def write_call(call, now_us, elapsed, lag_us, row):
    """Update the features of a call in `row`, float32 (features,), the same memory every time.

    `elapsed` is a share of the call, `lag_us` the last decided lag.
    """
    received = call.received > 0
    row[CALL.elapsed] = within(elapsed, 0.0, 1.0)
    _write_lag(call, _COMMANDED, lag_us, CALL.level_commanded, row)
    _write_lag(call, _REPORTED, call.lag_us if received else lag_us, CALL.level_reported, row)
    row[CALL.record_age] = within((now_us - call.newest_sent_us) * PER_SECOND if received else LIMIT, 0.0, LIMIT)
    row[CALL.feedback_delay] = within(call.feedback_us * (10.0 * PER_SECOND) if received else 0.0, 0.0, LIMIT)
    row[CALL.transit_jitter] = within(call.jitter_ms * PER_100_MS, 0.0, LIMIT)
    row[CALL.excess] = within(call.excess_ms * PER_100_MS, 0.0, LIMIT)
    for i in range(PEAKS):
        row[CALL.excess_peak_0_5s + i] = within(call.peak_ms[i] * PER_100_MS, 0.0, LIMIT)
    row[CALL.late_share] = call.late_share
    row[CALL.missing_share] = call.missing_share


@kernel
def _write_lag(call, which, lag_us, column, row):
    """Write a lag only if it has changed, because a logarithm costs as much as all features of a path."""
    if lag_us != call.written_lag_us[which]:
        call.written_lag_us[which] = lag_us
        row[column] = lag_position(lag_us)
