"""Receiver of a live call: plays each slot when its time has come, reports what arrived, and keeps the media for rendering."""

from collections.abc import Iterable
from contextlib import suppress

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


class Receiver:
    """The receiver. The first media packet tells when slot 0 began.

    Args:
        session: the call.
        policy: the call's; it sets the level here, at each arrival or by its receiver's rule, or commands it from the router's location.

    Attributes:
        due_us: time of the next slot; NEVER_US before the first packet and after the call.
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
        self.media: dict[int, bytes] = {}

    @property
    def due_us(self) -> int:
        """Return the time of the next slot."""
        return NEVER_US if not self.has_begun or self.is_done else self._origin_us + self.listening.slot * SLOT_US

    @property
    def has_begun(self) -> bool:
        """Return True after the first packet."""
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
                    self._take(header, COPY, packet, slot, frames, now_us)
                else:
                    kind, frames = (PROBE, ()) if header.kind == DatagramKind.PROBE else (MEDIA, read_media(payload)[1])
                    self._take(header, kind, header.number, header.number, frames, now_us)
        return ()

    def _obey(self, header: Header, level_us: int, now_us: int) -> None:
        if header.number > self._command:
            self.listening.command(level_us, max(now_us - self._origin_us, 0) if self.has_begun else 0)
            self._command = header.number

    def _take(self, header: Header, kind: int, packet: int, slot: int, frames: Frames, now_us: int) -> None:
        """Take what was sent at the start of `slot`: a packet, a copy of one of at most DISTANCES slots before, or a probe."""
        origin_us = header.sent_us - slot * SLOT_US
        if slot >= self._session.packets or slot - packet > DISTANCES:
            return
        self._origin_us = self._origin_us if self.has_begun else origin_us
        frames = [(distance, opus) for distance, opus in frames if distance <= packet]
        earlier = sum(1 << distance for distance in {distance for distance, _ in frames} - {0})
        arrived_us = now_us - origin_us
        if origin_us == self._origin_us and self.listening.arrive(kind, packet, header.path, arrived_us, slot - packet, earlier):
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
