"""Attackers of a live call: one hears what the sender sends, and sends to every node from an address of its own; one has the key."""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable

from aiortc.rtp import RtpPacket

from vcgym.baselines.records import MEDIA, Record
from vcgym.live.call.sender import LiveSender
from vcgym.live.protocol.messages import write_command, write_feedback, write_setup
from vcgym.live.protocol.nodes import NEVER_US, Sent
from vcgym.live.protocol.session import Session, address_of, route_of
from vcgym.live.protocol.wire import Address, DatagramKind, Header, hop_at, moved_on, new_key, read, write

LATER_US = 1_000_000  # a replay comes after the original
FAR_APART = ((1 << 32) - 1, *range(40))
"""Numbers of which each but the first is far below the newest."""
AHEAD = 2000  # numbers of the insider above the slot, so that those of the parties stay within the window


class Tapped:
    """Sender whose datagrams an attacker hears."""

    def __init__(self, sender: LiveSender, attacker: "Attacker") -> None:
        self._sender, self._attacker = sender, attacker
        self.receive = sender.receive

    @property
    def due_us(self) -> int:
        return self._sender.due_us

    def wake(self, now_us: int) -> Iterable[Sent]:
        for datagram, address in self._sender.wake(now_us):
            self._attacker.hear(datagram, now_us)
            yield datagram, address


class Attacker:
    """Sends every datagram of the sender again: with another key, from another address than the hop before, and later as it is.

    With `betray` it is one of the parties.

    Attributes:
        is_at_it: True while it attacks.
        sent: datagrams by attack and node.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._key, self._order = session, new_key(), itertools.count()
        self._waiting: list[tuple[int, int, tuple[str, str], Sent]] = []
        self.is_at_it, self.sent = False, Counter[tuple[str, str]]()

    @property
    def due_us(self) -> int:
        return self._waiting[0][0] if self._waiting else NEVER_US

    def receive(self, datagram: bytes, source: Address, now_us: int) -> Iterable[Sent]:
        """Count an answer: nobody may give one."""
        self.sent["answered", "attacker"] += 1
        return ()

    def hear(self, datagram: bytes, now_us: int) -> None:
        """Prepare the attacks with a datagram of the sender."""
        header, _ = read(datagram)
        if not self.is_at_it:
            return
        changed = write(header, b"attack", self._key)
        emulator, *relays, receiver = map(address_of, self._session.media[header.path])
        self._plan(now_us, ("wrong key", "emulator"), (changed, emulator))
        self._plan(now_us + LATER_US, ("replay", "emulator"), (datagram, emulator))
        for relay in relays:
            changed, datagram = moved_on(changed), moved_on(datagram)
            self._plan(now_us, ("wrong key", "relay"), (changed, relay))
            self._plan(now_us, ("spoofed", "relay"), (datagram, relay))
        self._plan(now_us, ("wrong key", "receiver"), (moved_on(changed), receiver))
        self._plan(now_us + LATER_US, ("replay", "receiver"), (moved_on(datagram), receiver))
        forged = Header(DatagramKind.COMMAND, 0, header.session, 1 << 31, now_us, route_of(self._session.commands))
        command = moved_on(write(forged, write_command(0), self._key))
        self._plan(now_us, ("wrong key", "sender"), (command, address_of(self._session.commands[-1])))

    def betray(self, now_us: int, slot: int) -> None:
        """Send nonsense with the session's key to the three parties and the first relay; `slot` is the one that is sent now."""
        session, relay = self._session, self._session.media[0][1]
        ends = {
            DatagramKind.COMMAND: session.commands[-1],
            DatagramKind.SETUP: session.setup[-1],
            DatagramKind.FEEDBACK: session.feedback[-1],
        }
        for kind, number, payload in _nonsense(slot):
            header = Header(kind, 0, session.number, number, now_us, route_of([ends.get(kind, session.media[0][-1])]))
            self._tell(now_us, (f"nonsense as {kind.name.lower()}", "its party"), header, payload)
        for number in FAR_APART:
            header = Header(
                DatagramKind.SETUP, 0, session.number, number, now_us, route_of([relay, relay])
            )  # a kind that this relay does not see
            self._tell(now_us, ("numbers far apart", "relay"), header, b"")

    def _tell(self, at_us: int, what: tuple[str, str], header: Header, payload: bytes) -> None:
        self._plan(at_us, what, (write(header, payload, self._session.secret), hop_at(header, 0)))

    def _plan(self, at_us: int, what: tuple[str, str], sent: Sent) -> None:
        heapq.heappush(self._waiting, (at_us, next(self._order), what, sent))

    def wake(self, now_us: int) -> Iterable[Sent]:
        while self.due_us <= now_us:
            _, _, what, sent = heapq.heappop(self._waiting)
            self.sent[what] += 1
            yield sent


def _nonsense(slot: int) -> Iterable[tuple[DatagramKind, int, bytes]]:
    """Yield kind, number and payload of datagrams that no party would send."""
    far = write_feedback([Record(MEDIA, (1 << 32) - 1, 0, 1 << 52, 1 << 52, 0, 1 << 52, 0)])
    for number, payload in enumerate((b"", b"x", bytes(400))):
        yield DatagramKind.COMMAND, AHEAD + slot + number, payload
        yield DatagramKind.LEVEL, AHEAD + slot + number, payload
        yield DatagramKind.FEEDBACK, AHEAD + slot + number, payload
    yield DatagramKind.FEEDBACK, AHEAD + slot + 3, far
    yield DatagramKind.SETUP, AHEAD + slot, write_setup(0)
    yield DatagramKind.MEDIA, 4_000_000 + slot, RtpPacket(payload_type=111, payload=b"x").serialize()
    yield DatagramKind.MEDIA, slot + 5, RtpPacket(payload_type=111, payload=b"").serialize()
