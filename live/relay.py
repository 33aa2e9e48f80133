"""Relay: forwards authenticated datagrams along their source route, and answers nothing.

A datagram is dropped, and counted by its reason, if it is malformed, its tag is wrong, this relay is its destination, it comes from another
address than the hop before, it is not fresh, its next hop is no address of another node, its number was seen, its session exceeds the rate,
or there are as many sessions as allowed. State is kept only for sessions whose tag was right; sessions that were silent for IDLE_US make
room.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from vcgym.live.protocol.nodes import NEVER_US, Sent
from vcgym.live.protocol.replay_window import ReplayWindow, is_fresh
from vcgym.live.protocol.wire import Address, DatagramKind, Header, WireError, hop_at, hops_of, is_authentic, moved_on, read, session_key

IDLE_US = 60_000_000
"""Silence after which a session makes room: longer than any of its datagrams stays fresh, so that none is forwarded again."""


class Limits(NamedTuple):
    """Limits of a relay.

    Attributes:
        sessions: sessions at once, >= 1.
        packets_per_s: mean rate of a session, > 0; a call sends about 100 media packets, up to 100 probes and, with protection, up to 200
            copies and 100 datagrams of passed-on feedback per second.
        burst_packets: packets that a session may send at once, >= 1.
    """

    sessions: int = 1000
    packets_per_s: float = 1000.0
    burst_packets: float = 200.0


LIMITS = Limits()


class _Session:
    """State of a session at a relay."""

    __slots__ = ("credit", "key", "seen", "seen_us")

    def __init__(self, key: bytes, limits: Limits, now_us: int) -> None:
        self.key, self.credit, self.seen_us = key, limits.burst_packets, now_us
        self.seen = [ReplayWindow() for _ in DatagramKind]

    def spend(self, limits: Limits, now_us: int) -> bool:
        """Take one packet from the token bucket; return False if it is empty."""
        elapsed_s = max(now_us - self.seen_us, 0) / 1e6
        self.credit = min(self.credit + elapsed_s * limits.packets_per_s, limits.burst_packets)
        self.seen_us = now_us
        if self.credit < 1.0:
            return False
        self.credit -= 1.0
        return True


class Relay:
    """A relay.

    Args:
        secret: secret from which the keys of its sessions follow (`session_key`).
        started_us: its start, in microseconds since 1970; what was sent before may have been forwarded before, and is dropped.
        limits: limits of sessions.

    Attributes:
        due_us: NEVER_US.
        counts: datagrams by "forwarded" or the reason of the drop.
    """

    due_us = NEVER_US

    def __init__(self, secret: bytes, started_us: int, limits: Limits = LIMITS) -> None:
        self._secret, self._started_us, self._limits = secret, started_us, limits
        self._sessions: dict[int, _Session] = {}
        self.counts: Counter[str] = Counter()

    @property
    def sessions(self) -> int:
        """Return the number of sessions with state."""
        return len(self._sessions)

    def receive(self, datagram: bytes, source: Address, now_us: int) -> Iterable[Sent]:
        """Return the datagram for the next hop, or nothing."""
        outcome, sent = self._judge(datagram, source, now_us)
        self.counts[outcome] += 1
        return sent

    def wake(self, now_us: int) -> Iterable[Sent]:
        """Return nothing; a relay never sends on its own."""
        return ()

    def _judge(self, datagram: bytes, source: Address, now_us: int) -> tuple[str, Iterable[Sent]]:
        try:
            header, index = read(datagram)
        except WireError:
            return "malformed", ()
        session = self._sessions.get(header.session)
        if not is_authentic(datagram, session.key if session else session_key(self._secret, header.session)):
            return "wrong tag", ()
        if reason := self._refusal(header, index, source, now_us):
            return reason, ()
        session = session or self._admit(header.session, now_us)
        if session is None:
            return "too many sessions", ()
        if not session.seen[header.kind].is_new(header.number):
            return "replayed", ()
        if not session.spend(self._limits, now_us):
            return "above the rate", ()
        session.seen[header.kind].accept(header.number)
        return "forwarded", ((moved_on(datagram), hop_at(header, index + 1)),)

    def _refusal(self, header: Header, index: int, source: Address, now_us: int) -> str:
        if index + 1 >= hops_of(header):
            return "not to be forwarded"
        if index > 0 and hop_at(header, index - 1) != source:
            return "spoofed source"
        if header.sent_us < self._started_us or not is_fresh(header.sent_us, now_us):
            return "not fresh"
        return "" if _may_reach(hop_at(header, index + 1), source) else "forbidden hop"

    def _admit(self, number: int, now_us: int) -> _Session | None:
        if len(self._sessions) >= self._limits.sessions:
            self._sessions = {one: kept for one, kept in self._sessions.items() if now_us - kept.seen_us < IDLE_US}
            if len(self._sessions) >= self._limits.sessions:
                return None
        self._sessions[number] = _Session(session_key(self._secret, number), self._limits, now_us)
        return self._sessions[number]


def _may_reach(hop: Address, source: Address) -> bool:
    """Return True if `hop` is the address of one host (RFC 1122, section 3.2.1.3), and a loopback address only for a loopback `source`."""
    network = int(hop[0].partition(".")[0])
    return 0 < network < 224 and (network != 127 or source[0].startswith("127."))  # from 224 on: multicast, reserved, broadcast
