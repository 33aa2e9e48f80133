"""An attacker of a live call: it hears what the sender sends, and sends to every node from an address of its own."""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable

from vcgym.live.call.sender import Sender
from vcgym.live.protocol.messages import write_command
from vcgym.live.protocol.nodes import NEVER_US, Sent
from vcgym.live.protocol.session import Session, address_of, route_of
from vcgym.live.protocol.wire import Address, Header, Kind, moved_on, new_key, read, write

LATER_US = 1_000_000  # a replay comes after the original


class Tapped:
    """Sender whose datagrams an attacker hears."""

    def __init__(self, sender: Sender, attacker: "Attacker") -> None:
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
        forged = Header(Kind.COMMAND, 0, header.session, 1 << 31, now_us, route_of(self._session.commands))
        command = moved_on(write(forged, write_command(0), self._key))
        self._plan(now_us, ("wrong key", "sender"), (command, address_of(self._session.commands[-1])))

    def _plan(self, at_us: int, what: tuple[str, str], sent: Sent) -> None:
        heapq.heappush(self._waiting, (at_us, next(self._order), what, sent))

    def wake(self, now_us: int) -> Iterable[Sent]:
        while self.due_us <= now_us:
            _, _, what, sent = heapq.heappop(self._waiting)
            self.sent[what] += 1
            yield sent
