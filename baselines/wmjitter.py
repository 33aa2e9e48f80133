"""WMJitter (arXiv 2310.05054): a watermark whose lag follows the accumulated jitter. This is its Algorithm 2, CalculateLag.

Per arrival: the accumulated jitter over 2000 ms goes into a forgetting histogram of buckets as wide as a packet is long. Then

    in order      lag = upper edge of the 0.95-quantile bucket
    out of order  lag = max(last in-order lag, upper edge of bucket k), k = argmin  max(0, k b - last in-order lag) + w * percent beyond k

The raised lag lasts for that one packet: the next in-order packet takes the quantile again. A packet is in order if it is newer than all
that were taken in before it. Before the first jitter sample, that is for the first packet only, the lag is 80 ms, where NetEQ starts. A
sample of 1000 ms or more is not counted, but the quantile is taken again. The listing returns on late packets before CalculateLag, so
they never teach (`update_on_late` 0); the published code learns first (1). Forget factor and start weight are those of the published
code, as the paper is silent.

Algorithm 1, the watermark itself, is the mechanism that holds the lag and no part of this rule.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.jitter_histogram import (
    NO_JITTER,
    Histogram,
    JitterWindow,
    accumulated_jitter,
    add_to_histogram,
    allocate_histogram,
    allocate_window,
    cheapest_bucket,
    quantile_bucket,
    reset_histogram,
    reset_window,
)
from vcgym.baselines.mechanism import holds, microseconds
from vcgym.baselines.ranges import require_within
from vcgym.baselines.rule import PROBE, allocate, decide, implements, init, update
from vcgym.network.jit import kernel
from vcgym.network.receiver import WATERMARK


class WMJitter(NamedTuple):
    """Parameters."""

    bucket_ms: float = 10.0  # b, the media time of a packet
    quantile: float = 0.95
    ms_per_loss_percent: float = 10.0  # w, equal to b in the paper; NetEQ and the published code have 20
    forget_factor: float = 0.983
    start_weight: int = 2
    start_lag_ms: float = 80.0
    update_on_late: int = 0


class LagState(NamedTuple):
    """What CalculateLag remembers. Plain arrays (sessions,), int64."""

    window: JitterWindow
    histogram: Histogram
    newest_us: np.ndarray  # sent time of the newest packet taken in
    base_us: np.ndarray  # last in-order lag
    lag_us: np.ndarray


def allocate_lag(params: NamedTuple, sessions: int) -> LagState:
    """Rows to be started by `reset_lag`; refuses constants of CalculateLag outside their ranges."""
    require_within(
        params,
        bucket_ms=(0.001, 1000.0),
        quantile=(0.0, 1.0),
        ms_per_loss_percent=(0.0, 1e4),
        forget_factor=(0.0, 1.0),
        start_weight=(1, 1000),
    )
    columns = (np.zeros(sessions, np.int64) for _ in range(3))
    return LagState(allocate_window(sessions), allocate_histogram(sessions), *columns)


@kernel
def reset_lag(state, s, start_us):
    """Forget every packet of row `s` and hold `start_us` until the first jitter sample."""
    reset_window(state.window, s)
    reset_histogram(state.histogram, s)
    state.newest_us[s] = np.iinfo(np.int64).min
    state.base_us[s] = start_us
    state.lag_us[s] = start_us


@kernel
def calculate_lag(params, state, s, sent_us, arrived_us):
    """Algorithm 2 for one arrived packet; the lag (us) is left in `state.lag_us[s]`."""
    bucket_us = microseconds(params.bucket_ms)
    jitter_us = accumulated_jitter(state.window, s, sent_us, arrived_us)
    in_order = sent_us > state.newest_us[s]
    state.newest_us[s] = max(state.newest_us[s], sent_us)
    if jitter_us == NO_JITTER:
        return
    add_to_histogram(state.histogram, s, jitter_us // bucket_us, params.forget_factor, params.start_weight)
    if in_order:
        state.base_us[s] = (1 + quantile_bucket(state.histogram, s, params.quantile)) * bucket_us
        state.lag_us[s] = state.base_us[s]
    else:
        bucket = cheapest_bucket(state.histogram, s, bucket_us, state.base_us[s], microseconds(params.ms_per_loss_percent))
        state.lag_us[s] = max(state.base_us[s], (1 + bucket) * bucket_us)


holds(WMJitter, WATERMARK)


@implements(allocate, WMJitter)
def _allocate(params, sessions, paths):
    require_within(params, start_lag_ms=(0.0, 1e4), update_on_late=(0, 1))
    return allocate_lag(params, sessions)


@implements(init, WMJitter)
def _init(params, state, s, history, key):
    reset_lag(state, s, microseconds(params.start_lag_ms))


@implements(update, WMJitter)
def _update(params, state, s, record):
    # A probe is no media: it never passes the buffer that this lag is for.
    if record.kind != PROBE and (record.late == 0 or params.update_on_late == 1):
        calculate_lag(params, state, s, record.sent_us, record.arrived_us)


@implements(decide, WMJitter)
def _decide(params, state, s, slot):
    return state.lag_us[s]
