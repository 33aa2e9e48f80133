"""Traces: slots equal a slow twin, lost probes lie between their neighbours, and invalid traces are rejected."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.cards import Card
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_SPAN_US, Trace, TraceError, from_replies, to_slots

CARD = Card(
    name="t", description="d", source="s", licence="l", sha256=hashlib.sha256(b"").hexdigest(), kind="synthesised", units="microseconds"
)


def trace(sent_us, delay_us):
    return Trace("made", np.array(sent_us, np.int64), np.array(delay_us, np.int64), CARD)


def slow_to_slots(sent_us, delay_us, slot_us, rtt_share):
    slots, last_known = [], LOST
    for slot in range(sent_us[-1] // slot_us + 1):
        here = [delay for sent, delay in zip(sent_us, delay_us, strict=True) if sent // slot_us == slot]
        answered = [delay for delay in here if delay != LOST]
        if answered:
            last_known = round(answered[-1] * rtt_share)
        slots.append(LOST if here and not answered else last_known)
    return slots


@st.composite
def traces(draw):
    gaps = draw(st.lists(st.integers(0, 45_000), max_size=40))
    sent = np.concatenate([[0], np.cumsum(gaps, dtype=np.int64)])
    delay = draw(st.lists(st.just(LOST) | st.integers(0, MAX_DELAY_US), min_size=len(sent), max_size=len(sent)))
    delay[draw(st.integers(0, len(sent) - 1))] = 12_345
    return trace(sent, delay)


@given(traces(), st.sampled_from([5_000, 10_000, 20_000]), st.sampled_from([0.5, 1.0, 0.37]))
def test_slots_equal_the_slow_twin(made, slot_us, rtt_share):
    slots = to_slots(made, slot_us, rtt_share)
    assert slots.dtype == np.int64
    assert slots.tolist() == slow_to_slots(made.sent_us.tolist(), made.one_way_delay_us.tolist(), slot_us, rtt_share)


def test_slots_by_hand():
    made = trace([0, 4_000, 12_000, 31_000, 45_000, 47_000], [20_000, 22_000, LOST, 30_001, LOST, 26_000])
    # Last of two in slot 0; a loss in slot 1; slot 2 holds slot 0; slot 4 has a loss and an answer.
    assert to_slots(made).tolist() == [11_000, LOST, 11_000, 15_000, 13_000]


def test_nothing_is_known_before_the_first_answer():
    assert to_slots(trace([0, 30_000], [LOST, 8_000]), rtt_share=1.0).tolist() == [LOST, LOST, LOST, 8_000]


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


@pytest.mark.parametrize(("slot_us", "rtt_share", "field"), [(999, 0.5, "slot_us"), (10_000, 0.0, "rtt_share"), (10_000, 1.5, "rtt_share")])
def test_bad_slot_arguments_are_refused(slot_us, rtt_share, field):
    with pytest.raises(TraceError, match=field):
        to_slots(trace([0], [1]), slot_us, rtt_share)


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
