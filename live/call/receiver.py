"""Receiver of a live call: plays each slot when its time has come, reports what arrived, and keeps the media for rendering."""

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from vcgym.baselines.protection.protect import DISTANCES
from vcgym.baselines.records import COPY, MEDIA, PROBE
from vcgym.live.call.listening import Listening
from vcgym.live.call.policies import LivePolicy
from vcgym.live.protocol.media import Frames, read_copy, read_media
from vcgym.live.protocol.messages import MAX_BLOCKS, read_level, write_feedback
from vcgym.live.protocol.nodes import NEVER_US, Sent
from vcgym.live.protocol.session import Inbox, Session, address_of, route_of
from vcgym.live.protocol.wire import Address, DatagramKind, Header, write
from vcgym.network.kernels.slots import SLOT_US

MAX_NAMED = 16
"""Starts of slot 0 that one datagram alone names; the oldest is forgotten."""


class _Arrival(NamedTuple):
    """A packet, a copy of one of at most DISTANCES slots before, or a probe: sent at the start of `slot`, arrived at `now_us`."""

    header: Header
    kind: int
    packet: int
    slot: int
    frames: Frames
    now_us: int

    @property
    def origin_us(self) -> int:
        """Return the start of slot 0, as the datagram has it."""
        return self.header.sent_us - self.slot * SLOT_US


class Receiver:
    """The receiver. The first two datagrams of the sender that agree tell when slot 0 began; one alone may be anybody's with the key.

    The policy sets the level here, at each arrival or by its receiver's rule, or commands it from the router's location.

    Attributes:
        due_us: time of the next slot; NEVER_US before two datagrams agree and after the call.
        inbox: filter of what arrives.
        listening: rule, player and counters.
        media: Opus packet of each slot that arrived, in a packet of its own, a copy or a later packet.
    """

    def __init__(self, session: Session, policy: LivePolicy) -> None:
        self._session, self.inbox = session, Inbox(session, DatagramKind.MEDIA, DatagramKind.PROBE, DatagramKind.LEVEL, DatagramKind.COPY)
        self._hops, self._address = route_of(session.feedback), address_of(session.feedback[0])
        self.listening = Listening(session, policy)
        self.listening.play_slot()  # compiles
        self._origin_us, self._report, self._command = -1, -1, -1
        self._named: dict[int, _Arrival] = {}  # before the call, by the start of slot 0
        self.media: dict[int, bytes] = {}

    @property
    def due_us(self) -> int:
        return NEVER_US if not self.has_begun or self.is_done else self._origin_us + self.listening.slot * SLOT_US

    @property
    def has_begun(self) -> bool:
        """Return True once two datagrams agree on the start of slot 0."""
        return self._origin_us >= 0

    @property
    def is_done(self) -> bool:
        """Return True after the call."""
        return self.listening.is_done

    def receive(self, datagram: bytes, source: Address, now_us: int) -> Iterable[Sent]:
        """Take a media packet, a copy, a probe or a level; a level older than that in force is ignored."""
        if opened := self.inbox.open(datagram, now_us):
            header, payload = opened
            with suppress(ValueError):  # a party that has the key and writes nonsense is not obeyed
                if header.kind == DatagramKind.LEVEL:
                    self._obey(header, read_level(payload), now_us)
                elif header.kind == DatagramKind.COPY:
                    slot, packet, frames = read_copy(payload)
                    self._take(_Arrival(header, COPY, packet, slot, frames, now_us))
                else:
                    kind, frames = (PROBE, ()) if header.kind == DatagramKind.PROBE else (MEDIA, read_media(payload)[1])
                    self._take(_Arrival(header, kind, header.number, header.number, frames, now_us))
        return ()

    def _obey(self, header: Header, level_us: int, now_us: int) -> None:
        if header.number > self._command:
            self.listening.command(level_us, max(now_us - self._origin_us, 0) if self.has_begun else 0)
            self._command = header.number

    def _take(self, arrival: "_Arrival") -> None:
        """Play what arrived; before the call, keep it until another datagram names the same start of slot 0."""
        if arrival.slot >= self._session.packets or arrival.slot - arrival.packet > DISTANCES:
            return
        if self.has_begun:
            self._play(arrival)
            return
        first = self._named.setdefault(arrival.origin_us, arrival)
        if first.header[:4] != arrival.header[:4]:
            self._origin_us = arrival.origin_us
            self.inbox.begin(self._origin_us, first.header, arrival.header)
            self._play(first)
            self._play(arrival)
            self._named.clear()
        elif len(self._named) > MAX_NAMED:
            del self._named[next(iter(self._named))]

    def _play(self, arrival: "_Arrival") -> None:
        header, kind, packet, slot, frames, now_us = arrival
        frames = [(distance, opus) for distance, opus in frames if distance <= packet]
        earlier = sum(1 << distance for distance in {distance for distance, _ in frames} - {0})
        is_of_call = arrival.origin_us == self._origin_us
        if is_of_call and self.listening.arrive(kind, packet, header.path, now_us - self._origin_us, slot - packet, earlier):
            for distance, opus in frames:
                self.media.setdefault(packet - distance, opus)

    def wake(self, now_us: int) -> Iterable[Sent]:
        """Play the slots that are due; return the feedback."""
        while self.due_us <= now_us:
            slot = self.listening.slot
            records = self.listening.play_slot()
            for first in range(0, len(records), MAX_BLOCKS):
                self._report = max(self._report + 1, slot)  # a restarted receiver goes on above its numbers from before
                header = Header(DatagramKind.FEEDBACK, 0, self._session.number, self._report, now_us, self._hops)
                yield write(header, write_feedback(records[first : first + MAX_BLOCKS]), self._session.secret), self._address
