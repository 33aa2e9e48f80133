"""Sender of a live call: a media packet per 10 ms on the path in force, what protects it, and probes of idle paths."""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import suppress

import numpy as np

from vcgym.envs.call.batch import probe_schedule
from vcgym.live.call.protection import LiveProtection
from vcgym.live.protocol.media import write_copy, write_media
from vcgym.live.protocol.messages import read_command, read_feedback, write_setup
from vcgym.live.protocol.nodes import NEVER_US, Sent
from vcgym.live.protocol.session import Inbox, Session, address_of, route_of
from vcgym.live.protocol.wire import Address, DatagramKind, Header, write
from vcgym.network.kernels.slots import SLOT_US

SETUP_US = 100_000  # interval of the announcements before slot 0
LEAD_US = 1_000_000  # from the first announcement to slot 0, and by how much slot 0 is put off if there is no command by then
MAX_ANNOUNCEMENTS = 300  # 30 s


class LiveSender:
    """The sender.

    Args:
        session: the call.
        media: an Opus packet for each slot.
        start_us: time of slot 0 in microseconds since 1970; until then the sender asks the router's location for the first path.
        protection: what protects its packets; None: nothing.

    Attributes:
        due_us: time of the next announcement or slot; NEVER_US after the call.
        inbox: filter of what arrives.
        paths: path of each slot so far.
        probes: number of probes sent.
        protection: what protects its packets.
        started_us: time of slot 0.
    """

    def __init__(self, session: Session, media: Iterator[bytes], start_us: int, protection: LiveProtection | None = None) -> None:
        self._session, self.inbox = session, Inbox(session, DatagramKind.COMMAND, DatagramKind.ONWARD)
        self.protection, self._copies = protection, 0
        self._media = itertools.chain([next(media)], media)  # starts the encoder
        self._routes = [(route_of(hops), address_of(hops[0])) for hops in session.media]
        self._setup = route_of(session.setup), address_of(session.setup[0])
        self._schedule = probe_schedule(len(session.media), session.probe_rate)
        self._last_used = np.full(len(session.media), -(1 << 40))
        self._announced, self._command, self._path = 0, -1, -1
        self.started_us, self.due_us, self.probes = start_us, 0, 0
        self.paths: list[int] = []

    def receive(self, datagram: bytes, source: Address, now_us: int) -> Iterable[Sent]:
        """Take a command, if it is no older than that in force; or feedback, for the protection."""
        if opened := self.inbox.open(datagram, now_us):
            header, payload = opened
            with suppress(ValueError):  # a party that has the key and writes nonsense is not obeyed
                if header.kind == DatagramKind.ONWARD:
                    for record in read_feedback(payload, now_us - self.started_us, len(self._routes), self._session.packets):
                        if self.protection:
                            self.protection.learn(record)
                elif header.number > self._command:
                    self._path, self._command = read_command(payload, len(self._routes)), header.number
        return ()

    def wake(self, now_us: int) -> Iterable[Sent]:
        """Return the announcement or the packets that are due.

        Raises:
            TimeoutError: no command has arrived after MAX_ANNOUNCEMENTS.
        """
        if self._path < 0 and now_us >= self.started_us:
            self.started_us = now_us + LEAD_US
        if now_us < self.started_us:
            yield self._announce(now_us)
            return
        while self.due_us <= now_us:
            yield from self._slot(len(self.paths))

    def _announce(self, now_us: int) -> Sent:
        if self._announced == MAX_ANNOUNCEMENTS:
            raise TimeoutError(f"no command reached the sender after {MAX_ANNOUNCEMENTS} announcements")
        hops, address = self._setup
        header = Header(DatagramKind.SETUP, 0, self._session.number, self._announced, now_us, hops)
        self._announced += 1
        self.due_us = min(now_us + SETUP_US, self.started_us)
        return write(header, write_setup(self.started_us), self._session.secret), address

    def _slot(self, slot: int) -> Iterable[Sent]:
        path, at_us = self._path, self.started_us + slot * SLOT_US
        opus, again = next(self._media), list[tuple[int, bytes]]()
        if self.protection:
            packet, again = self.protection.send(slot, path, opus)
        else:
            packet = write_media(self._session.number, slot, opus)
        yield self._datagram(DatagramKind.MEDIA, path, slot, at_us, packet)
        for further, copy in again:
            yield self._datagram(DatagramKind.COPY, further, self._copies, at_us, write_copy(slot, copy))
            self._copies += 1
            self._last_used[further] = slot
        self._last_used[path] = slot
        probed = int(self._schedule[slot % len(self._schedule)]) if len(self._schedule) else -1
        if probed >= 0 and slot - self._last_used[probed] >= len(self._schedule):
            self.probes += 1
            yield self._datagram(DatagramKind.PROBE, probed, slot, at_us, b"")
        self.paths.append(path)
        self.due_us = at_us + SLOT_US if slot + 1 < self._session.packets else NEVER_US

    def _datagram(self, kind: DatagramKind, path: int, number: int, at_us: int, payload: bytes) -> Sent:
        hops, address = self._routes[path]
        return write(Header(kind, path, self._session.number, number, at_us, hops), payload, self._session.secret), address
