"""A party that has the key and sends nonsense: it ends no other party, loses no recording and takes no memory."""

import random
import struct

import numpy as np
import pytest
from aiortc.rtp import RtpPacket
from virtual_call import CONTROLLER, EMULATOR, RECEIVER, SECRET, SENDER, START_US, network_of

from vcgym.baselines.records import Record
from vcgym.baselines.systems import load_system
from vcgym.live.call.audio import UNIT_SAMPLES, rendered
from vcgym.live.call.controller import REPEAT_SLOTS
from vcgym.live.call.parties import finished
from vcgym.live.call.policies import of_system
from vcgym.live.emulator import EmulatedWorld, Emulator
from vcgym.live.protocol.media import write_copy, write_media
from vcgym.live.protocol.messages import write_feedback, write_setup
from vcgym.live.protocol.nodes import NEVER_US
from vcgym.live.protocol.replay_window import AHEAD_US
from vcgym.live.protocol.wire import DatagramKind, Header, route, session_key, write
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.scenario import Scenario

PACKETS = 300
ENDS = {
    DatagramKind.COMMAND: SENDER,
    DatagramKind.ONWARD: SENDER,
    DatagramKind.SETUP: CONTROLLER,
    DatagramKind.FEEDBACK: CONTROLLER,
}  # the others end at the receiver
MIDDLE = PACKETS // 2
NOW_US = START_US + MIDDLE * SLOT_US


@pytest.fixture
def begun():
    """A call in virtual time."""
    scenario = Scenario("wonderproxy", "correlated", PACKETS)
    return network_of(of_system(load_system("GRD-WM")), scenario, scenario.draw("validation", 1))


def rtp(opus):
    return RtpPacket(payload_type=111, payload=opus).serialize()


def record(**given):
    values = {"kind": 0, "packet": 1, "path": 0, "sent_us": SLOT_US, "arrived_us": 2 * SLOT_US, "known_us": 0, "lag_us": 0, "late": 0}
    return write_feedback([Record(**values | given)])


def given_to(parties, kind, payload, number=MIDDLE, sent_us=None, now_us=NOW_US):
    """Give a datagram with the right key to the party at which its kind ends; return the party and what it sends."""
    session, at = parties.session, ENDS.get(kind, RECEIVER)
    sent_us = START_US + number * SLOT_US if sent_us is None else sent_us
    datagram = write(Header(kind, 0, session.number, number, sent_us, route(at)), payload, session.secret)
    node = dict(zip((SENDER, CONTROLLER, RECEIVER), parties.nodes, strict=True))[at]
    return node, list(node.receive(datagram, EMULATOR, now_us))


NONSENSE = {
    **{f"command of {size} bytes": (DatagramKind.COMMAND, bytes(size)) for size in (0, 1, 3, 400)},
    "command of another path": (DatagramKind.COMMAND, struct.pack("!H", 999)),
    "empty Opus": (DatagramKind.MEDIA, rtp(b"")),
    "noise as Opus": (DatagramKind.MEDIA, rtp(b"\xff" * 50)),
    "no RTP": (DatagramKind.MEDIA, b"x"),
    "RED without its data": (DatagramKind.MEDIA, RtpPacket(payload_type=63, payload=b"\xef\x07\x80\xff\x6f").serialize()),
    "RED of noise": (DatagramKind.MEDIA, write_media(0, MIDDLE, b"x", [(n, b"x") for n in range(1, 35)])),
    "copy without a slot": (DatagramKind.COPY, b"x"),
    "copy of a slot beyond the call": (DatagramKind.COPY, write_copy((1 << 32) - 1, rtp(b"x"))),
    "copy of a packet from long before": (DatagramKind.COPY, write_copy(MIDDLE, write_media(0, MIDDLE - 63, b"x"))),
    "copy of a packet to come": (DatagramKind.COPY, write_copy(MIDDLE, write_media(0, MIDDLE + 1, b"x"))),
    "feedback passed on, of another length": (DatagramKind.ONWARD, b"x"),
    "feedback passed on, of a copy from the future": (DatagramKind.ONWARD, record(kind=2, sent_us=64 * SLOT_US, arrived_us=1 << 40)),
    "level of another length": (DatagramKind.LEVEL, b"x"),
    "level of an hour": (DatagramKind.LEVEL, struct.pack("!I", 3_600_000_000)),
    "set-up of 1970": (DatagramKind.SETUP, write_setup(0)),
    "set-up of the far future": (DatagramKind.SETUP, write_setup(1 << 63)),
    "feedback of another length": (DatagramKind.FEEDBACK, b"x"),
    "feedback of a packet beyond the call": (DatagramKind.FEEDBACK, record(packet=(1 << 32) - 1, sent_us=((1 << 32) - 1) * SLOT_US)),
    "feedback of the far future": (DatagramKind.FEEDBACK, record(arrived_us=1 << 52)),
    "feedback of an hour of lag": (DatagramKind.FEEDBACK, record(lag_us=3_600_000_000)),
}


