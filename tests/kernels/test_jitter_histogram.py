"""The jitter window and the fixed-point histogram against literal twins, and the numbers worked out by hand."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.baselines.jitter_histogram import (
    BUCKETS,
    NO_JITTER,
    ONE,
    accumulated_jitter,
    add_to_histogram,
    allocate_histogram,
    allocate_window,
    cheapest_bucket,
    quantile_bucket,
    reset_histogram,
    reset_window,
)


class TwinHistogram:
    """The update in unbounded integers and fractions, step by step."""

    def __init__(self):
        self.p = [floor(Fraction(16386, 2 ** (i + 1))) * 2**16 for i in range(BUCKETS)]
        self.f = 0
        self.count = 0

    def add(self, bucket, forget_factor):
        if bucket >= BUCKETS:
            return
        self.p = [floor(Fraction(p * self.f, 2**15)) for p in self.p]
        self.p[bucket] += (2**15 - self.f) * 2**15
        for i in range(BUCKETS):
            missing = 2**30 - sum(self.p)
            step = min(abs(missing), self.p[i] // 16)
            self.p[i] += step if missing > 0 else -step
        self.count += 1
        self.f = max(0, min(floor((1 - Fraction(2, self.count + 1)) * 2**15), floor(Fraction(forget_factor) * 2**15)))


def fresh():
    histogram = allocate_histogram(2)
    reset_histogram(histogram, 1)
    return histogram


def add(histogram, *buckets, forget_factor=0.983):
    for bucket in buckets:
        add_to_histogram(histogram, 1, bucket, forget_factor, 2)


@given(st.lists(st.integers(0, BUCKETS + 5), max_size=150), st.sampled_from([0.983, 0.9993, 0.5]))
def test_histogram_equals_the_unbounded_integers(buckets, forget_factor):
    histogram, twin = fresh(), TwinHistogram()
    for bucket in buckets:
        add(histogram, bucket, forget_factor=forget_factor)
        twin.add(bucket, forget_factor)
        assert histogram.probability[1].tolist() == twin.p
        assert histogram.factor[1] == twin.f
        assert sum(twin.p) == ONE
    assert not histogram.probability[0].any()


@given(st.lists(st.integers(0, BUCKETS - 1), max_size=30), st.floats(0.0, 1.0))
def test_quantile_is_the_first_bucket_that_reaches_it(buckets, quantile):
    histogram = fresh()
    add(histogram, *buckets)
    cumulative = np.cumsum(histogram.probability[1])
    assert quantile_bucket(histogram, 1, quantile) == min(np.argmax(cumulative >= floor(quantile * ONE)), BUCKETS - 1)


def test_reset_state():
    """P7: the histogram as reset, and its quantiles."""
    histogram = fresh()
    assert histogram.probability[1].sum() == ONE
    assert np.count_nonzero(histogram.probability[1]) == 14
    assert quantile_bucket(histogram, 1, 0.95) == 4
    assert histogram.probability[1, :5].sum() / ONE == pytest.approx(0.96881, abs=5e-6)
    assert quantile_bucket(histogram, 1, 0.5) == 0


def test_eight_samples_by_hand():
    """P6: factor, share and quantile after each of 0, 0, 0, 0, 10, 0, 0, 0."""
    histogram = fresh()
    factors, shares, quantiles = [], [], []
    for bucket in (0, 0, 0, 0, 10, 0, 0, 0):
        add(histogram, bucket)
        factors.append(int(histogram.factor[1]))
        shares.append(histogram.probability[1, 10] / ONE)
        quantiles.append(quantile_bucket(histogram, 1, 0.95))
    assert factors == [0, 10922, 16384, 19660, 21845, 23405, 24576, 25486]
    assert shares[4:] == pytest.approx([0.40002, 0.26668, 0.19048, 0.14286], abs=5e-6)
    assert quantiles == [0, 0, 0, 0, 10, 10, 10, 10]


@pytest.mark.parametrize(("forget_factor", "adds", "reached"), [(0.983, 117, 32210), (0.9993, 2849, 32745)])
def test_adds_until_the_factor_is_reached(forget_factor, adds, reached):
    """P8: 117 samples at 0.983, 2849 at 0.9993."""
    histogram = fresh()
    add(histogram, *[0] * (adds - 1), forget_factor=forget_factor)
    assert histogram.factor[1] < reached
    add(histogram, 0, forget_factor=forget_factor)
    assert histogram.factor[1] == reached


def test_steady_state_moves_on_the_third_outlier_and_returns_after_one_clean_sample():
    """P9: after 300 samples of 0."""
    histogram = fresh()
    add(histogram, *[0] * 300)
    quantiles = []
    for bucket in (10, 10, 10, 0):
        add(histogram, bucket)
        quantiles.append(quantile_bucket(histogram, 1, 0.95))
    assert quantiles == [0, 0, 10, 0]


def test_cost_of_waiting_against_loss():
    """P10: quantile lag 30 ms, cost by bucket, the cheapest is 3."""
    histogram = fresh()
    histogram.probability[1] = 0
    for bucket, percent in ((0, 90), (1, 4), (2, 3), (3, 2), (10, 1)):
        histogram.probability[1, bucket] = ONE * percent // 100
    histogram.probability[1, 0] += ONE - histogram.probability[1].sum()
    assert quantile_bucket(histogram, 1, 0.95) == 2
    beyond = 100 - 100 * np.cumsum(histogram.probability[1, :11]) / ONE
    costs = [max(0, 10 * k - 30) + 10 * beyond[k] for k in range(11)]
    assert costs == pytest.approx([100, 60, 30, 10, 20, 30, 40, 50, 60, 70, 70], abs=1e-5)
    assert cheapest_bucket(histogram, 1, 10_000, 30_000, 10_000) == 3


def jitters(sent_us, arrived_us):
    window = allocate_window(2)
    reset_window(window, 1)
    return [int(accumulated_jitter(window, 1, s, a)) for s, a in zip(sent_us, arrived_us, strict=True)]


def twin_jitters(sent_us, arrived_us):
    """The listing: a queue of (sent time, d), dropped from the front, and the clamped running sum over it."""
    queue, result = [], [NO_JITTER]
    for i in range(1, len(sent_us)):
        queue.append((sent_us[i], (arrived_us[i] - arrived_us[i - 1]) - (sent_us[i] - sent_us[i - 1])))
        while sent_us[i] - queue[0][0] > 2_000_000:
            queue.pop(0)
        jitter = 0
        for _, d in queue:
            jitter = max(0, jitter + d)
        result.append(jitter)
    return result


def test_jitter_by_hand():
    """P5: delays of 100, 103, 99 ... ms add up to jitters of 0, 3, 0, 21, 11, 6, 41, 1 ms."""
    delays_ms = [100, 103, 99, 120, 110, 105, 140, 100]
    sent = [10_000 * k for k in range(8)]
    arrived = [s + 1000 * delay for s, delay in zip(sent, delays_ms, strict=True)]
    assert jitters(sent, arrived) == [NO_JITTER, 3000, 0, 21000, 11000, 6000, 41000, 1000]


@st.composite
def arrivals(draw):
    """Sent times at multiples of `spacing`, some far apart, arriving in any order, with repeated values likely."""
    spacing = draw(st.sampled_from([10_000, 100_000, 500_000]))
    slots = draw(st.lists(st.integers(0, 60), min_size=1, max_size=40))
    gaps = draw(st.lists(st.sampled_from([0, 1_000, 10_000, 300_000]), min_size=len(slots), max_size=len(slots)))
    return [spacing * slot for slot in slots], np.cumsum(gaps).tolist()


@given(arrivals())
def test_jitter_equals_the_listing(packets):
    assert jitters(*packets) == twin_jitters(*packets)


def test_jitter_over_many_windows_equals_the_listing():
    rng = np.random.default_rng(3)
    sent = 10_000 * np.arange(1500)
    arrived = sent + 50_000 + rng.exponential(60_000, 1500).astype(np.int64) + 400_000 * (rng.random(1500) < 0.02)
    order = np.argsort(arrived, kind="stable")
    assert jitters(sent[order], arrived[order]) == twin_jitters(sent[order].tolist(), arrived[order].tolist())


def test_a_window_at_ten_ms_never_overflows_and_a_denser_one_is_refused():
    sent = 10_000 * np.arange(600)
    jitters(sent, sent + 5 * np.arange(600))
    with pytest.raises(ValueError, match="at least 8 ms"):
        jitters(sent // 10, sent // 10 + 5 * np.arange(600))
