"""Datagrams of a live call: a source route and a packet number, authenticated; lab/notes/live.md has the format.

    index (1)  version (1)  kind (1)  hops (1)  path (2)  session (8)  number (4)  send time (8)  hops x (IPv4 4, port 2)  payload  tag (16)

Numbers are unsigned and in network byte order. The tag is HMAC-SHA-256 (RFC 2104) with the key of the session, truncated to 128 bits as in
RFC 4868. It covers everything but the index, the only field that a relay changes.
"""

import enum
import hmac
import secrets
import socket
import struct
from typing import NamedTuple

Address = tuple[str, int]  # IPv4 address and port

VERSION = 1
MAX_HOPS = 8
MAX_DATAGRAM = 1400  # bytes; fits one Ethernet frame with all headers
IP_UDP_BYTES = 28  # RFC 791, RFC 768
KEY_BYTES = 32
TAG_BYTES = 16

_FIXED = struct.Struct("!BBBBHQIQ")
_HOP = struct.Struct("!4sH")


class DatagramKind(enum.IntEnum):
    """Kind of a datagram; each has its own numbers."""

    MEDIA = 0  # payload: RTP (RFC 3550)
    PROBE = 1  # no payload
    FEEDBACK = 2  # receiver to the router's location
    COMMAND = 3  # the router's location to the sender
    SETUP = 4  # sender to the router's location
    LEVEL = 5  # the router's location to the receiver
    COPY = 6  # payload: a packet that goes again, on any path (`vcgym.live.protocol.media`)
    ONWARD = 7  # feedback, the router's location to the sender


class Header(NamedTuple):
    """Authenticated fields of a datagram.

    Attributes:
        kind: a Kind.
        path: index of the path, 0 to 65535.
        session: number of the session, 64 bits.
        number: number, 32 bits, each once for its kind; of media and probes the slot in which they were sent.
        sent_us: microseconds since 1970 on the sender's clock: the instant of capture, the start of the slot.
        hops: source route, 6 bytes per hop (`route`); the last hop is the destination.
    """

    kind: int
    path: int
    session: int
    number: int
    sent_us: int
    hops: bytes


class WireError(ValueError):
    """Datagram that is not of this format."""


def new_key() -> bytes:
    """Return a random key or secret of KEY_BYTES bytes."""
    return secrets.token_bytes(KEY_BYTES)


def session_key(secret: bytes, session: int) -> bytes:
    """Return the key of a session for relays that hold `secret`, so that a relay needs no list of sessions."""
    return hmac.digest(secret, session.to_bytes(8, "big"), "sha256")


def route(*hops: Address) -> bytes:
    """Return a source route of 1 to MAX_HOPS hops.

    Raises:
        WireError: the number of hops is out of range.
        OSError: a host is not an IPv4 address in dotted notation.
    """
    if not 1 <= len(hops) <= MAX_HOPS:
        raise WireError(f"hops = {len(hops)}: allowed is 1 to {MAX_HOPS}")
    return b"".join(_HOP.pack(socket.inet_aton(host), port) for host, port in hops)


def network_bytes(hops: bytes, payload_bytes: int) -> int:
    """Return the bytes that a datagram with a source route and a payload of so many bytes takes on the network."""
    return IP_UDP_BYTES + _FIXED.size + len(hops) + payload_bytes + TAG_BYTES


def hop_at(header: Header, index: int) -> Address:
    """Return hop `index` of the source route, 0 to the number of hops - 1."""
    host, port = _HOP.unpack_from(header.hops, index * _HOP.size)
    return socket.inet_ntoa(host), port


def hops_of(header: Header) -> int:
    """Return the number of hops."""
    return len(header.hops) // _HOP.size


def write(header: Header, payload: bytes, key: bytes) -> bytes:
    """Return the datagram to send to hop 0.

    Raises:
        WireError: the datagram would exceed MAX_DATAGRAM bytes.
    """
    kind, path, session, number, sent_us, hops = header
    body = _FIXED.pack(0, VERSION, kind, hops_of(header), path, session, number, sent_us) + hops + payload
    if len(body) + TAG_BYTES > MAX_DATAGRAM:
        raise WireError(f"datagram of {len(body) + TAG_BYTES} bytes: allowed is at most {MAX_DATAGRAM}")
    return body + _tag(body, key)


def read(datagram: bytes) -> tuple[Header, int]:
    """Return header and index of a datagram that is not yet authenticated.

    Raises:
        WireError: another version, an unknown kind, a wrong length, or an index beyond the route.
    """
    if not _FIXED.size + _HOP.size + TAG_BYTES <= len(datagram) <= MAX_DATAGRAM:
        raise WireError(f"datagram of {len(datagram)} bytes")
    index, version, kind, hops, path, session, number, sent_us = _FIXED.unpack_from(datagram)
    end = _FIXED.size + hops * _HOP.size
    if version != VERSION or kind >= len(DatagramKind) or not index < hops <= MAX_HOPS or end + TAG_BYTES > len(datagram):
        raise WireError(f"version {version}, kind {kind}, index {index} of {hops} hops in {len(datagram)} bytes")
    return Header(kind, path, session, number, sent_us, datagram[_FIXED.size : end]), index


def is_authentic(datagram: bytes, key: bytes) -> bool:
    """Return True if the tag of a datagram that `read` accepts was made with `key`; takes the same time for every wrong tag."""
    return hmac.compare_digest(datagram[-TAG_BYTES:], _tag(datagram[:-TAG_BYTES], key))


def payload_of(datagram: bytes, header: Header) -> bytes:
    """Return the payload."""
    return datagram[_FIXED.size + len(header.hops) : -TAG_BYTES]


def moved_on(datagram: bytes) -> bytes:
    """Return the datagram as its current hop sends it to the next one."""
    return bytes((datagram[0] + 1,)) + datagram[1:]


def _tag(body: bytes, key: bytes) -> bytes:
    return hmac.digest(key, memoryview(body)[1:], "sha256")[:TAG_BYTES]
