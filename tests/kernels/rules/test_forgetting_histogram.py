"""The forgetting histogram against the recursion in fractions, against libwebrtc's integers, and against plain scans."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.baselines.playout.forgetting_histogram import BUCKETS, ForgettingHistogram, add_sample, cheapest_bucket, move_quantile
from vcgym.baselines.playout.neteq import histogram as neteq_histogram
from vcgym.network.kernels.record import records

samples = st.lists(st.one_of(st.integers(0, 12), st.integers(0, BUCKETS + 5)), max_size=120)


def fresh(quantile=0.95):
    histogram = records(ForgettingHistogram, 1)[0]
    move_quantile(histogram, quantile)
    return histogram


def shares(histogram):
    return np.asarray(histogram.weight[:BUCKETS]) / histogram.total


def scan(histogram, quantile):
    cumulative = np.cumsum(histogram.weight)
    return min(int(np.argmax(cumulative >= quantile * histogram.total)), BUCKETS - 1)


def recursion(buckets, forget_factor, start_weight):
    """Probabilities, multiplied and added to bucket by bucket, in fractions."""
    full = int(forget_factor * 2**15)
    p, f, count = {}, 0, 0
    for bucket in buckets:
        if bucket >= BUCKETS:
            continue
        share = Fraction(f, 2**15)
        p = {k: v * share for k, v in p.items()}
        p[bucket] = p.get(bucket, 0) + 1 - share
        count += 1
        f = max(0, min(2**15 * (count + 1 - start_weight) // (count + 1), full))
    return [float(p.get(k, 0)) for k in range(BUCKETS)]


@given(samples, st.sampled_from([0.983, 0.9993, 0.5, 0.0]), st.sampled_from([1, 2, 5]), st.sampled_from([0.95, 0.5, 0.0, 1.0]))
def test_shares_equal_the_recursion_and_the_quantile_a_scan(buckets, forget_factor, start_weight, quantile):
    histogram = fresh(quantile)
    for bucket in buckets:
        add_sample(histogram, bucket, quantile, forget_factor, start_weight)
        assert histogram.total == sum(histogram.weight)
        assert histogram.below == sum(histogram.weight[: histogram.place])
        assert histogram.place == scan(histogram, quantile)
    if any(bucket < BUCKETS for bucket in buckets):
        assert shares(histogram) == pytest.approx(recursion(buckets, forget_factor, start_weight), abs=1e-7)


def test_ten_thousand_samples_stay_with_libwebrtc():
    histogram = fresh()
    twin = records(neteq_histogram.Histogram, 1)[0]
    buckets = np.minimum(np.random.default_rng(5).exponential(3.0, 10_000).astype(np.int64), 110)
    apart = 0
    for bucket in buckets:
        add_sample(histogram, bucket, 0.95, 0.983, 2)
        neteq_histogram.add_to_histogram(twin, bucket, 0.983, 2)
        assert histogram.place == scan(histogram, 0.95)
        apart += histogram.place != neteq_histogram.quantile_bucket(twin, 0.95)
    assert shares(histogram) == pytest.approx(twin.probability / neteq_histogram.ONE, abs=1e-6)
    assert apart <= 2


def test_eight_samples_by_hand():
    """P6: share and quantile after each of 0, 0, 0, 0, 10, 0, 0, 0, and the factors."""
    histogram, factors, found = fresh(), [], []
    for bucket in (0, 0, 0, 0, 10, 0, 0, 0):
        add_sample(histogram, bucket, 0.95, 0.983, 2)
        factors.append(int(histogram.factor))
        found.append((shares(histogram)[10], histogram.place))
    assert factors == [0, 10922, 16384, 19660, 21845, 23405, 24576, 25486]
    assert [share for share, _ in found[4:]] == pytest.approx([0.40002, 0.26668, 0.19048, 0.14286], abs=5e-6)
    assert [place for _, place in found] == [0, 0, 0, 0, 10, 10, 10, 10]


def test_steady_state_moves_on_the_third_outlier_and_returns_after_one_clean_sample():
    """P9: after 300 samples of 0."""
    histogram, places = fresh(), []
    for bucket in [0] * 300 + [10, 10, 10, 0]:
        add_sample(histogram, bucket, 0.95, 0.983, 2)
        places.append(int(histogram.place))
    assert places[300:] == [0, 0, 10, 0]


def test_reset_state():
    """P7, in shares: the quantile is bucket 4 at 0.95 and bucket 0 at 0.5."""
    assert fresh().place == 4
    assert fresh(0.5).place == 0
    assert shares(fresh())[:5].sum() == pytest.approx(0.96881, abs=5e-6)


def test_cost_of_waiting_against_loss():
    """P10: shares of 90, 4, 3, 2 and 1 percent, base lag 30 ms: bucket 3."""
    histogram = fresh()
    histogram.weight[:] = 0
    for bucket, percent in ((0, 90), (1, 4), (2, 3), (3, 2), (10, 1)):
        histogram.weight[bucket] = percent << 30
    histogram.total = 100 << 30
    histogram.place, histogram.below = 2, 94 << 30
    assert cheapest_bucket(histogram, 2, 10_000, 30_000, 10_000) == 3
    assert cheapest_bucket(histogram, 0, 10_000, 30_000, 10_000) == 3


@given(samples.filter(lambda buckets: any(bucket < BUCKETS for bucket in buckets)), st.integers(1, 60), st.sampled_from([10_000, 20_000]))
def test_the_cheapest_bucket_equals_a_scan(buckets, base_buckets, price_us):
    histogram = fresh()
    for bucket in buckets:
        add_sample(histogram, bucket, 0.95, 0.983, 2)
    base_us = 10_000 * base_buckets
    beyond = histogram.total - np.cumsum(histogram.weight)
    cost = [float(max(0, 10_000 * k - base_us)) * float(histogram.total) + 100.0 * price_us * float(beyond[k]) for k in range(BUCKETS)]
    scanned = cost.index(min(cost))
    first = base_buckets - 1
    found = cheapest_bucket(histogram, first, 10_000, base_us, price_us)
    # Below `first` only the lag that is held already could come out.
    assert max(found, first) == max(scanned, first)
