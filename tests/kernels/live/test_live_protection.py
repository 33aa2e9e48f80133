"""Protection of a live call in virtual time: packets go and come as in the simulator, and what cannot be sent is refused."""

import itertools

import numpy as np
import pytest
from virtual_call import START_US, network_of

from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.playout.path_diversity import PathDiversity
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.protection.fixed import FixedCopies, FixedProtection
from vcgym.baselines.protection.several import BothProtections
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.counters import ratings_of
from vcgym.live.call.listening import repaired
from vcgym.live.call.parties import finished
from vcgym.live.call.policies import live_policy, of_system
from vcgym.live.call.protection import LiveProtection, protection_of
from vcgym.live.protocol.media import FARTHEST, read_copy, read_media, write_copy, write_media
from vcgym.live.protocol.nodes import NEVER_US
from vcgym.live.protocol.session import Session
from vcgym.live.protocol.wire import DatagramKind, payload_of, read
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario

PACKETS = 600
SYSTEM = System(Greedy(), WMJitter())
COPY, TWO_FRAMES = FixedCopies(), FixedProtection(earlier=0b110)
BOTH = BothProtections(FixedProtection(earlier=0b10), FixedCopies(after=3))


def call(rule, budget=100.0, system=SYSTEM):
    """Return the virtual network of a call over paths that lose packets, its parties and its world."""
    scenario = Scenario("table1", "paper", PACKETS)
    draw = scenario.draw("train", 0)
    network, parties = network_of(of_system(system)._replace(protection=rule, budget=budget), scenario, draw)
    return network, parties, (scenario, draw)


def simulated(rule, scenario, draw, system=SYSTEM):
    batch = CallBatch(scenario, 1, system.path, system.playout, log=True, protection=rule)
    batch.start(0, draw)
    batch.play(np.arange(1))
    return batch.played()


@pytest.mark.parametrize(
    ("rule", "playout"), [(COPY, WMJitter()), (TWO_FRAMES, WMJitter()), (BOTH, WMJitter()), (COPY, PathDiversity())],
    ids=["a copy", "two frames", "a frame, and a later copy", "a copy that the lag sees"],
)  # fmt: skip
def test_a_protected_call_equals_its_simulation(rule, playout):
    system = System(Greedy(), playout)
    network, parties, world = call(rule, system=system)
    network.run(NEVER_US)
    live, reference = finished(parties), simulated(rule, *world, system)
    # Feedback leaves once per slot, so the router may change a path, or the sender the path of a copy, one slot later.
    same = live.played.path == reference.path
    assert np.mean(same) > 0.98
    there = (live.played.arrived_us != LOST, reference.arrived_us != LOST)
    assert np.mean(there[0] == there[1]) > 0.99
    near = np.abs(live.played.arrived_us - reference.arrived_us)[same] <= 10
    assert np.mean(near) > 0.97
    assert ratings_of(live.played.totals) == pytest.approx(ratings_of(reference.totals), abs=0.5)
    lost, by_copy, by_frame, too_late = live.repaired
    assert lost == pytest.approx(int(reference.protection["lost"][0]), abs=2) and lost > 10
    assert lost - by_copy - by_frame - too_late == np.count_nonzero(~there[0])
    assert by_copy + by_frame > 10
    assert (rule != TWO_FRAMES or by_copy == 0) and (rule != COPY or by_frame == 0)
    assert parties.controller.inbox.refused == parties.receiver.inbox.refused == parties.sender.inbox.refused == 0
    assert all(live.media[packet] for packet in np.flatnonzero(live.played.played_us[0] >= 0))


def test_a_replayed_or_forged_copy_changes_nothing():
    plain, _, _ = outcome = call(BOTH)
    attacked, parties, _ = call(BOTH)
    copies = []

    def attack(datagram):
        copies.append(read(datagram)[0].kind == DatagramKind.COPY)
        return [datagram, datagram[:-1] + bytes((datagram[-1] ^ 1,))]

    attacked.also = attack
    plain.run(NEVER_US)
    attacked.run(NEVER_US)
    expected, found = finished(outcome[1]), finished(parties)
    assert sum(copies) > PACKETS
    np.testing.assert_array_equal(found.played.path, expected.played.path)
    np.testing.assert_array_equal(found.played.arrived_us[0] == LOST, expected.played.arrived_us[0] == LOST)
    assert found.repaired == expected.repaired and found.added == expected.added


def test_a_copy_is_told_as_a_copy_to_router_and_sender():
    network, parties, _ = call(COPY)
    told = {"router": [], "sender": []}
    for name, learn in (("router", parties.controller._deciding), ("sender", parties.sender.protection)):
        original = learn.learn

        def heard(record, original=original, name=name):
            told[name].append(record)
            original(record)

        learn.learn = heard
    network.run(START_US + 300 * SLOT_US)
    paths = parties.sender.paths
    for name, found in told.items():
        copies, own = [one for one in found if one.kind == 2], [one for one in found if one.kind == 0]
        assert len(copies) > 100 and len(own) > 100, name
        assert all(one.path != paths[one.packet] for one in copies)
        assert all(one.path == paths[one.packet] for one in own)


