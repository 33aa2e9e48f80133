"""The histograms of CalculateLag and of NetEQ: twins in fractions and unbounded integers, plain scans, and numbers computed by hand."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.playout_lag import TwinHistogram
from vcgym.baselines.playout import forgetting_histogram as forgetting
from vcgym.baselines.playout.neteq import histogram as neteq
from vcgym.baselines.playout.neteq.neteq import NetEQ
from vcgym.network.kernels.record import records

BUCKETS = forgetting.BUCKETS
samples = st.lists(st.one_of(st.integers(0, 12), st.integers(0, BUCKETS + 5)), max_size=120)


class Forgetting:
    """That of CalculateLag, whose quantile is kept."""

    def __init__(self, quantile=0.95):
        self.state, self.quantile = records(forgetting.ForgettingHistogram, 1)[0], quantile
        forgetting.move_quantile(self.state, quantile)

    def add(self, bucket, forget_factor=0.983, start_weight=2):
        forgetting.add_sample(self.state, bucket, self.quantile, forget_factor, start_weight)

    def shares(self):
        return np.asarray(self.state.weight[:BUCKETS]) / self.state.total

    def place(self):
        return int(self.state.place)

    def scanned(self):
        return min(int(np.argmax(np.cumsum(self.state.weight) >= self.quantile * self.state.total)), BUCKETS - 1)


class NetEqs:
    """That of NetEQ."""

    def __init__(self, quantile=0.95):
        self.state, self.quantile = records(neteq.Histogram, 1)[0], quantile

    def add(self, bucket, forget_factor=0.983, start_weight=2):
        neteq.add_to_histogram(self.state, bucket, forget_factor, start_weight)

    def shares(self):
        return np.asarray(self.state.probability) / neteq.ONE

    def place(self):
        return neteq.quantile_bucket(self.state, self.quantile)

    def scanned(self):
        return min(np.argmax(np.cumsum(self.state.probability) >= floor(self.quantile * neteq.ONE)), BUCKETS - 1)


each = pytest.mark.parametrize("kind", [Forgetting, NetEqs])


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
    histogram = Forgetting(quantile)
    for bucket in buckets:
        histogram.add(bucket, forget_factor, start_weight)
        state = histogram.state
        assert state.total == sum(state.weight) and state.below == sum(state.weight[: state.place])
        assert histogram.place() == histogram.scanned()
    if any(bucket < BUCKETS for bucket in buckets):
        assert histogram.shares() == pytest.approx(recursion(buckets, forget_factor, start_weight), abs=1e-7)


@given(samples, st.sampled_from([0.983, 0.9993, 0.5]), st.floats(0.0, 1.0))
def test_that_of_neteq_equals_the_unbounded_integers(buckets, forget_factor, quantile):
    histogram, twin = NetEqs(quantile), TwinHistogram(forget_factor)
    for bucket in buckets:
        histogram.add(bucket, forget_factor)
        twin.add(bucket)
        assert (histogram.state.probability.tolist(), histogram.state.factor, sum(twin.p)) == (twin.p, twin.f, neteq.ONE)
    assert histogram.place() == histogram.scanned()


def test_ten_thousand_samples_stay_with_libwebrtc():
    ours, theirs, apart = Forgetting(), NetEqs(), 0
    for bucket in np.minimum(np.random.default_rng(5).exponential(3.0, 10_000).astype(np.int64), 110):
        ours.add(bucket)
        theirs.add(bucket)
        assert ours.place() == ours.scanned()
        apart += ours.place() != theirs.place()
    assert ours.shares() == pytest.approx(theirs.shares(), abs=1e-6)
    assert apart <= 2


@each
def test_eight_samples_by_hand(kind):
    """P6: factor, share and quantile after each of 0, 0, 0, 0, 10, 0, 0, 0."""
    histogram, factors, shares, places = kind(), [], [], []
    for bucket in (0, 0, 0, 0, 10, 0, 0, 0):
        histogram.add(bucket)
        factors.append(int(histogram.state.factor))
        shares.append(histogram.shares()[10])
        places.append(histogram.place())
    assert factors == [0, 10922, 16384, 19660, 21845, 23405, 24576, 25486]
    assert shares[4:] == pytest.approx([0.40002, 0.26668, 0.19048, 0.14286], abs=5e-6)
    assert places == [0, 0, 0, 0, 10, 10, 10, 10]


@each
def test_reset_state(kind):
    """P7: the histogram as reset, and its quantiles."""
    assert np.count_nonzero(kind().shares()) == 14 and kind().shares().sum() == pytest.approx(1.0)
    assert (kind().place(), kind(0.5).place()) == (4, 0)
    assert kind().shares()[:5].sum() == pytest.approx(0.96881, abs=5e-6)


@pytest.mark.parametrize(("forget_factor", "adds", "reached"), [(0.983, 117, 32210), (0.9993, 2849, 32745)])
def test_adds_until_the_factor_is_reached(forget_factor, adds, reached):
    """P8: 117 samples at 0.983, 2849 at 0.9993."""
    histogram = NetEqs()
    for _ in range(adds - 1):
        histogram.add(0, forget_factor)
    assert histogram.state.factor < reached
    histogram.add(0, forget_factor)
    assert histogram.state.factor == reached


def test_forget_factor_without_a_start_weight():
    """A quarter of the way to 0.983 at each sample, rounded up: only the first sample overwrites what a reset left."""
    histogram, factors = NetEqs(), []
    for _ in range(40):
        histogram.add(0, NetEQ().forget_factor, 0)
        factors.append(int(histogram.state.factor))
    assert factors[:4] == [8053, 14093, 18623, 22020]
    assert factors.index(32210) == 33 and factors[-1] == 32210


@each
def test_steady_state_moves_on_the_third_outlier_and_returns_after_one_clean_sample(kind):
    """P9: after 300 samples of 0."""
    histogram, places, shares = kind(), [], []
    for bucket in [0] * 300 + [10, 10, 10, 0]:
        histogram.add(bucket)
        places.append(histogram.place())
        shares.append(histogram.shares()[10])
    assert places[300:] == [0, 0, 10, 0]
    assert shares[302] == pytest.approx(0.0502, abs=5e-5)


def test_cost_of_waiting_against_loss():
    """P10: shares of 90, 4, 3, 2 and 1 percent, quantile lag 30 ms: the cheapest bucket is 3, in both."""
    theirs, ours = NetEqs(), Forgetting().state
    theirs.state.probability = 0
    ours.weight = 0
    for bucket, percent in ((0, 90), (1, 4), (2, 3), (3, 2), (10, 1)):
        theirs.state.probability[bucket], ours.weight[bucket] = neteq.ONE * percent // 100, percent << 30
    theirs.state.probability[0] += neteq.ONE - theirs.state.probability.sum()
    assert theirs.place() == 2
    costs = [max(0, 10 * k - 30) + 1000 * (1 - theirs.shares()[: k + 1].sum()) for k in range(11)]
    assert costs == pytest.approx([100, 60, 30, 10, 20, 30, 40, 50, 60, 70, 70], abs=1e-5)
    assert neteq.cheapest_bucket(theirs.state, 10_000, 30_000, 10_000) == 3
    ours.total, ours.place, ours.below = 100 << 30, 2, 94 << 30
    assert [forgetting.cheapest_bucket(ours, first, 10_000, 30_000, 10_000) for first in (2, 0)] == [3, 3]


@given(samples.filter(lambda buckets: any(bucket < BUCKETS for bucket in buckets)), st.integers(1, 60), st.sampled_from([10_000, 20_000]))
def test_the_cheapest_bucket_equals_a_scan(buckets, base_buckets, price_us):
    histogram = Forgetting()
    for bucket in buckets:
        histogram.add(bucket)
    state, base_us, first = histogram.state, 10_000 * base_buckets, base_buckets - 1
    beyond = state.total - np.cumsum(state.weight)
    cost = [float(max(0, 10_000 * k - base_us)) * float(state.total) + 100.0 * price_us * float(beyond[k]) for k in range(BUCKETS)]
    scanned = cost.index(min(cost))
    found = forgetting.cheapest_bucket(state, first, 10_000, base_us, price_us)
    assert max(found, first) == max(scanned, first)  # below `first` only the lag that is held already could come out
