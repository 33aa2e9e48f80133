"""The jitter window against the listing of Algorithm 2, and numbers computed by hand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from twins.playout_lag import TwinJitter
from vcgym.baselines.playout.jitter_window import NO_JITTER, JitterWindow, accumulated_jitter
from vcgym.network.kernels.record import records


def twin_jitters(sent_us, arrived_us, most=10**6):
    twin = TwinJitter(most)
    found = [twin(sent, arrived) for sent, arrived in zip(sent_us, arrived_us, strict=True)]
    return [NO_JITTER, *found[1:]]


def jitters(sent_us, arrived_us):
    window = records(JitterWindow, 1)[0]
    return [int(accumulated_jitter(window, s, a)) for s, a in zip(sent_us, arrived_us, strict=True)]


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


@given(st.integers(0, 400), st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_a_window_of_more_packets_than_it_holds_has_the_last_256(stalled, seed):
    """A send queue empties: packets of `stalled` slots leave one per ms, those after them each 10 ms."""
    sent = np.cumsum(np.where(np.arange(900) % 450 < stalled, 1_000, 10_000))
    arrived = sent + np.random.default_rng(seed).integers(20_000, 21_000, len(sent))
    assert jitters(sent, arrived) == twin_jitters(sent.tolist(), arrived.tolist(), 256)


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=300))
def test_jitter_of_held_packets_released_together_in_any_order_equals_the_listing(slots):
    sent = [10_000 * slot for slot in slots]
    arrived = [50_000_000] * len(sent)
    assert jitters(sent, arrived) == twin_jitters(sent, arrived)
