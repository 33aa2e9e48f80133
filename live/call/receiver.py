"""Receiver of a live call: plays each slot when its time has come, reports what arrived, and keeps the media for rendering."""

from collections.abc import Iterable
from contextlib import suppress

from aiortc.rtp import RtpPacket

from vcgym.baselines.records import MEDIA, PROBE
from vcgym.live.call.listening import Listening
from vcgym.live.call.policies import LivePolicy
from vcgym.live.protocol.messages import MAX_BLOCKS, read_level, write_feedback
from vcgym.live.protocol.nodes import NEVER_US, Sent
from vcgym.live.protocol.session import Inbox, Session, address_of, route_of
from vcgym.live.protocol.wire import Address, Header, Kind, write
from vcgym.network.kernels.slots import SLOT_US

MAX_CLOCK_ERROR_US = 3_600_000_000
"""A packet that seems to have been sent an hour before or after its arrival is ignored."""


class Receiver:
    """The receiver. The first media packet tells when slot 0 began.

    Args:
        session: the call.
        policy: the call's; it sets the level here, at each arrival or by its receiver's rule, or commands it from the router's location.

    Attributes:
        due_us: time of the next slot; NEVER_US before the first packet and after the call.
        listening: rule, player and counters.
        media: Opus packet of each slot that arrived.
    """

    def __init__(self, session: Session, policy: LivePolicy) -> None:
        self._session, self._inbox = session, Inbox(session, Kind.MEDIA, Kind.PROBE, Kind.LEVEL)
        self._hops, self._address = route_of(session.feedback), address_of(session.feedback[0])
        self.listening = Listening(session, policy)
        self.listening.play_slot()  # compiles
        self._origin_us, self._report, self._command = -1, -1, -1
        self.media: dict[int, bytes] = {}

    @property
    def due_us(self) -> int:
        """Return the time of the next slot."""
        return NEVER_US if self._origin_us < 0 or self.is_done else self._origin_us + self.listening.slot * SLOT_US

    @property
    def is_done(self) -> bool:
        """Return True after the call."""
        return self.listening.is_done

    @property
    def refused(self) -> int:
        """Return the number of datagrams that were refused."""
        return self._inbox.refused

    def receive(self, datagram: bytes, source: Address, now_us: int) -> Iterable[Sent]:
        """Take a media packet, a probe or a level; a level older than that in force is ignored."""
        if opened := self._inbox.open(datagram):
            header, payload = opened
            if header.kind == Kind.LEVEL:
                self._obey(header, payload, now_us)
                return ()
            if abs(now_us - header.sent_us) > MAX_CLOCK_ERROR_US:
                return ()
            if header.kind == Kind.MEDIA:
                try:
                    self.media[header.number] = RtpPacket.parse(payload).payload
                except ValueError:  # a party that has the key and writes nonsense is not heard
                    return ()
            if self._origin_us < 0:
                self._origin_us = header.sent_us - header.number * SLOT_US
            kind = MEDIA if header.kind == Kind.MEDIA else PROBE
            self.listening.arrive(kind, header.number, header.path, now_us - self._origin_us)
        return ()

    def _obey(self, header: Header, payload: bytes, now_us: int) -> None:
        with suppress(ValueError):  # a party that has the key and writes nonsense is not obeyed
            if header.number > self._command:
                self.listening.command(read_level(payload), max(now_us - self._origin_us, 0) if self._origin_us >= 0 else 0)
                self._command = header.number

    def wake(self, now_us: int) -> Iterable[Sent]:
        """Play the slots that are due; return the feedback."""
        while self.due_us <= now_us:
            slot = self.listening.slot
            records = self.listening.play_slot()
            for first in range(0, len(records), MAX_BLOCKS):
                self._report = max(self._report + 1, slot)  # a restarted receiver goes on above its numbers from before
                header = Header(Kind.FEEDBACK, 0, self._session.number, self._report, now_us, self._hops)
                yield write(header, write_feedback(records[first : first + MAX_BLOCKS]), self._session.secret), self._address
