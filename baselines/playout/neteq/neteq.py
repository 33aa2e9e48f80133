"""NetEQ: the target level of libwebrtc's jitter buffer (audio_coding/neteq, 2022 and later), as a receiver rule.

For each packet that the arrival history accepts, from its second on:

    underrun   the maximum relative delay of a resampling interval is added to a histogram of 20-ms buckets when a packet arrives more than
               500 ms after the interval began; target = upper edge of the 0.95-quantile bucket, 80 ms before the first sample
    reorder    the packet's bucket (0 if it is the newest) is added to a second histogram; target = upper edge of bucket i,
               i = argmin  max(0, 20 i - underrun target) + 20 * percent beyond i
    target     the larger one; then at least the minimum, at most the maximum if set, at most 75 % of the buffer's capacity in packets

Delays beyond the last bucket (2000 ms) enter no histogram, but the underrun target is still evaluated again. If the reorder optimiser is
on, packets that are not the newest update only that optimiser. Sources: delay_manager.cc, underrun_optimizer.cc, reorder_optimizer.cc;
histogram.cc is in `histogram.py`.

The rule applies the target to the count buffer, with timestamps in microseconds. It is updated with every media packet, even late ones,
because NetEQ updates on arrival, before it checks for lateness.

Left out: the playout decisions (acceleration, expansion), since the clocked player has its own; and the flush on buffer overflow.
"""

from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.playout.neteq.histogram import Histogram, add_to_histogram, cheapest_bucket, quantile_bucket
from vcgym.baselines.playout.neteq.history import WINDOW_MS, ArrivalHistory, Seen, newest_timestamp, relative_delay_ms, take_in
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, Rows, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import microseconds
from vcgym.network.playout.receiver import COUNT

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


@rule(Control.PLAYOUT, buffer=COUNT, state=DelayState, ring=Rows(Seen, lambda params, paths: int(WINDOW_MS / params.packet_ms) + 1))
class NetEQ(NamedTuple):
    """All durations except `packet_ms` are whole ms, as in libwebrtc."""

    quantile: Annotated[float, (0.0, 1.0)] = 0.95
    forget_factor: Annotated[float, (0.0, 1.0)] = 0.983  # of the underrun optimiser
    start_weight: Annotated[int, (0, 1000)] = 2  # of both histograms; 0: unset
    resample_interval_ms: Annotated[int, (0, 1_000_000)] = 500  # 0: each packet is a sample
    reorder_optimizer: bool = True  # False: reordered packets update the underrun optimiser instead
    reorder_forget_factor: Annotated[float, (0.0, 1.0)] = 0.9993
    ms_per_loss_percent: Annotated[int, (0, 10_000)] = 20
    tick_ms: Annotated[int, (1, 1000)] = 10  # arrival times are rounded down to it; 1 is exact
    minimum_delay_ms: Annotated[int, (0, 10_000)] = 0  # the larger of NetEQ's two minima
    maximum_delay_ms: Annotated[int, (0, 10_000)] = 0  # 0: none
    max_packets: Annotated[int, (1, 1_000_000)] = 200  # capacity of the buffer
    packet_ms: Annotated[float, PACKET_MS_RANGE] = 10.0  # length of a call's packets; in a list each packet has its own length

    def update(self, state, ring, record):
        if record.kind == MEDIA:
            packet_arrived(self, state, ring, record.sent_us, record.arrived_us // 1000, microseconds(self.packet_ms), 1000)

    def decide(self, state, ring, now_us):
        return state.target_ms * 1000


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