def protection(rule, budget, paths=2):
    hops = [[f"192.0.2.{n}:7000", "192.0.2.9:7000"] for n in range(1, paths + 1)]
    session = Session(
        number=1, key="0" * 64, packets=1000, seed=0, media=hops, feedback=hops[0], commands=hops[0], levels=hops[0], setup=hops[0],
        history=[[10.0, 50.0, 5.0]] * paths,
    )  # fmt: skip
    return LiveProtection(session, rule, budget)


def test_bytes_are_those_on_the_network_and_stay_within_the_budget():
    # IPv4 and UDP 28, header 26, two hops 12, tag 16, RTP 12: 94 and a frame of 40. A frame more in RED is 4 + 40, the first one 1 more;
    # a copy has 4 for its slot.
    plain, frame = 94 + 40, bytes(40)
    for rule, extra in ((TWO_FRAMES, 45 + 44), (COPY, plain + 4)):
        sender = protection(rule, 100.0)
        for slot in range(50):
            sender.send(slot, 0, frame)
        assert sender.plain_bytes == 50 * plain
        assert sender.extra_bytes == (48 * extra + 45 if rule is TWO_FRAMES else 50 * extra)
    bounded = protection(BOTH, 0.1)
    for slot in range(500):
        bounded.send(slot, 0, frame)
        assert bounded.extra_bytes <= 0.1 * bounded.plain_bytes
    assert bounded.added > 0.095
    nothing = protection(BOTH, 0.0)
    assert [nothing.send(slot, 0, frame)[1] for slot in range(5)] == [[]] * 5 and nothing.added == 0.0


def test_what_does_not_fit_is_left_out_from_the_oldest_on():
    sender = protection(FixedProtection(earlier=(1 << 63) - 2), 100.0)
    for slot in range(60):
        packet, _ = sender.send(slot, 0, bytes((slot + 1,)) * (5 if slot < 59 else 1000))
    sequence, frames = read_media(packet)
    assert sequence == 59 and [distance for distance, _ in frames] == list(range(FARTHEST + 1))
    assert all(frame[0] == 60 - distance for distance, frame in frames)
    longer = protection(FixedProtection(earlier=0b111110), 100.0)
    for _ in range(10):
        packet, _ = longer.send(0, 0, bytes(400) + b"x")
    assert [distance for distance, _ in read_media(packet)[1]] == [0, 1, 2] and len(packet) + 26 + 12 + 16 <= 1400


def test_red_is_that_of_rfc_2198():
    # Two blocks with offsets of 960 and 480 ticks at 48 kHz: 1 | 111 | offset << 10 | length, then 0 | 111; data from the oldest on.
    packet = write_media(7, 2, b"now", [(1, b"last"), (2, b"older")])
    heads = [(1 << 31) | (111 << 24) | (960 << 10) | 5, (1 << 31) | (111 << 24) | (480 << 10) | 4]
    assert packet[1] == 63 and packet[12:] == b"".join(head.to_bytes(4, "big") for head in heads) + b"\x6f" + b"olderlastnow"
    assert read_media(packet) == (2, [(0, b"now"), (1, b"last"), (2, b"older")])
    assert read_copy(write_copy(65_540, write_media(7, 65_535, b"x")))[:2] == (65_540, 65_535)  # numbers of RTP begin anew
    for broken in (packet[:14], packet[:20], packet[:24], packet[:12] + b"\x80" + packet[13:]):
        with pytest.raises(ValueError, match=r"allowed|length|RTP"):
            read_media(broken)


def test_each_packet_is_lost_repaired_or_neither():
    own, first = np.array([5, LOST, LOST, LOST, LOST]), np.array([4, 7, 8, 9, LOST])
    copy, played = np.array([4, 7, LOST, 9, LOST]), np.array([20, 20, 20, -1, -1])
    assert repaired(own, copy, first, played) == (4, 1, 1, 1)


def test_what_a_live_call_cannot_send_is_refused_in_one_line():
    for name in ("FEC5", "OPUS-FEC", "DRED", "learned", "no such system"):
        with pytest.raises(ValueError, match=f"protection is {name}; allowed, .*: CHIME, COPY-HELD, .*, RED3$"):
            protection_of(name)
    assert live_policy("GRD-WM", "COPY-NACK", 0.1).budget == 0.1
    with pytest.raises(ValueError, match="and protection=NAME"):
        live_policy("RED1")


def test_a_copy_that_goes_later_is_the_packet_as_it_was():
    network, parties, _ = call(BOTH)
    sent = []
    network.also = lambda datagram: sent.append(datagram) or []
    network.run(START_US + 40 * SLOT_US)
    datagrams = [(read(one)[0], payload_of(one, read(one)[0])) for one in sent if one[0] == 0]
    media = {header.number: payload for header, payload in datagrams if header.kind == DatagramKind.MEDIA}
    copies = [(header, payload) for header, payload in datagrams if header.kind == DatagramKind.COPY]
    assert [header.number for header, _ in copies] == list(range(len(copies))) and len(copies) >= 36
    for header, payload in copies:
        slot, packet, _ = read_copy(payload)
        assert slot - packet == 3 and payload[4:] == media[packet] and header.sent_us == START_US + slot * SLOT_US
        assert header.path != parties.sender.paths[slot]
    assert all(first.hops != second.hops for (first, _), (second, _) in itertools.pairwise(datagrams) if second.kind == DatagramKind.COPY)
