"""Traces: slots and parts between gaps equal slow twins, lost probes lie between their neighbours, and invalid traces are rejected."""

import hashlib
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.traces.cards import Card
from vcgym.network.traces.coverage import GAP_S, coverage, parts
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_SPAN_US, Trace, TraceError, from_replies, to_slots

CARD = Card(
    name="t", description="d", source="s", licence="l", sha256=hashlib.sha256(b"").hexdigest(), kind="synthesised", units="microseconds"
)


def trace(sent_us, delay_us, round_trip=True):
    return Trace("made", np.array(sent_us, np.int64), np.array(delay_us, np.int64), CARD, round_trip)


def slow_to_slots(sent_us, delay_us, share):
    """Walk over the slots; `owed` is the time, in slots, that lost probes stand for and that is not lost yet."""
    spacings = [now - before for before, now in pairwise(sent_us) if now - before < 5_000_000]
    each = Fraction(sum(spacings), len(spacings) * SLOT_US) if spacings else 0
    slots, last_known, losing = [], LOST, 0
    losses, taken = 0, 0
    for slot in range(sent_us[-1] // SLOT_US + 1):
        here = [delay for sent, delay in zip(sent_us, delay_us, strict=True) if sent // SLOT_US == slot]
        losses += here.count(LOST)
        answered = [delay for delay in here if delay != LOST]
        if answered:
            last_known = round(answered[-1] * share)
        if here:
            losing = max(math.floor(losses * each) - taken, 1) if here[-1] == LOST else 0
        slots.append(LOST if losing else last_known)
        taken, losing = (taken + 1, losing - 1) if losing else (taken, 0)
    return slots


@st.composite
def traces(draw):
    gaps = draw(st.lists(st.integers(0, 45_000), max_size=40))
    sent = np.concatenate([[0], np.cumsum(gaps, dtype=np.int64)])
    delay = draw(st.lists(st.just(LOST) | st.integers(0, MAX_DELAY_US), min_size=len(sent), max_size=len(sent)))
    delay[draw(st.integers(0, len(sent) - 1))] = 12_345
    return trace(sent, delay, draw(st.booleans()))


@given(traces())
def test_slots_equal_the_slow_twin(made):
    slots = to_slots(made)
    assert slots.dtype == np.int64
    assert slots.tolist() == slow_to_slots(made.sent_us.tolist(), made.one_way_delay_us.tolist(), 0.5 if made.round_trip else 1.0)


def test_slots_by_hand():
    made = trace([0, 4_000, 12_000, 31_000, 45_000, 47_000], [20_000, 22_000, LOST, 30_001, LOST, 26_000])
    # Last of two in slot 0; a loss in slot 1; slot 2 holds slot 0; slot 4 has a loss and an answer.
    assert to_slots(made).tolist() == [11_000, LOST, 11_000, 15_000, 13_000]


def spaced(spacing_ms, lost_share, probes=20_000):
    """Probes at spacings drawn from a range in ms, of which a share is lost, each by itself."""
    draws = np.random.default_rng(1)
    sent_us = np.append(0, np.cumsum(draws.integers(*(1000 * ms for ms in spacing_ms), probes - 1)))
    delay_us = np.where(draws.random(probes) < lost_share, LOST, 40_000)
    return sent_us, delay_us


@pytest.mark.parametrize("spacing_ms", [(1, 3), (9, 11), (11, 20), (50, 60), (150, 300), (999, 1001)])
def test_the_lost_share_of_slots_is_that_of_probes(spacing_ms):
    """Within 2 % of it, from five probes a slot to one per second."""
    made = trace(*spaced(spacing_ms, 0.036))
    share = np.mean(made.one_way_delay_us == LOST)
    assert np.mean(to_slots(made) == LOST) == pytest.approx(share, rel=0.02)


def test_the_wait_for_a_lost_ping_is_not_lost():
    """A prober waits 4 s for a lost ping; the wait counts as spacing, and does not turn 3.6 % of lost probes into half of the slots."""
    sent_us, delay_us = spaced((150, 300), 0.036)
    waits_us = np.cumsum(np.append(0, np.where(delay_us == LOST, 4_000_000, 0)[:-1]))
    slots = to_slots(trace(sent_us + waits_us, delay_us))
    assert np.mean(slots == LOST) == pytest.approx(0.036, rel=0.05)


def test_an_outage_is_lost_as_a_whole():
    """Twenty lost probes in a row, one per 200 ms, lose four seconds without a break."""
    delay_us = np.full(100, 40_000)
    delay_us[40:60] = LOST
    lost = np.flatnonzero(to_slots(trace(np.arange(100) * 200_000, delay_us)) == LOST)
    assert lost.tolist() == list(range(800, 1200))


def test_nothing_is_known_before_the_first_answer():
    assert to_slots(trace([0, 30_000], [LOST, 8_000], round_trip=False)).tolist() == [LOST, LOST, LOST, 8_000]


@pytest.mark.parametrize(
    ("sent_us", "delay_us", "message"),
    [
        ([], [], "number of probes is 0"),
        ([0, 10], [5, -2], r"one_way_delay_us\[1\] is -2; allowed: 0 to 60000000, or -1"),
        ([0, 10], [5, MAX_DELAY_US + 1], r"one_way_delay_us\[1\] is 60000001"),
        ([0, 20, 10], [5, 5, 5], r"sent_us\[2\] is 10; allowed: sorted"),
        ([-3, 10], [5, 5], r"sent_us\[0\] is -3"),
        ([7, 10], [5, 5], r"sent_us first and last is \(7, 10\)"),
        ([0, MAX_SPAN_US + 1], [5, 5], "sent_us first and last"),
        ([0, 10], [LOST, LOST], "number of answered probes is 0"),
        ([0, 10], [5], r"one_way_delay_us dtype and shape is \('int64', \(1,\)\); allowed: int64 \(2,\)"),
    ],
)
def test_a_bad_trace_is_refused(sent_us, delay_us, message):
    with pytest.raises(TraceError, match=f"^made: {message}"):
        trace(sent_us, delay_us)


def test_floats_are_refused():
    with pytest.raises(TraceError, match="float64"):
        Trace("made", np.array([0]), np.array([np.nan]), CARD)


def test_lost_probes_are_spaced_between_their_neighbours_and_overtaken_ones_sorted(tmp_path):
    seq, sent, delay = (np.array(values, np.int64) for values in ([7, 4, 9, 10], [60_000, 30_000, 90_000, 85_000], [1, 2, 3, 4]))
    made = from_replies("made", tmp_path, CARD, np.arange(4) + 2, seq, sent, delay)
    assert made.sent_us.tolist() == [0, 10_000, 20_000, 30_000, 45_000, 55_000, 60_000]
    assert made.one_way_delay_us.tolist() == [2, LOST, LOST, 1, LOST, 4, 3]


@pytest.mark.parametrize(
    ("seq", "message"),
    [
        ([], "answered probes is 0"),
        ([1, 2, 1], "line 4, seq is 1; allowed: each number answered once; line 2 has it too"),
        ([0, 10**12], "seq first and last"),
    ],
)
def test_bad_numbers_are_refused(tmp_path, seq, message):
    values = np.array(seq, np.int64)
    with pytest.raises(TraceError, match=message):
        from_replies("made", tmp_path, CARD, np.arange(len(values)) + 2, values, values, np.abs(values) % 1_000)


GAP_US = int(GAP_S * 1e6)


def slow_parts(sent_us):
    found, first = [], sent_us[0]
    for before, now in pairwise(sent_us):
        if now - before >= GAP_US:
            found.append([first // SLOT_US, before // SLOT_US + 1])
            first = now
    return [*found, [first // SLOT_US, sent_us[-1] // SLOT_US + 1]]


@given(st.lists(st.sampled_from([0, 1, 9_999, 10_000, 25_000, GAP_US - 1, GAP_US, 65_000_000]), max_size=30))
def test_parts_equal_the_slow_twin_and_cover_what_was_probed(spacing_us):
    sent_us = np.append(0, np.cumsum(spacing_us, dtype=np.int64)).astype(np.int64)
    found = parts(sent_us)
    assert found.dtype == np.int64 and found.tolist() == slow_parts(sent_us.tolist())
    described = coverage(sent_us)
    assert described.gaps == len(found) - 1 and described.largest_gap_s == max([0, *spacing_us]) / 1e6
    assert described.share == len(set((sent_us // SLOT_US).tolist())) / (sent_us[-1] // SLOT_US + 1)


def test_a_sparse_trace_with_a_gap_by_hand():
    """Ten seconds of a probe every 200 ms, 65 s without, ten more seconds with every tenth probe 300 ms after the one before."""
    sent_us = np.concatenate([np.arange(51) * 200_000, 75_000_000 + np.cumsum([0, *([200_000] * 9 + [300_000]) * 5])])
    found = coverage(sent_us)
    assert parts(sent_us).tolist() == [[0, 1001], [7500, 8551]]
    assert found.share == pytest.approx(102 / 8551)
    assert (found.spacing_ms, found.largest_gap_s, found.gaps, found.sparse) == (200.0, 65.0, 1, True)
    assert str(found) == "a probe in 1.19 % of slots, one per 200 ms (95 %: 205 ms), largest gap 65 s, cut into 2 parts"


def test_a_probe_in_every_second_slot_is_not_sparse():
    found = coverage(np.arange(3000) * 20_000)
    assert not found.sparse and found.gaps == 0 and found.share == pytest.approx(0.5, rel=1e-3)
    assert str(coverage(np.zeros(1, np.int64))).startswith("a probe in 100 % of slots, one per 0 ms")
