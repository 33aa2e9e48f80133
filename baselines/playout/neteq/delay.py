"""Delay manager of NetEQ: the target of a clocked jitter buffer. libwebrtc, modules/audio_coding/neteq, from 2022 on.

For each packet that the arrival history accepts, from its second on:

    underrun   the maximum relative delay of a resampling interval is added to a histogram of 20-ms buckets when a packet arrives more than
               500 ms after the interval began; target = upper edge of the 0.95-quantile bucket, 80 ms before the first sample
    reorder    the packet's bucket (0 if it is the newest) is added to a second histogram; target = upper edge of bucket i,
               i = argmin  max(0, 20 i - underrun target) + 20 * percent beyond i
    target     the larger one; then at least the minimum, at most the maximum if set, at most 75 % of the buffer's capacity in packets

Delays beyond the last bucket (2000 ms) enter no histogram, but the underrun target is still evaluated again. If the reorder optimiser is
on, packets that are not the newest update only that optimiser. Sources: delay_manager.cc, underrun_optimizer.cc, reorder_optimizer.cc;
histogram.cc is in `histogram.py`.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.playout.neteq.histogram import (
    Histogram,
    add_to_histogram,
    allocate_histogram,
    cheapest_bucket,
    quantile_bucket,
    reset_histogram,
)
from vcgym.baselines.playout.neteq.history import (
    ArrivalHistory,
    allocate_history,
    newest_timestamp,
    relative_delay_ms,
    reset_history,
    take_in,
)
from vcgym.network.kernels.jit import kernel

BUCKET_MS = 20
START_DELAY_MS = 80

_NONE_MS = np.iinfo(np.int64).min


class DelayState(NamedTuple):
    """State of the delay manager: arrays (sessions,), int64."""

    history: ArrivalHistory
    underrun: Histogram
    reorder: Histogram
    interval_ms: np.ndarray  # start of the resampling interval
    max_ms: np.ndarray  # maximum relative delay since then
    underrun_ms: np.ndarray  # target of the underrun optimiser
    target_ms: np.ndarray


def allocate_delay(sessions: int, capacity: int) -> DelayState:
    """Return rows to be started by `reset_delay`; `capacity` as for `allocate_history`."""
    columns = (np.zeros(sessions, np.int64) for _ in range(4))
    return DelayState(allocate_history(sessions, capacity), allocate_histogram(sessions), allocate_histogram(sessions), *columns)


@kernel
def reset_delay(state, s):
    """Start row `s`."""
    reset_history(state.history, s)
    reset_histogram(state.underrun, s)
    reset_histogram(state.reorder, s)
    state.interval_ms[s] = _NONE_MS
    state.max_ms[s] = 0
    state.underrun_ms[s] = START_DELAY_MS
    state.target_ms[s] = START_DELAY_MS


@kernel
def packet_arrived(params, state, s, timestamp, arrived_ms, samples, samples_per_ms):
    """Update with one packet and store the target in `state.target_ms[s]`.

    Args:
        params: `NetEQ` parameters.
        state: state.
        s: row.
        timestamp: in samples, unwrapped.
        arrived_ms: whole ms; rounded down to a tick here.
        samples: length of the packet in samples.
        samples_per_ms: clock rate of the timestamps.
    """
    now_ms = arrived_ms // params.tick_ms * params.tick_ms
    if not take_in(state.history, s, timestamp, now_ms, samples, samples_per_ms) or state.history.length[s] < 2:
        return
    delay_ms = relative_delay_ms(state.history, s, timestamp, now_ms, samples_per_ms)
    reordered = timestamp != newest_timestamp(state.history, s)
    if not (reordered and params.reorder_optimizer):
        _optimize_underrun(params, state, s, now_ms, delay_ms)
    target_ms = state.underrun_ms[s]
    if params.reorder_optimizer:
        bucket = delay_ms // BUCKET_MS if reordered else 0
        target_ms = max(target_ms, _reorder_target_ms(params, state, s, bucket))
    target_ms = max(target_ms, params.minimum_delay_ms)
    if params.maximum_delay_ms > 0:
        target_ms = min(target_ms, params.maximum_delay_ms)
    state.target_ms[s] = min(target_ms, 3 * params.max_packets * (samples // samples_per_ms) // 4)


@kernel
def _optimize_underrun(params, state, s, now_ms, delay_ms):
    sample_ms = delay_ms
    if params.resample_interval_ms > 0:
        if state.interval_ms[s] == _NONE_MS:
            state.interval_ms[s] = now_ms
        ended = now_ms - state.interval_ms[s] > params.resample_interval_ms
        # The sample is the maximum of the interval that this packet ends, without this packet.
        sample_ms = state.max_ms[s]
        state.max_ms[s] = delay_ms if ended else max(state.max_ms[s], delay_ms)
        if not ended:
            return
        state.interval_ms[s] = now_ms
    add_to_histogram(state.underrun, s, sample_ms // BUCKET_MS, params.forget_factor, params.start_weight)
    state.underrun_ms[s] = (1 + quantile_bucket(state.underrun, s, params.quantile)) * BUCKET_MS


@kernel
def _reorder_target_ms(params, state, s, bucket):
    add_to_histogram(state.reorder, s, bucket, params.reorder_forget_factor, params.start_weight)
    price_us = 1000 * params.ms_per_loss_percent
    return (1 + cheapest_bucket(state.reorder, s, 1000 * BUCKET_MS, 1000 * state.underrun_ms[s], price_us)) * BUCKET_MS
