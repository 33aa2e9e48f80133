"""Tunnel: carries the UDP of an unmodified WebRTC stack over the relays of a session.

Each peer has a tunnel end beside it, a socket that stands for the other peer: its address takes the place of the other peer's candidates in
the description (RFC 8839) that signalling hands over. What a peer sends there (connectivity checks, DTLS, SRTP) becomes the payload of a
datagram along the source route; the other end gives it to its peer. Datagrams of the caller are of kind MEDIA, those back of FEEDBACK.
"""

import re
from collections.abc import Iterable

from vcgym.live.protocol.nodes import NEVER_US, Sent
from vcgym.live.protocol.session import Inbox, Session, address_of, route_of
from vcgym.live.protocol.wire import Address, DatagramKind, Header, WireError, write
from vcgym.network.kernels.slots import SLOT_US

_CANDIDATE = re.compile(r"a=candidate:\S+ \d+ udp \d+ (\S+) (\d+) typ host[^\r\n]*\r?\n?", re.IGNORECASE)
_ONLY = "a=candidate:1 1 udp 2130706431 {} {} typ host\r\n"  # priority of a host candidate (RFC 8445, section 5.1.2.1)


class Tunnel:
    """An end of the tunnel.

    Args:
        session: the session; media and feedback end at the sockets of the two ends.
        sends: MEDIA for the caller's end, FEEDBACK for the callee's.
        path: index of the path of MEDIA.

    Attributes:
        due_us: NEVER_US.
        peer: address of the peer beside this end; set it before the peer sends.
        delay_us: delay of each datagram that arrived from the other end, by number.
        sent: number of datagrams sent.
    """

    due_us = NEVER_US

    def __init__(self, session: Session, sends: DatagramKind, path: int = 0) -> None:
        self._session, self._sends, self._path = session, sends, path
        hops = session.media[path] if sends is DatagramKind.MEDIA else session.feedback
        self._hops, self._address = route_of(hops), address_of(hops[0])
        self._inbox = Inbox(session, DatagramKind.FEEDBACK if sends is DatagramKind.MEDIA else DatagramKind.MEDIA)
        self._origin_us, self._number, self.sent = -1, -1, 0
        self.peer: Address | None = None
        self.delay_us: dict[int, int] = {}

    def receive(self, datagram: bytes, source: Address, now_us: int) -> Iterable[Sent]:
        """Wrap a datagram of the peer, or unwrap one of the other end; one that is too long is lost."""
        if source == self.peer:
            if wrapped := self._wrapped(datagram, now_us):
                self.sent += 1
                yield wrapped, self._address
        elif self.peer and (opened := self._inbox.open(datagram, now_us)):
            header, payload = opened
            if header.number < self._session.packets:
                self.delay_us[header.number] = now_us - header.sent_us
                yield payload, self.peer

    def wake(self, now_us: int) -> Iterable[Sent]:
        """Return nothing; a tunnel never sends on its own."""
        return ()

    def _wrapped(self, datagram: bytes, now_us: int) -> bytes | None:
        """Return the datagram as a payload. Its number is the slot, or the next number if the slot has one, as in a burst."""
        self._origin_us = now_us if self._origin_us < 0 else self._origin_us
        self._number = max(self._number + 1, (now_us - self._origin_us) // SLOT_US)
        header = Header(self._sends, self._path, self._session.number, self._number, now_us, self._hops)
        try:
            return write(header, datagram, self._session.secret)
        except WireError:
            return None


def redirected(description: str, address: Address) -> str:
    """Return a session description with one candidate, `address`, in place of all of its own."""
    first = _CANDIDATE.search(description)
    if first is None:
        raise ValueError("description has no host candidate over UDP: allowed is one after gathering")
    head, tail = description[: first.start()], description[first.end() :]
    return head + _ONLY.format(*address) + _CANDIDATE.sub("", tail)


def candidate_of(description: str) -> Address:
    """Return the first host candidate of a session description."""
    found = _CANDIDATE.search(description)
    if found is None:
        raise ValueError("description has no host candidate over UDP: allowed is one after gathering")
    return found[1], int(found[2])
