"""WMJitter (arXiv 2310.05054): a watermark whose lag follows the accumulated jitter. This is its Algorithm 2, CalculateLag.

Per arrival: add the accumulated jitter over 2000 ms to a forgetting histogram with buckets as wide as a packet's media time. Then

    in order      lag = upper edge of the 0.95-quantile bucket
    out of order  lag = max(last in-order lag, upper edge of bucket k), k = argmin  max(0, k b - last in-order lag) + w * percent beyond k

The raised lag applies to that one packet; the next in-order packet uses the quantile again. A packet is in order if it is newer than all
accepted before it. Before the first jitter sample, for the first packet only, the lag is NetEQ's initial 80 ms. A sample of 1000 ms or more
is not counted, but the quantile is evaluated again. The listing returns on late packets before CalculateLag, so they do not update the
histogram (`update_on_late` False); the published code updates first (True). A bucket's lag is its upper edge, as in NetEQ and the published
code; the listing literally uses the lower edge (`edge`). Forget factor and start weight are those of the published code, since the paper
gives none; its words "according to jtHistory" can also mean a histogram of the window alone (`memory`). Of these readings, only
`update_on_late` was found to change which of the paper's claims hold (lab/notes/truth.md). Left out: emission of packets between arrivals.

Algorithm 1, the watermark itself, is the buffer that applies the lag and not part of this rule.
"""

import enum
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.playout.forgetting_histogram import BUCKETS, ForgettingHistogram, add_sample, cheapest_bucket, count, move_quantile
from vcgym.baselines.playout.jitter_window import JITTER_WINDOW_US, NO_JITTER, JitterWindow, accumulated_jitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import microseconds

_SAMPLES = 512  # a power of two: capacity of a window; further samples replace the oldest


class Edge(enum.IntEnum):
    """Edge of a bucket used as its lag."""

    LOWER = 0  # as in the listing
    UPPER = 1


class Memory(enum.IntEnum):
    """Samples in the histogram."""

    FORGETTING = 0  # all, exponentially weighted
    WINDOW = 1  # those of the last 2000 ms, equally weighted


@record
class Lag:
    """State of CalculateLag."""

    newest_us: int = np.iinfo(np.int64).min  # sent time of the newest accepted packet
    base_us: int = 0  # last in-order lag
    lag_us: int = 0
    window: JitterWindow = JitterWindow()
    histogram: ForgettingHistogram = ForgettingHistogram()
    first: int = 0  # samples first..end-1 of a WINDOW, sample n at index n modulo the length
    end: int = 0
    bucket: NDArray[np.int8] = np.zeros(_SAMPLES, np.int8)
    expiry_us: NDArray[np.int64] = np.zeros(_SAMPLES, np.int64)  # newest sent time at the sample


@rule(Control.PLAYOUT, lag=Lag)
class WMJitter(NamedTuple):
    bucket_ms: Annotated[float, (0.001, 1000.0)] = 10.0  # b, the media time of a packet
    quantile: Annotated[float, (0.0, 1.0)] = 0.95
    ms_per_loss_percent: Annotated[float, (0.0, 1e4)] = 10.0  # w, equal to b in the paper; 20 in NetEQ and the published code
    forget_factor: Annotated[float, (0.0, 1.0)] = 0.983
    start_weight: Annotated[int, (1, 1000)] = 2
    start_lag_ms: Annotated[float, (0.0, 1e4)] = 80.0
    update_on_late: bool = False
    edge: Edge = Edge.UPPER
    memory: Memory = Memory.FORGETTING

    def init(self, lag, start, key):
        start_lag(self, lag, microseconds(self.start_lag_ms))

    def update(self, lag, record):
        learn_lag(self, lag, record)

    def decide(self, lag, now_us):
        return lag.lag_us


@kernel
def start_lag(params, lag, start_us):
    """Set the lag until the first jitter sample of a new state, int64."""
    move_quantile(lag.histogram, params.quantile)
    lag.base_us = start_us
    lag.lag_us = start_us


@kernel
def learn_lag(params, lag, record):
    """Update the state of a WMJitter with a record; what is no packet of the call never enters the buffer of this lag."""
    if record.kind == MEDIA and (record.late == 0 or params.update_on_late):
        calculate_lag(params, lag, record.sent_us, record.arrived_us)


@kernel
def calculate_lag(params, lag, sent_us, arrived_us):
    """Run Algorithm 2 for one arrived packet and store the lag in `lag.lag_us`.

    Args:
        params: WMJitter, or parameters with the same fields.
        lag: Lag, updated.
        sent_us: int64, send time.
        arrived_us: int64, arrival; must not decrease from call to call.
    """
    bucket_us = microseconds(params.bucket_ms)
    jitter_us = accumulated_jitter(lag.window, sent_us, arrived_us)
    in_order = sent_us > lag.newest_us
    lag.newest_us = max(lag.newest_us, sent_us)
    if jitter_us == NO_JITTER:
        return
    if params.memory == Memory.WINDOW:
        _slide(lag, jitter_us // bucket_us, params.quantile)
    else:
        add_sample(lag.histogram, jitter_us // bucket_us, params.quantile, params.forget_factor, params.start_weight)
    if in_order:
        lag.base_us = (params.edge + lag.histogram.place) * bucket_us
        lag.lag_us = lag.base_us
    else:
        # Buckets below the last in-order lag would only give that lag again.
        first = min(max(lag.base_us // bucket_us - 1, 0), BUCKETS - 1)
        bucket = cheapest_bucket(lag.histogram, first, bucket_us, lag.base_us, microseconds(params.ms_per_loss_percent))
        lag.lag_us = max(lag.base_us, (params.edge + bucket) * bucket_us)


@kernel
def _slide(lag, bucket, quantile):
    """Add a sample to the window and remove the expired ones."""
    if bucket < BUCKETS:
        lag.bucket[lag.end & (_SAMPLES - 1)] = bucket
        lag.expiry_us[lag.end & (_SAMPLES - 1)] = lag.newest_us
        lag.end += 1
        count(lag.histogram, bucket, 1, quantile)
    while lag.end > lag.first:
        oldest = lag.first & (_SAMPLES - 1)
        if lag.newest_us - lag.expiry_us[oldest] <= JITTER_WINDOW_US and lag.end - lag.first < _SAMPLES:
            return
        count(lag.histogram, lag.bucket[oldest], -1, quantile)
        lag.first += 1