@pytest.mark.parametrize(("kind", "payload"), NONSENSE.values(), ids=NONSENSE)
def test_nonsense_in_the_middle_of_a_call_changes_next_to_nothing(begun, kind, payload):
    network, parties = begun
    network.run(NOW_US)
    before = len(parties.sender.paths), parties.controller.learned
    given_to(parties, kind, payload)
    network.run(NEVER_US)
    call = finished(parties)
    assert 0 < before[0] < PACKETS and before[1] > 0
    assert len(parties.sender.paths) == PACKETS and parties.controller.is_done and parties.receiver.is_done
    assert np.mean(call.played.played_us[0] >= 0) > 0.95
    assert len(rendered(call.played.played_us[0], call.media)) > 0.95 * PACKETS * UNIT_SAMPLES


def test_a_set_up_of_1970_neither_ends_the_router_s_call_nor_draws_commands(begun):
    _, parties = begun
    for number, origin_us in enumerate((0, 1 << 63)):
        controller, sent = given_to(parties, DatagramKind.SETUP, write_setup(origin_us), number, sent_us=NOW_US)
        assert sent == [] and not controller.has_begun and controller.due_us == NEVER_US
    controller, sent = given_to(parties, DatagramKind.SETUP, write_setup(NOW_US + SLOT_US), 2, sent_us=NOW_US)
    assert len(sent) >= 1 and controller.due_us == NOW_US + 2 * SLOT_US  # slot 0 was decided before


def test_a_router_that_was_late_sends_its_last_decision_only(begun):
    network, parties = begun
    network.run(START_US + 10 * SLOT_US)
    later_us = START_US + (10 + 10 * REPEAT_SLOTS) * SLOT_US
    sent = list(parties.controller.wake(later_us))
    assert len(sent) <= 2 and parties.controller.due_us == later_us + SLOT_US


def test_feedback_before_the_call_does_not_keep_it_from_beginning(begun):
    network, parties = begun
    given_to(parties, DatagramKind.FEEDBACK, record(), 0, sent_us=0, now_us=0)
    network.run(NEVER_US)
    assert len(parties.sender.paths) == PACKETS and parties.controller.is_done


@pytest.mark.parametrize("kind", [DatagramKind.MEDIA, DatagramKind.PROBE])
@pytest.mark.parametrize("number", [PACKETS, 4_000_000, (1 << 32) - 1])
def test_a_first_packet_beyond_the_call_does_not_begin_it(begun, kind, number):
    (_, parties), now_us = begun, 1 << 50
    receiver, _ = given_to(parties, kind, rtp(b"x"), number, now_us, now_us)
    assert not receiver.has_begun and receiver.due_us == NEVER_US and not receiver.media
    for n in range(2):
        given_to(parties, DatagramKind.MEDIA, rtp(b"x"), n, now_us + n * SLOT_US, now_us + n * SLOT_US)
    assert receiver.has_begun and not receiver.is_done and list(receiver.media) == [0, 1]


def test_a_packet_that_was_not_sent_at_the_start_of_its_slot_takes_no_memory(begun):
    network, parties = begun
    network.run(NOW_US)
    kept = len(parties.receiver.media)
    for number in range(MIDDLE + 20, PACKETS):
        given_to(parties, DatagramKind.MEDIA, rtp(b"x"), number, sent_us=NOW_US)
    assert len(parties.receiver.media) == kept


def test_the_far_future_is_not_held():
    world = EmulatedWorld(np.full((1, 10_000), 50_000, np.int32), np.zeros((1, 3)), 0, 0)
    emulator = Emulator(SECRET, world, 0)
    for number in range(1000):
        sent_us = AHEAD_US + 1 + (1 << 40)
        header = Header(DatagramKind.MEDIA, 0, 1, number, sent_us, route(EMULATOR, RECEIVER))
        assert not list(emulator.receive(write(header, b"x", session_key(SECRET, 1)), SENDER, 0))
    assert emulator.due_us == NEVER_US and emulator.relay.counts == {"not fresh": 1000}


def test_packets_that_cannot_be_decoded_are_concealed():
    draws = random.Random(0)
    packets = {unit: draws.randbytes(draws.randrange(40)) for unit in range(2000)} | {0: b""}
    played_us = SLOT_US * (np.arange(2000) // 1.5).astype(np.int64)
    assert len(rendered(played_us, packets)) == (int(played_us[-1]) // SLOT_US + 1) * UNIT_SAMPLES
