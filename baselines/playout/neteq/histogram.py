"""The histogram of NetEQ: libwebrtc, modules/audio_coding/neteq/histogram.cc, 2022 and later, in the same integer arithmetic.

Probabilities have 30 fractional bits, forget factors 15, and every product rounds down. Left out: resizing.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

BUCKETS = 100
ONE = 1 << 30  # probability 1
FULL_FACTOR = 1 << 15  # forget factor 1


@record
class Histogram:
    """Shares of the buckets: at first bucket i holds about 2^-(i+1), and the factor 0 makes the first samples overwrite that."""

    probability: NDArray[np.int64] = np.array([16386 >> min(i + 1, 15) << 16 for i in range(BUCKETS)])
    factor: int = 0
    added: int = 0


@kernel
def add_to_histogram(histogram, bucket, forget_factor, start_weight):
    """Add one sample to `bucket`; a sample at or beyond the last edge is ignored.

    Args:
        histogram: Histogram, updated.
        bucket: at least 0.
        forget_factor: final weight f of the past, in [0, 1].
        start_weight: growth of f from 0: initially f = 1 - start_weight / (samples + 1). With 0, each sample moves f a quarter of the way
            to its final value, rounded up to 2^-15.
    """
    if bucket >= BUCKETS:
        return
    factor = histogram.factor
    excess = -ONE
    for i in range(BUCKETS):
        histogram.probability[i] = (histogram.probability[i] * factor) >> 15
        excess += histogram.probability[i]
    hit = (FULL_FACTOR - factor) << 15
    histogram.probability[bucket] += hit
    _settle(histogram, excess + hit)
    histogram.added += 1
    full = int(forget_factor * FULL_FACTOR)
    if start_weight == 0:
        histogram.factor += (full - factor + 3) // 4
    else:
        rising = FULL_FACTOR * (histogram.added + 1 - start_weight) // (histogram.added + 1)
        histogram.factor = min(max(rising, 0), full)


@kernel
def _settle(histogram, excess):
    """Correct rounding errors so that the sum is exactly 1: from bucket 0 on, by at most a sixteenth of each bucket."""
    for i in range(BUCKETS):
        if excess == 0:
            return
        sixteenth = histogram.probability[i] >> 4
        correction = max(-excess, -sixteenth) if excess > 0 else min(-excess, sixteenth)
        histogram.probability[i] += correction
        excess += correction


@kernel
def quantile_bucket(histogram, quantile):
    """Return the smallest bucket with a cumulative probability of at least `quantile`."""
    wanted = int(quantile * ONE)
    reached = histogram.probability[0]
    bucket = 0
    while reached < wanted and bucket < BUCKETS - 1:
        bucket += 1
        reached += histogram.probability[bucket]
    return bucket


@kernel
def cheapest_bucket(histogram, bucket_us, base_us, us_per_loss_percent):
    """Return the lowest bucket i that minimises max(0, i bucket_us - base_us) + us_per_loss_percent * percent beyond i.

    Args:
        histogram: Histogram; read only.
        bucket_us: int64, width of a bucket, above 0.
        base_us: int64, wait that costs nothing.
        us_per_loss_percent: int64, price of one percent of probability beyond the bucket, at least 0.
    """
    beyond = ONE
    best, best_cost = 0, np.iinfo(np.int64).max
    for i in range(BUCKETS):
        beyond -= histogram.probability[i]
        cost = (max(0, i * bucket_us - base_us) << 30) + 100 * us_per_loss_percent * beyond
        if cost < best_cost:
            best, best_cost = i, cost
        if beyond == 0:
            break
    return best
