"""The fixed-point histogram of NetEQ against a twin in unbounded integers, and numbers computed by hand."""

from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.playout_lag import TwinHistogram
from vcgym.baselines.playout.neteq.histogram import (
    BUCKETS,
    ONE,
    Histogram,
    add_to_histogram,
    cheapest_bucket,
    quantile_bucket,
)
from vcgym.network.kernels.record import records


def fresh():
    return records(Histogram, 1)[0]


def add(histogram, *buckets, forget_factor=0.983):
    for bucket in buckets:
        add_to_histogram(histogram, bucket, forget_factor, 2)


@given(st.lists(st.integers(0, BUCKETS + 5), max_size=150), st.sampled_from([0.983, 0.9993, 0.5]))
def test_histogram_equals_the_unbounded_integers(buckets, forget_factor):
    histogram, twin = fresh(), TwinHistogram(forget_factor)
    for bucket in buckets:
        add(histogram, bucket, forget_factor=forget_factor)
        twin.add(bucket)
        assert histogram.probability.tolist() == twin.p
        assert histogram.factor == twin.f
        assert sum(twin.p) == ONE


@given(st.lists(st.integers(0, BUCKETS - 1), max_size=30), st.floats(0.0, 1.0))
def test_quantile_is_the_first_bucket_that_reaches_it(buckets, quantile):
    histogram = fresh()
    add(histogram, *buckets)
    cumulative = np.cumsum(histogram.probability)
    assert quantile_bucket(histogram, quantile) == min(np.argmax(cumulative >= floor(quantile * ONE)), BUCKETS - 1)


def test_reset_state():
    """P7: the histogram as reset, and its quantiles."""
    histogram = fresh()
    assert histogram.probability.sum() == ONE
    assert np.count_nonzero(histogram.probability) == 14
    assert quantile_bucket(histogram, 0.95) == 4
    assert histogram.probability[:5].sum() / ONE == pytest.approx(0.96881, abs=5e-6)
    assert quantile_bucket(histogram, 0.5) == 0


def test_eight_samples_by_hand():
    """P6: factor, share and quantile after each of 0, 0, 0, 0, 10, 0, 0, 0."""
    histogram = fresh()
    factors, shares, quantiles = [], [], []
    for bucket in (0, 0, 0, 0, 10, 0, 0, 0):
        add(histogram, bucket)
        factors.append(int(histogram.factor))
        shares.append(histogram.probability[10] / ONE)
        quantiles.append(quantile_bucket(histogram, 0.95))
    assert factors == [0, 10922, 16384, 19660, 21845, 23405, 24576, 25486]
    assert shares[4:] == pytest.approx([0.40002, 0.26668, 0.19048, 0.14286], abs=5e-6)
    assert quantiles == [0, 0, 0, 0, 10, 10, 10, 10]


@pytest.mark.parametrize(("forget_factor", "adds", "reached"), [(0.983, 117, 32210), (0.9993, 2849, 32745)])
def test_adds_until_the_factor_is_reached(forget_factor, adds, reached):
    """P8: 117 samples at 0.983, 2849 at 0.9993."""
    histogram = fresh()
    add(histogram, *[0] * (adds - 1), forget_factor=forget_factor)
    assert histogram.factor < reached
    add(histogram, 0, forget_factor=forget_factor)
    assert histogram.factor == reached


def test_steady_state_moves_on_the_third_outlier_and_returns_after_one_clean_sample():
    """P9: after 300 samples of 0."""
    histogram = fresh()
    add(histogram, *[0] * 300)
    quantiles, shares = [], []
    for bucket in (10, 10, 10, 0):
        add(histogram, bucket)
        quantiles.append(quantile_bucket(histogram, 0.95))
        shares.append(histogram.probability[10] / ONE)
    assert quantiles == [0, 0, 10, 0]
    assert shares[2] == pytest.approx(0.0502, abs=5e-5)


def test_cost_of_waiting_against_loss():
    """P10: quantile lag 30 ms, cost by bucket, the cheapest is 3."""
    histogram = fresh()
    histogram.probability = 0
    for bucket, percent in ((0, 90), (1, 4), (2, 3), (3, 2), (10, 1)):
        histogram.probability[bucket] = ONE * percent // 100
    histogram.probability[0] += ONE - histogram.probability.sum()
    assert quantile_bucket(histogram, 0.95) == 2
    beyond = 100 - 100 * np.cumsum(histogram.probability[:11]) / ONE
    costs = [max(0, 10 * k - 30) + 10 * beyond[k] for k in range(11)]
    assert costs == pytest.approx([100, 60, 30, 10, 20, 30, 40, 50, 60, 70, 70], abs=1e-5)
    assert cheapest_bucket(histogram, 10_000, 30_000, 10_000) == 3
