"""Session of a live call: the facts that its parties agree on before it starts, as a file that only they may read."""

from pathlib import Path
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError, model_validator

from vcgym.agents.config.base import Config
from vcgym.live.protocol.addresses import Hop
from vcgym.live.protocol.replay_window import ReplayWindow, is_fresh
from vcgym.live.protocol.wire import (
    KEY_BYTES,
    MAX_HOPS,
    Address,
    DatagramKind,
    Header,
    WireError,
    hops_of,
    is_authentic,
    payload_of,
    read,
    route,
)
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain
from vcgym.network.traces.refusal import faults, one_line

_BY_SLOT = (DatagramKind.MEDIA, DatagramKind.PROBE)
"""Kinds whose number is the slot in which they were sent."""
_OF_SENDER = (*_BY_SLOT, DatagramKind.COPY)
"""Kinds that tell the receiver when slot 0 began."""

Hops = Annotated[list[Hop], Field(min_length=1, max_length=MAX_HOPS)]


class Session(Config):
    """Facts of a call. Each route is a list of hops, IPv4 address and port; its last hop is the destination.

    Attributes:
        number: number of the session, 64 bits.
        key: key of the session, 64 hex digits; its relays derive the same one from their secret (`vcgym.live.protocol.wire.session_key`).
        packets: length of the call in slots of 10 ms.
        seed: seed of the random draws of its rules, 64 bits.
        media: route of each path, sender to receiver; the first is the direct path.
        feedback: route from the receiver to the router's location.
        commands: route from the router's location to the sender.
        levels: route from the router's location to the receiver.
        setup: route from the sender to the router's location.
        history: number, mean (ms) and standard deviation (ms) of one-way delays known before the call, for each path.
        probe_rate: probes per second on each idle path.
    """

    number: Annotated[int, Field(ge=0, lt=1 << 64)]
    key: Annotated[str, Field(pattern=f"^[0-9a-f]{{{2 * KEY_BYTES}}}$")]
    packets: Annotated[int, Field(ge=100, le=360_000)]
    seed: Annotated[int, Field(ge=0, lt=1 << 64)]
    media: Annotated[list[Hops], Field(min_length=1, max_length=1000)]
    feedback: Hops
    commands: Hops
    levels: Hops
    setup: Hops
    history: list[Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=3, max_length=3)]]
    probe_rate: Annotated[float, Field(ge=0, le=100)] = 1.0

    @model_validator(mode="after")
    def _history_of_each_path(self) -> Self:
        if len(self.history) != len(self.media):
            raise ValueError(f"history has {len(self.history)} rows; allowed: {len(self.media)}, one per path of media")
        return self

    @property
    def known(self) -> NDArray[np.float64]:
        """Return the history as an array (paths, 3)."""
        return np.array(self.history, np.float64)

    @property
    def secret(self) -> bytes:
        """Return the key as bytes."""
        return bytes.fromhex(self.key)

    def write(self, path: Path) -> None:
        """Write the session to a new file that only its owner may read."""
        path.touch(0o600, exist_ok=False)
        path.write_text(self.model_dump_json(indent=1), encoding="utf-8")


def read_session(path: Path) -> Session:
    """Return the session in a file.

    Raises:
        ValueError: the file cannot be read, or is not a session.
    """
    try:
        return Session.model_validate_json(read_plain(path, MAX_JSON_BYTES))
    except ValidationError as error:
        raise ValueError(one_line(f"{path} is not a session: {faults(error)}")) from error


def address_of(hop: str) -> Address:
    """Return a hop as an address."""
    host, _, port = hop.rpartition(":")
    return host, int(port)


def hop_of(address: Address) -> str:
    """Return an address as a hop."""
    return f"{address[0]}:{address[1]}"


def route_of(hops: list[str]) -> bytes:
    """Return the source route of a list of hops."""
    return route(*map(address_of, hops))


class Inbox:
    """Filter of a party: opens fresh datagrams of its session that end here, each number once.

    Once the party knows when slot 0 began, a media packet or probe must have been sent at the start of the slot that its number names; else
    one wrong number, far ahead, would shut out all others. Before, no number of these kinds counts as seen.

    Attributes:
        opened: number of datagrams that were opened.
        refused: number of datagrams that were refused.
        newest_us: arrival of the newest one that was opened, in microseconds since 1970; -1 before the first.
    """

    def __init__(self, session: Session, *kinds: DatagramKind) -> None:
        self._session, self._seen = session, {int(kind): ReplayWindow() for kind in kinds}
        self.opened, self.refused, self.newest_us = 0, 0, -1
        self._origin_us: int | None = None

    def begin(self, origin_us: int, *opened: Header) -> None:
        """Take `origin_us`, in microseconds since 1970, as the start of slot 0, and the datagrams that told it as seen."""
        self._origin_us = origin_us
        for header in opened:
            self._seen[header.kind].accept(header.number)

    def open(self, datagram: bytes, now_us: int) -> tuple[Header, bytes] | None:
        """Return header and payload; None, and count it, for one that is not authentic, not for this party, not fresh, or was seen."""
        try:
            header, index = read(datagram)
        except WireError:
            header, index = None, 0
        if (
            header is None
            or header.session != self._session.number
            or header.kind not in self._seen
            or index != hops_of(header) - 1
            or header.path >= len(self._session.media)
            or (header.kind in _BY_SLOT and header.number >= self._session.packets)
            or not is_authentic(datagram, self._session.secret)
            or not is_fresh(header.sent_us, now_us)
            or not self._is_first(header)
        ):
            self.refused += 1
            return None
        self.opened, self.newest_us = self.opened + 1, now_us
        return header, payload_of(datagram, header)

    def _is_first(self, header: Header) -> bool:
        if header.kind in _OF_SENDER:
            if self._origin_us is None:
                return True
            if header.kind in _BY_SLOT and header.sent_us != self._origin_us + header.number * SLOT_US:
                return False
        return self._seen[header.kind].accept(header.number)
