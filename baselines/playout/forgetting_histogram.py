"""A histogram with exponential forgetting and an incrementally updated quantile.

NetEQ's recursion (libwebrtc, audio_coding/neteq/histogram.cc): a sample multiplies every probability by a factor f and adds 1 - f to its
own bucket; f rises from 0 to the forget factor, in 15 fractional bits as in libwebrtc. Instead of scaling 100 buckets, the sample gets
(1 - f) / f times the weight of all earlier ones, which gives the same distribution: probability = weight / total. Weights are integers,
so sums are exact in any order and the quantile can move from bucket to bucket. The total has at least 32 bits, compared to 30 in
libwebrtc, whose rounding is not reproduced here (`neteq/histogram.py` does).
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

BUCKETS = 100

_FULL = 1 << 15  # factor 1
_TOGETHER = 4  # buckets whose costs are computed at once
_MIN_BITS, _MAX_BITS = 32, 48  # bits of the total weight


def _start() -> NDArray[np.int64]:
    """Return the weights at the start, as in libwebrtc: bucket i holds about 2^-(i+1)."""
    weight = [(16386 >> min(i + 1, 15)) << (_MIN_BITS - 14) for i in range(BUCKETS)]
    return np.array(weight + [0] * (_TOGETHER - 1))


@record
class ForgettingHistogram:
    """State of the histogram; the factor 0 makes the first samples overwrite the weights of the start."""

    added: int = 0
    factor: int = 0
    gain: float = 0.0  # (1 - f) / f
    total: int = int(_start().sum())
    place: int = 0  # the quantile's bucket
    below: int = 0  # weight of the buckets below it
    weight: NDArray[np.int64] = _start()  # the last entries stay 0


@kernel
def add_sample(histogram, bucket, quantile, forget_factor, start_weight):
    """Add one sample to `bucket`; a sample at or beyond the last edge is ignored.

    Args:
        histogram: ForgettingHistogram.
        bucket: at least 0.
        quantile: quantile whose bucket is `place`; the same at every call.
        forget_factor: final weight f of the past, in [0, 1].
        start_weight: growth of f from 0: initially f = 1 - start_weight / (samples + 1).
    """
    if bucket >= BUCKETS:
        return
    # Nothing of the past counts yet: (1 - f) / f would be infinite.
    if histogram.factor == 0:
        histogram.weight[:] = 0
        histogram.weight[bucket] = 1 << _MIN_BITS
        histogram.total, histogram.place, histogram.below = 1 << _MIN_BITS, bucket, 0
    else:
        weight = int(histogram.total * histogram.gain)
        histogram.weight[bucket] += weight
        histogram.total += weight
        histogram.below += weight if bucket < histogram.place else 0
        # Weights grow with every sample: scale them down while a float64 still represents the total exactly.
        if histogram.total >> _MAX_BITS > 0:
            _shorten(histogram)
    move_quantile(histogram, quantile)
    _raise_factor(histogram, forget_factor, start_weight)


@kernel
def count(histogram, bucket, samples, quantile):
    """Add samples without forgetting; the first sample replaces the initial distribution.

    An empty histogram keeps its last quantile. Do not combine with `add_sample` on the same histogram.

    Args:
        histogram: ForgettingHistogram, updated.
        bucket: int64, 0 to BUCKETS - 1.
        samples: int64, 1 to add a sample; -1 to remove one that was added.
        quantile: float64, quantile whose bucket is `place`; the same at every call.
    """
    if histogram.added == 0:
        histogram.weight[:] = 0
        histogram.total, histogram.place, histogram.below = 0, bucket, 0
    histogram.added += 1
    histogram.weight[bucket] += samples
    histogram.total += samples
    if bucket < histogram.place:
        histogram.below += samples
    if histogram.total > 0:
        move_quantile(histogram, quantile)


@kernel
def move_quantile(histogram, quantile):
    """Move `place` to the bucket of the quantile; done once before the first sample too."""
    wanted = quantile * histogram.total
    while histogram.below + histogram.weight[histogram.place] < wanted and histogram.place < BUCKETS - 1:
        histogram.below += histogram.weight[histogram.place]
        histogram.place += 1
    while histogram.place > 0 and histogram.below >= wanted:
        histogram.place -= 1
        histogram.below -= histogram.weight[histogram.place]


@kernel
def _shorten(histogram):
    histogram.total = 0
    for i in range(BUCKETS):
        if i == histogram.place:
            histogram.below = histogram.total
        histogram.weight[i] >>= _MAX_BITS - _MIN_BITS
        histogram.total += histogram.weight[i]


@kernel
def _raise_factor(histogram, forget_factor, start_weight):
    histogram.added += 1
    full = int(forget_factor * _FULL)
    if histogram.factor < full:
        histogram.factor = min(max(_FULL * (histogram.added + 1 - start_weight) // (histogram.added + 1), 0), full)
        if histogram.factor > 0:
            histogram.gain = (_FULL - histogram.factor) / histogram.factor


@kernel
def cheapest_bucket(histogram, first, bucket_us, base_us, us_per_loss_percent):
    """Return the lowest bucket i >= `first` that minimises max(0, i bucket_us - base_us) + us_per_loss_percent * percent beyond i.

    The search stops where the wait alone costs as much as the best bucket so far.

    Args:
        histogram: ForgettingHistogram; read only.
        first: int64, lowest bucket considered, 0 to BUCKETS - 1.
        bucket_us: int64, width of a bucket, above 0.
        base_us: int64, wait that costs nothing.
        us_per_loss_percent: int64, price of one percent of samples beyond the bucket, at least 0.
    """
    up_to, at = histogram.below + histogram.weight[histogram.place], histogram.place
    while at > first:
        up_to -= histogram.weight[at]
        at -= 1
    while at < first:
        at += 1
        up_to += histogram.weight[at]
    total, price_us = float(histogram.total), 100.0 * us_per_loss_percent
    best = first
    best_cost = max(0, first * bucket_us - base_us) * total + price_us * (histogram.total - up_to)
    for following in range(first + 1, BUCKETS, _TOGETHER):
        if max(0, following * bucket_us - base_us) * total >= best_cost:
            break
        # Past the last bucket there are entries of weight 0: they cost no less, so none of them becomes the best.
        for i in range(following, following + _TOGETHER):
            up_to += histogram.weight[i]
            cost = max(0, i * bucket_us - base_us) * total + price_us * (histogram.total - up_to)
            best, best_cost = i if cost < best_cost else best, min(cost, best_cost)
    return best
