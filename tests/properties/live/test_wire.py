"""Datagrams survive the wire unchanged, and nothing but the sender's bytes is authentic."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.baselines.protection.protect import DISTANCES
from vcgym.baselines.records import COPY, Record
from vcgym.live.protocol import messages, wire
from vcgym.live.protocol.media import BLOCK_BYTES, FARTHEST, RTP_BYTES, read_copy, read_media, write_copy, write_media
from vcgym.live.protocol.replay_window import AHEAD_US, WINDOW, ReplayWindow
from vcgym.network.kernels.slots import SLOT_US

ADDRESSES = st.tuples(st.ip_addresses(v=4).map(str), st.integers(0, 65535))
ROUTES = st.lists(ADDRESSES, min_size=1, max_size=wire.MAX_HOPS)
U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
HEADERS = st.builds(
    wire.Header, st.sampled_from(list(wire.DatagramKind)), st.integers(0, 65535), U64, U32, U64, ROUTES.map(lambda hops: wire.route(*hops))
)
KEY = wire.session_key(b"secret", 7)


@given(HEADERS, st.binary(max_size=1200))
def test_a_datagram_is_read_as_it_was_written(header, payload):
    datagram = wire.write(header, payload, KEY)
    assert wire.read(datagram) == (header, 0)
    assert wire.is_authentic(datagram, KEY) and wire.payload_of(datagram, header) == payload


@given(ROUTES, st.binary(max_size=100))
def test_each_hop_finds_the_next_one_and_the_tag_stays_right(hops, payload):
    datagram = wire.write(wire.Header(wire.DatagramKind.MEDIA, 0, 1, 2, 3, wire.route(*hops)), payload, KEY)
    for index in range(len(hops)):
        header, found = wire.read(datagram)
        assert (found, wire.hops_of(header)) == (index, len(hops)) and wire.hop_at(header, index) == hops[index]
        assert wire.is_authentic(datagram, KEY)
        datagram = wire.moved_on(datagram)
    with pytest.raises(wire.WireError):
        wire.read(datagram)


@given(HEADERS, st.binary(max_size=200), st.data())
def test_a_changed_datagram_is_refused(header, payload, data):
    datagram = bytearray(wire.write(header, payload, KEY))
    at = data.draw(st.integers(1, len(datagram) - 1))
    datagram[at] ^= data.draw(st.integers(1, 255))
    assert not _is_taken(bytes(datagram))
    assert not _is_taken(wire.write(header, payload, wire.session_key(b"secret", 8)))


@given(st.binary(max_size=wire.MAX_DATAGRAM + 10))
def test_arbitrary_bytes_are_refused(datagram):
    assert not _is_taken(datagram)


def _is_taken(datagram):
    try:
        wire.read(datagram)
    except wire.WireError:
        return False
    return wire.is_authentic(datagram, KEY)


def test_a_datagram_that_would_be_fragmented_is_not_written():
    with pytest.raises(wire.WireError, match="allowed is at most 1400"):
        wire.write(wire.Header(wire.DatagramKind.MEDIA, 0, 0, 0, 0, wire.route(("127.0.0.1", 1))), bytes(wire.MAX_DATAGRAM), KEY)
    with pytest.raises(wire.WireError, match="allowed is 1 to 8"):
        wire.route(*[("127.0.0.1", 1)] * 9)


KNOWN_US, PACKETS = 10 * 60 * 1_000_000, 60_000
RECORDS = st.builds(
    lambda sent, packet, path, delay_us, lag_us, late: Record(
        sent[0], packet, path, (packet + sent[1]) * SLOT_US, (packet + sent[1]) * SLOT_US + delay_us, KNOWN_US, lag_us, late
    ),
    st.one_of(st.tuples(st.integers(0, 1), st.just(0)), st.tuples(st.just(COPY), st.integers(0, DISTANCES))),
    st.integers(0, PACKETS - 1), st.integers(0, 16), st.integers(0, AHEAD_US), st.integers(0, messages.MAX_LEVEL_US), st.integers(0, 1),
)  # fmt: skip


@given(st.lists(RECORDS, max_size=messages.MAX_BLOCKS))
def test_feedback_is_read_as_it_was_written(records):
    assert messages.read_feedback(messages.write_feedback(records), KNOWN_US, 17, PACKETS) == records
    if any(record.path == 16 for record in records):
        with pytest.raises(ValueError, match="below 16"):
            messages.read_feedback(messages.write_feedback(records), KNOWN_US, 16, PACKETS)


@given(RECORDS, st.sampled_from(["packet", "sent_us", "arrived_us", "lag_us"]), st.integers(1, 2**31))
def test_feedback_of_a_packet_that_cannot_be_is_refused(record, field, more):
    latest_us = (record.packet + (DISTANCES if record.kind == COPY else 0)) * SLOT_US
    beyond = {"packet": PACKETS, "sent_us": latest_us, "arrived_us": KNOWN_US + AHEAD_US, "lag_us": messages.MAX_LEVEL_US}[field] + more
    with pytest.raises(ValueError, match="allowed are"):
        messages.read_feedback(messages.write_feedback([record._replace(**{field: beyond})]), KNOWN_US, 17, PACKETS)


@given(st.binary(max_size=1200))
def test_payloads_of_another_form_are_refused_by_value_error(payload):
    for reader, more in ((messages.read_feedback, (0, 17, 100)), (messages.read_command, (3,)), (messages.read_setup, (0,))):
        try:
            reader(payload, *more)
        except ValueError as error:
            assert "allowed are" in str(error)
    for reader in (read_media, read_copy):
        with contextlib.suppress(ValueError):  # some have the form of an RTP packet
            reader(payload)


FRAMES = st.binary(min_size=1, max_size=200)


@given(st.integers(0, 360_000), FRAMES, st.dictionaries(st.integers(1, FARTHEST), FRAMES, max_size=9))
def test_media_are_read_as_they_were_written(slot, opus, earlier):
    frames = sorted(earlier.items())
    packet = write_media(7, slot, opus, frames)
    assert len(packet) == RTP_BYTES + len(opus) + bool(frames) + sum(BLOCK_BYTES + len(one) for one in earlier.values())
    assert read_media(packet) == (slot & 0xFFFF, [(0, opus), *frames])
    assert read_copy(write_copy(slot + 62, packet)) == (slot + 62, slot, [(0, opus), *frames])


def test_commands_and_announcements_are_read_as_they_were_written():
    assert messages.read_command(messages.write_command(300), 301) == 300
    assert messages.read_setup(messages.write_setup(2**50), 2**50) == 2**50


@given(st.lists(st.one_of(st.integers(0, 3 * WINDOW), U32), max_size=200))
def test_the_replay_window_equals_a_set(numbers):
    window, seen = ReplayWindow(), set()
    for number in numbers:
        newest = max(seen, default=-1)
        assert window.is_new(number) == (number not in seen and number > newest - WINDOW)
        assert window.accept(number) == (number not in seen and number > newest - WINDOW)
        if number > newest - WINDOW:
            seen.add(number)
