"""What a receiver makes of numbers and times that are far away: of a datagram of a party that has the key, or because it started late."""

import numpy as np
import pytest
from virtual_call import EMULATOR, RECEIVER, network_of

from vcgym.baselines.systems import load_system
from vcgym.live.call.policies import of_system
from vcgym.live.protocol.media import write_copy, write_media
from vcgym.live.protocol.wire import DatagramKind, Header, route, write
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.scenario import Scenario

PACKETS, PLAYED = 6000, 300
START_US = 100_000_000  # of slot 0
DELAY_US = 50_000


@pytest.fixture
def receiver():
    scenario = Scenario("wonderproxy", "correlated", PACKETS)
    return network_of(of_system(load_system("GRD-WM")), scenario, scenario.draw("validation", 1))[1].receiver


def datagram(receiver, number, sent_us, kind=DatagramKind.MEDIA, payload=None):
    session = receiver._session
    payload = write_media(session.number, number, b"x") if payload is None else payload
    return write(Header(kind, 0, session.number, number, sent_us, route(RECEIVER)), payload, session.secret)


def played(receiver, first=0, delay_us=DELAY_US):
    """Give the receiver PLAYED packets from number `first` on, and return the packets that it played."""
    for number in range(first, first + PLAYED):
        sent_us = START_US + number * SLOT_US
        while receiver.due_us < sent_us + delay_us:
            list(receiver.wake(receiver.due_us))
        list(receiver.receive(datagram(receiver, number, sent_us), EMULATOR, sent_us + delay_us))
    while not receiver.is_done:
        list(receiver.wake(receiver.due_us))
    assert sorted(receiver.media) == list(np.flatnonzero(receiver.listening.own_us >= 0))
    return np.flatnonzero(receiver.listening.finish().played_us[0] >= 0)


FAR = {
    "number 2039, sent 21.7 s ago": (2039, -21_700_000),
    "number 4090, sent 40 s ago": (4090, -40_000_000),
    "number 4000, sent now": (4000, 0),
    "the last number, sent now": (PACKETS - 1, 0),
    "the last number, sent 5 s from now": (PACKETS - 1, 5_000_000),
}


@pytest.mark.parametrize("begun", [0, 1, 100], ids=["before the call", "after its first packet", "within the call"])
@pytest.mark.parametrize(("number", "ahead_us"), FAR.values(), ids=FAR)
@pytest.mark.parametrize("kind", [DatagramKind.MEDIA, DatagramKind.PROBE, DatagramKind.COPY])
def test_one_datagram_from_far_away_changes_nothing(receiver, kind, number, ahead_us, begun):
    for n in range(begun):
        list(receiver.receive(datagram(receiver, n, START_US + n * SLOT_US), EMULATOR, START_US + n * SLOT_US + DELAY_US))
    now_us = START_US + begun * SLOT_US + DELAY_US
    payload = write_copy(number, write_media(0, number, b"x")) if kind == DatagramKind.COPY else None
    list(receiver.receive(datagram(receiver, number, now_us + ahead_us, kind, payload), EMULATOR, now_us))
    assert list(played(receiver)) == list(range(PLAYED))


@pytest.mark.parametrize("delay_us", [150_000, 5_000_000])
@pytest.mark.parametrize("first", [4000, 4080, 4095, 5500])
def test_a_receiver_that_starts_late_plays_what_comes_from_then_on(receiver, first, delay_us):
    """The first two packets may come before the slots until then were played; at 41 s they are lost."""
    missed = set(range(first, first + PLAYED)) - set(played(receiver, first, delay_us))
    assert missed <= {first, first + 1}


def test_a_flood_of_copies_does_not_end_the_call(receiver):
    """More than the rings of the loop hold, all of one slot."""
    list(receiver.receive(datagram(receiver, 0, START_US), EMULATOR, START_US))
    copy = write_copy(40, write_media(0, 40, b"x", [(distance, b"y") for distance in range(1, 34)]))
    for number in range(5000):
        list(receiver.receive(datagram(receiver, number, START_US + 40 * SLOT_US, DatagramKind.COPY, copy), EMULATOR, START_US + 1))
    assert list(played(receiver)) == list(range(PLAYED))


def test_two_datagrams_begin_the_call_whatever_one_alone_says(receiver):
    """Also if many datagrams, each alone, name another start."""
    for number in range(50):
        list(receiver.receive(datagram(receiver, 7 * number, START_US + number), EMULATOR, START_US + DELAY_US))
    assert not receiver.has_begun
    assert list(played(receiver)) == list(range(PLAYED))
