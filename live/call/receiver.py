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
        media: Opus packet of each slot that arrived.
    """

    def __init__(self, session: Session, policy: LivePolicy) -> None:
        self._session, self.inbox = session, Inbox(session, DatagramKind.MEDIA, DatagramKind.PROBE, DatagramKind.LEVEL)
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
        """Take a media packet, a probe or a level; a level older than that in force is ignored."""
        if opened := self.inbox.open(datagram, now_us):
            header, payload = opened
            with suppress(ValueError):  # a party that has the key and writes nonsense is not obeyed
                if header.kind == DatagramKind.LEVEL:
                    self._obey(header, read_level(payload), now_us)
                else:
                    self._take(header, _opus_of(payload) if header.kind == DatagramKind.MEDIA else None, now_us)
        return ()

    def _obey(self, header: Header, level_us: int, now_us: int) -> None:
        if header.number > self._command:
            self.listening.command(level_us, max(now_us - self._origin_us, 0) if self.has_begun else 0)
            self._command = header.number

    def _take(self, header: Header, opus: bytes | None, now_us: int) -> None:
        """Take a media packet, or a probe if it has no Opus; it must have been sent at the start of its slot."""
        origin_us = header.sent_us - header.number * SLOT_US
        self._origin_us = self._origin_us if self.has_begun else origin_us
        if origin_us == self._origin_us:
            kind = PROBE if opus is None else MEDIA
            if self.listening.arrive(kind, header.number, header.path, now_us - origin_us) and opus is not None:
                self.media[header.number] = opus

    def wake(self, now_us: int) -> Iterable[Sent]:
        """Play the slots that are due; return the feedback."""
        while self.due_us <= now_us:
            slot = self.listening.slot
            records = self.listening.play_slot()
            for first in range(0, len(records), MAX_BLOCKS):
                self._report = max(self._report + 1, slot)  # a restarted receiver goes on above its numbers from before
                header = Header(DatagramKind.FEEDBACK, 0, self._session.number, self._report, now_us, self._hops)
                yield write(header, write_feedback(records[first : first + MAX_BLOCKS]), self._session.secret), self._address


def _opus_of(payload: bytes) -> bytes:
    """Return the Opus packet of an RTP packet.

    Raises:
        ValueError: the payload is no RTP packet, or an empty one.
    """
    opus: bytes = RtpPacket.parse(payload).payload
    if not opus:
        raise ValueError("RTP payload of 0 bytes: allowed are 1 and more")
    return opus
