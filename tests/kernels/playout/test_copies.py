"""The receiver's queue takes copies: it equals a list, and a later arrival of a packet changes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twins.session import Receiver
from vcgym.envs.call.counters import PacketLog
from vcgym.network.kernels.record import records
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.receiver import (
    COUNT,
    DUPLICATE,
    FIRST,
    LATE,
    PUBLISHED,
    WATERMARK,
    accept,
    expect,
    flush,
)
from vcgym.network.playout.receiver import Receiver as Queue

MECHANISMS = [WATERMARK, COUNT, PUBLISHED]
PACKETS = 40

# Of each packet: the delays of its arrivals in slots; of each arrival: the level in force.
arrivals = st.lists(st.tuples(st.integers(0, PACKETS - 1), st.integers(1, 30), st.sampled_from([0, 10_000, 35_000, 200_000])), max_size=120)


def play(mechanism, events):
    """Return what each arrival was, the counters and the log, of `events` (slot, packet, level) in order of time."""
    receiver, log = records(Queue, 1)[0], records(PacketLog, 1, PACKETS)
    outcomes, sent, last_us = [], 0, 0
    for slot, packet, level_us in events:
        for number in range(sent, min(slot, PACKETS)):
            expect(receiver, log, 0, number, number * SLOT_US, SLOT_US)
        sent = max(sent, slot)
        outcomes.append(accept(receiver, log, 0, packet, slot * SLOT_US, level_us, mechanism, SLOT_US))
        last_us = slot * SLOT_US if outcomes[-1] != DUPLICATE else last_us
    for number in range(sent, PACKETS):
        expect(receiver, log, 0, number, number * SLOT_US, SLOT_US)
    counters = {name: int(receiver[name]) for name in Queue.dtype.names if name != "standing"}
    receiver.last_arrival_us = last_us
    flush(receiver, log, 0, PACKETS, SLOT_US)
    return outcomes, counters, log["emitted_us"][0].tolist()


def in_time(sent):
    """Return events in order of arrival."""
    return sorted(((packet + delay, packet, level_us) for packet, delay, level_us in sent), key=lambda event: event[0])


def first_ones(events):
    return [event for at, event in enumerate(events) if event[1] not in {packet for _, packet, _ in events[:at]}]


@settings(max_examples=150)
@given(arrivals, st.sampled_from(MECHANISMS))
def test_later_arrivals_of_a_packet_change_nothing(sent, mechanism):
    events = in_time(sent)
    outcomes, counters, emitted = play(mechanism, events)
    alone, counters_alone, emitted_alone = play(mechanism, first_ones(events))
    assert (counters, emitted) == (counters_alone, emitted_alone)
    assert [outcome for outcome in outcomes if outcome != DUPLICATE] == alone
    assert outcomes.count(DUPLICATE) == len(events) - len(alone)


@settings(max_examples=150)
@given(arrivals, st.sampled_from(MECHANISMS))
def test_copies_by_twin(sent, mechanism):
    events, twin, given_out = in_time(sent), Receiver(mechanism), []
    for slot, packet, level_us in events:
        if packet not in twin.arrived:
            twin.level_us = level_us
        given_out.append(twin.accept(packet, slot * SLOT_US))
    outcomes, counters, emitted = play(mechanism, events)
    assert outcomes == given_out
    assert counters["held"] == len(twin.queue)
    assert counters["emitted"] == len(twin.emitted)
    assert counters["delay_us_sum"] == sum(at_us - packet * SLOT_US for packet, at_us in twin.emitted.items())
    left = twin.left()
    assert [packet for packet, at_us in enumerate(emitted) if at_us >= 0] == sorted(twin.emitted.keys() | left)
    assert all(emitted[packet] == at_us for packet, at_us in twin.emitted.items())


@pytest.mark.parametrize(("mechanism", "level_us", "held"), [(WATERMARK, 20_000, 2), (COUNT, 20_000, 2), (PUBLISHED, 20_000, 3)])
def test_every_packet_twice_is_held_once(mechanism, level_us, held):
    events = [(packet + 1, packet, level_us) for packet in range(6) for _ in range(2)]
    outcomes, counters, _ = play(mechanism, events)
    assert outcomes == [FIRST, DUPLICATE] * 6
    assert (counters["held"], counters["emitted"]) == (held, 6 - held)


def test_a_packet_that_came_late_is_late_once():
    events = [(1, 0, 0), (4, 3, 0), (5, 1, 0), (6, 1, 0), (7, 3, 0), (8, 0, 0)]
    outcomes, counters, emitted = play(WATERMARK, events)
    assert outcomes == [FIRST, FIRST, LATE, DUPLICATE, DUPLICATE, DUPLICATE]
    assert (counters["emitted"], counters["missed"], counters["held"]) == (2, 2, 0)
    assert emitted[:5] == [10_000, -1, -1, 40_000, -1]


def test_a_copy_stands_in_for_a_lost_packet():
    outcomes, counters, _ = play(COUNT, [(1, 0, 0), (9, 1, 0), (10, 1, 0)])
    assert outcomes == [FIRST, FIRST, DUPLICATE]
    assert (counters["emitted"], counters["missed"]) == (2, 0)
