"""The relay forwards what is authentic, new, in order of its route and within its limits, and answers nothing else."""

import random
import tracemalloc

import pytest

from vcgym.live.protocol.replay_window import AHEAD_US, FRESH_US
from vcgym.live.protocol.wire import DatagramKind, Header, moved_on, new_key, route, session_key, write
from vcgym.live.relay import IDLE_US, Limits, Relay

SECRET = new_key()
SENDER, RELAY, OTHER, RECEIVER = (("127.0.0.1", port) for port in (1000, 2000, 3000, 4000))


def datagram(number=0, session=1, hops=(RELAY, RECEIVER), secret=SECRET, kind=DatagramKind.MEDIA, payload=b"sound", sent_us=0, path=0):
    return write(Header(kind, path, session, number, sent_us, route(*hops)), payload, session_key(secret, session))


def test_it_forwards_to_the_next_hop():
    relay, given = Relay(SECRET, 0), datagram(hops=(RELAY, OTHER, RECEIVER))
    assert list(relay.receive(given, SENDER, 0)) == [(moved_on(given), OTHER)]
    other = Relay(SECRET, 0)
    assert list(other.receive(moved_on(given), RELAY, 0)) == [(moved_on(moved_on(given)), RECEIVER)]
    assert relay.counts == {"forwarded": 1}


DROPPED = {
    "no datagram": (b"", SENDER, "malformed"),
    "cut": (datagram()[:-1], SENDER, "wrong tag"),
    "another secret": (datagram(secret=b"another"), SENDER, "wrong tag"),
    "at its end": (datagram(hops=(RELAY,)), SENDER, "not to be forwarded"),
    "not from the hop before": (moved_on(datagram(hops=(OTHER, RELAY, RECEIVER))), SENDER, "spoofed source"),
    "from the future": (datagram(sent_us=AHEAD_US + 1), SENDER, "not fresh"),
    "to this machine": (datagram(hops=(RELAY, ("0.0.0.0", 4000))), SENDER, "forbidden hop"),
    "to a group": (datagram(hops=(RELAY, ("224.0.0.1", 4000))), SENDER, "forbidden hop"),
    "to everyone": (datagram(hops=(RELAY, ("255.255.255.255", 4000))), SENDER, "forbidden hop"),
    "to loopback from outside": (datagram(hops=(RELAY, RECEIVER)), ("192.0.2.1", 1000), "forbidden hop"),
}


@pytest.mark.parametrize(("given", "source", "reason"), DROPPED.values(), ids=DROPPED)
def test_it_drops_the_rest_without_an_answer_or_state(given, source, reason):
    relay = Relay(SECRET, 0)
    assert list(relay.receive(given, source, 0)) == []
    assert relay.counts == {reason: 1} and relay.sessions == 0


def test_a_replay_is_dropped_but_numbers_of_another_kind_or_session_are_not():
    relay = Relay(SECRET, 0)
    for given in (datagram(5), datagram(4), datagram(5, kind=DatagramKind.PROBE), datagram(5, session=2)):
        assert list(relay.receive(given, SENDER, 0))
        assert not list(relay.receive(given, OTHER, 0))
    assert relay.counts == {"forwarded": 4, "replayed": 4}


def test_a_copy_is_forwarded_on_each_path_and_its_replay_is_dropped():
    relay, packet, other_way = Relay(SECRET, 0), b"the packet of slot 5", (RELAY, OTHER, RECEIVER)
    own = datagram(5, payload=packet)
    first, second = (datagram(n, kind=DatagramKind.COPY, payload=packet, path=n + 1, hops=other_way) for n in (0, 1))
    for given in (first, own, second):  # a copy may come before its packet, and by the same relay
        assert list(relay.receive(given, SENDER, 0))
        assert not list(relay.receive(given, SENDER, 0))
    forged = datagram(2, kind=DatagramKind.COPY, payload=packet, secret=b"another")
    assert not list(relay.receive(forged, SENDER, 0))
    assert not list(relay.receive(datagram(0, kind=DatagramKind.COPY, payload=packet, path=2), SENDER, 0)), "a number is used once"
    assert relay.counts == {"forwarded": 3, "replayed": 4, "wrong tag": 1}


def test_a_session_has_its_rate():
    relay = Relay(SECRET, 0, Limits(packets_per_s=100.0, burst_packets=10.0))
    for number in range(2000):  # 1000 packets per second for two seconds
        relay.receive(datagram(number), SENDER, number * 1000)
    assert 205 <= relay.counts["forwarded"] <= 211
    assert list(relay.receive(datagram(0, session=2), SENDER, 2_000_000)), "another session has a rate of its own"


def test_sessions_are_limited_and_idle_ones_make_room():
    relay = Relay(SECRET, 0, Limits(sessions=3))
    for session in range(4):
        relay.receive(datagram(session=session), SENDER, 0)
    assert relay.sessions == 3 and relay.counts == {"forwarded": 3, "too many sessions": 1}
    assert list(relay.receive(datagram(session=9, sent_us=IDLE_US), SENDER, IDLE_US)) and relay.sessions == 1


def test_what_was_captured_is_dropped_after_a_restart_and_after_its_session_made_room():
    relay, captured = Relay(SECRET, 0, Limits(sessions=1)), datagram(sent_us=1_000_000)
    assert list(relay.receive(captured, SENDER, 1_000_000))
    assert not list(Relay(SECRET, 2_000_000).receive(captured, SENDER, 2_000_001))
    later = datagram(session=2, sent_us=1_000_000 + IDLE_US)
    assert list(relay.receive(later, SENDER, 1_000_000 + IDLE_US)), "the first session made room"
    again = Relay(SECRET, 0)  # knows nothing of what was forwarded
    assert list(again.receive(captured, SENDER, 1_000_000 + FRESH_US))
    assert IDLE_US > FRESH_US + AHEAD_US
    for knows_nothing in (Relay(SECRET, 0), relay):
        assert not list(knows_nothing.receive(captured, SENDER, 1_000_000 + IDLE_US))
        assert knows_nothing.counts["not fresh"] == 1


def test_a_number_far_below_the_newest_costs_nothing():
    relay = Relay(SECRET, 0)
    assert list(relay.receive(datagram((1 << 32) - 1), SENDER, 0))
    tracemalloc.start()
    assert not list(relay.receive(datagram(0), SENDER, 0))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 10_000 and relay.counts == {"forwarded": 1, "replayed": 1}


def test_a_datagram_above_the_rate_leaves_its_number_free_and_a_replay_costs_no_rate():
    relay = Relay(SECRET, 0, Limits(packets_per_s=1.0, burst_packets=2.0))
    for number in (0, 0, 0, 1, 2):
        relay.receive(datagram(number), SENDER, 0)
    assert relay.counts == {"forwarded": 2, "replayed": 2, "above the rate": 1}
    assert list(relay.receive(datagram(2), SENDER, 1_000_000))


def test_random_and_mutated_datagrams_are_survived():
    draws, relay, valid = random.Random(0), Relay(SECRET, 0), datagram(hops=(RELAY, OTHER, RECEIVER))
    for _ in range(20_000):
        given = bytearray(valid) if draws.random() < 0.7 else bytearray(draws.randbytes(draws.randrange(200)))
        for _ in range(draws.randrange(1, 4)):
            if given:
                given[draws.randrange(1, len(given)) if len(given) > 1 else 0] ^= 1 << draws.randrange(8)
        if bytes(given[1:]) != valid[1:]:
            assert not list(relay.receive(bytes(given), SENDER, 0))
    assert relay.sessions == 0 and relay.counts["wrong tag"] > 5000 and relay.counts["malformed"] > 5000
