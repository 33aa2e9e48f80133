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

import numpy as np

from vcgym.baselines.playout.neteq.histogram import Histogram, add_to_histogram, cheapest_bucket, quantile_bucket
from vcgym.baselines.playout.neteq.history import ArrivalHistory, newest_timestamp, relative_delay_ms, take_in
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

BUCKET_MS = 20
START_DELAY_MS = 80

_NONE_MS = np.iinfo(np.int64).min


@record
class DelayState:
    """State of the delay manager."""

    history: ArrivalHistory
    underrun: Histogram
    reorder: Histogram
    interval_ms: int = _NONE_MS  # start of the resampling interval
    max_ms: int = 0  # maximum relative delay since then
    underrun_ms: int = START_DELAY_MS  # target of the underrun optimiser
    target_ms: int = START_DELAY_MS


@kernel
def packet_arrived(params, state, ring, timestamp, arrived_ms, samples, samples_per_ms):
    """Update with one packet and store the target in `state.target_ms`.

    Args:
        params: `NetEQ` parameters.
        state: DelayState, updated.
        ring: (places,) of Seen, updated.
        timestamp: in samples, unwrapped.
        arrived_ms: whole ms; rounded down to a tick here.
        samples: length of the packet in samples.
        samples_per_ms: clock rate of the timestamps.
    """
    now_ms = arrived_ms // params.tick_ms * params.tick_ms
    if not take_in(state.history, ring, timestamp, now_ms, samples, samples_per_ms) or state.history.length < 2:
        return
    delay_ms = relative_delay_ms(state.history, ring, timestamp, now_ms, samples_per_ms)
    reordered = timestamp != newest_timestamp(state.history, ring)
    if not (reordered and params.reorder_optimizer):
        _optimize_underrun(params, state, now_ms, delay_ms)
    target_ms = state.underrun_ms
    if params.reorder_optimizer:
        bucket = delay_ms // BUCKET_MS if reordered else 0
        target_ms = max(target_ms, _reorder_target_ms(params, state, bucket))
    target_ms = max(target_ms, params.minimum_delay_ms)
    if params.maximum_delay_ms > 0:
        target_ms = min(target_ms, params.maximum_delay_ms)
    state.target_ms = min(target_ms, 3 * params.max_packets * (samples // samples_per_ms) // 4)


@kernel
def _optimize_underrun(params, state, now_ms, delay_ms):
    sample_ms = delay_ms
    if params.resample_interval_ms > 0:
        if state.interval_ms == _NONE_MS:
            state.interval_ms = now_ms
        ended = now_ms - state.interval_ms > params.resample_interval_ms
        # The sample is the maximum of the interval that this packet ends, without this packet.
        sample_ms = state.max_ms
        state.max_ms = delay_ms if ended else max(state.max_ms, delay_ms)
        if not ended:
            return
        state.interval_ms = now_ms
    add_to_histogram(state.underrun, sample_ms // BUCKET_MS, params.forget_factor, params.start_weight)
    state.underrun_ms = (1 + quantile_bucket(state.underrun, params.quantile)) * BUCKET_MS


@kernel
def _reorder_target_ms(params, state, bucket):
    add_to_histogram(state.reorder, bucket, params.reorder_forget_factor, params.start_weight)
    price_us = 1000 * params.ms_per_loss_percent
    return (1 + cheapest_bucket(state.reorder, 1000 * BUCKET_MS, 1000 * state.underrun_ms, price_us)) * BUCKET_MS
