"""The calendar of packets in flight against a priority queue, and the window of delays by slot against a plain scan."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vcgym.network.kernels.record import records
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.in_flight import (
    COPY,
    MEDIA,
    NODES,
    PROBE,
    REPAIR,
    SLOTS,
    InFlight,
    kind_of,
    number_of,
    pop,
    push,
    sort_bucket,
)
from vcgym.network.playout.slot_window import WINDOW_SLOTS, SlotWindow, expect_slot, smallest_delay_us

# Per slot: delays of a packet of each kind, 0 for none sent. Ties, the bucket's border and the calendar's end are likely.
delays = st.one_of(st.sampled_from([0, 1, 9_999, 10_000, 10_001, 20_000, 30_000, 300_000]), st.integers(0, 400_000))
KINDS = (MEDIA, PROBE, COPY, REPAIR)
calls = st.lists(st.tuples(delays, delays, delays, delays), min_size=1, max_size=80)


def fresh_in_flight():
    return records(InFlight, 1)[0]


@settings(max_examples=60)
@given(calls, st.sampled_from([0, SLOTS - 20, 3 * SLOTS - 1]))
def test_nodes_come_in_order_of_arrival_and_of_sending(sent, first_slot):
    in_flight, heap, sendings = fresh_in_flight(), [], 0
    for slot in range(first_slot, first_slot + len(sent) + 50):
        sort_bucket(in_flight, slot)
        while heap and heap[0][0] <= slot * SLOT_US:
            at_us, _, kind, number = heapq.heappop(heap)
            node = pop(in_flight, slot)
            assert (in_flight.arrival_us[node], in_flight.path[node]) == (at_us, (number + kind) % 7)
            assert (number_of(in_flight, node, slot), kind_of(in_flight, node)) == (number, kind)
        assert pop(in_flight, slot) == -1
        assert in_flight.count == len(heap)
        for kind, delay_us in zip(KINDS, sent[slot - first_slot] if slot - first_slot < len(sent) else (), strict=False):
            if delay_us > 0:
                assert push(in_flight, slot, kind, (slot + kind) % 7, delay_us)
                heapq.heappush(heap, (slot * SLOT_US + delay_us, sendings, kind, slot))
                sendings += 1
    assert not heap


def test_what_would_arrive_beyond_the_calendar_is_not_sent():
    in_flight = fresh_in_flight()
    assert not push(in_flight, 5, MEDIA, 0, SLOTS * SLOT_US)
    assert in_flight.count == 0
    assert push(in_flight, 5, MEDIA, 0, (SLOTS - 1) * SLOT_US)


def test_thousands_released_at_once_come_as_they_were_sent():
    in_flight = fresh_in_flight()
    for slot in range(3000):
        assert push(in_flight, slot, MEDIA, 0, 30_000_000 - slot * SLOT_US)
    sort_bucket(in_flight, 3000)
    assert [pop(in_flight, 3000) for _ in range(3001)] == [*range(3000), -1]


def test_copies_are_sent_while_a_node_is_free_also_late_in_a_long_call():
    in_flight, slot = fresh_in_flight(), 100_000_000  # eleven days
    assert all(push(in_flight, slot, COPY, 0, 10_000) for _ in range(NODES - SLOTS))
    assert not push(in_flight, slot, COPY, 0, 10_000)
    assert push(in_flight, slot, MEDIA, 0, 10_000)
    assert in_flight.count == NODES - SLOTS + 1
    sort_bucket(in_flight, slot + 1)
    node = pop(in_flight, slot + 1)
    assert (in_flight.arrival_us[node], number_of(in_flight, node, slot + 1)) == ((slot + 1) * SLOT_US, slot)
    assert push(in_flight, slot + 1, COPY, 0, 10_000) and not push(in_flight, slot + 1, COPY, 0, 10_000)


def fresh_window():
    return records(SlotWindow, 1)[0]


@settings(max_examples=60)
@given(st.data())
def test_the_smallest_delay_is_that_of_a_scan(data):
    window, came, pending = fresh_window(), {}, []
    slot = 0
    for _ in range(data.draw(st.integers(1, 60))):
        for _ in range(data.draw(st.sampled_from([1, 1, 1, 2, 150, 201]))):
            expect_slot(window, slot)
            pending.append(slot)
            slot += 1
        while pending and data.draw(st.booleans()):
            packet = pending.pop(data.draw(st.integers(0, len(pending) - 1)))
            delay_us = data.draw(st.sampled_from([5, 40, 40, 900, 70_000]))
            newest = max(window.newest, packet)
            if packet >= newest - WINDOW_SLOTS:
                came[packet] = delay_us
            expected = min((value for k, value in came.items() if k >= newest - WINDOW_SLOTS), default=None)
            found = smallest_delay_us(window, packet, delay_us)
            if expected is not None:
                assert found == expected
        if pending and slot - window.newest > SLOTS - 1000:
            break


def test_a_ring_that_is_run_through_many_times_equals_a_scan():
    window = fresh_window()
    rng = np.random.default_rng(4)
    delay_us = rng.integers(1, 1000, 3 * SLOTS)
    for slot in range(3 * SLOTS):
        expect_slot(window, slot)
        assert smallest_delay_us(window, slot, delay_us[slot]) == delay_us[max(0, slot - WINDOW_SLOTS) : slot + 1].min()


@pytest.mark.parametrize("silent", [WINDOW_SLOTS - 1, SLOTS - WINDOW_SLOTS, SLOTS, 2 * SLOTS + 7])
def test_after_a_silence_of_any_length_a_window_begins_anew(silent):
    window = fresh_window()
    for slot in range(50):
        expect_slot(window, slot)
        smallest_delay_us(window, slot, 5)
    for slot in range(50, 50 + silent + 1):
        expect_slot(window, slot)
    newest = 50 + silent
    assert smallest_delay_us(window, newest, 900) == (900 if silent >= WINDOW_SLOTS else 5)
    expect_slot(window, newest + 1)
    assert smallest_delay_us(window, newest + 1, 1000) == 900
