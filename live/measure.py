"""Measurement of delays between hosts that run relays, or of the paths of a session, as traces with cards.

Between hosts no clock but this machine's is read. In each slot a probe goes to every host A and back, time T(A), and one over every ordered
pair A, B and back, time T(A, B). The one-way delay from A to B is T(A, B) - (T(A) + T(B)) / 2: the ways between this machine and the hosts
count half of their round trips. Its error is half the difference of the two directions of these ways; it is zero for the hosts' own
machine, and does not depend on the way between A and B. Each relay's own time (docs/live.md) adds to the result.

Each route has a session of its own, so that probes of one slot do not pass for replays at a relay that several routes cross.

The paths of a session are measured one way: its receiver's address must be on this machine, or on one with the same clock.
"""

from collections.abc import Iterable, Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.live.call.stats import OnSlot, unseen
from vcgym.live.protocol.nodes import NEVER_US, Sent, open_socket, serve, steady_clock
from vcgym.live.protocol.session import Session, address_of, hop_of
from vcgym.live.protocol.wire import Address, DatagramKind, Header, WireError, hops_of, is_authentic, read, route, session_key, write
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.traces.cards import Card
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import ENDING, write_trace

WAIT_US = 3_000_000
"""Time after the last probe until a missing one counts as lost."""


class Prober:
    """The prober.

    Args:
        secret: secret of the relays.
        routes: hops of each route; the last one is the prober's own address.
        first_session: number of the session of the first route; the others follow.
        slots: probes per route.
        start_us: time of slot 0 in microseconds since 1970.

    Attributes:
        due_us: time of the next slot or of the end; NEVER_US afterwards.
        slot: slots begun so far.
        delay_us: int64 (routes, slots), arrival minus start of the slot, or LOST.
    """

    def __init__(self, secret: bytes, routes: Sequence[Sequence[Address]], first_session: int, slots: int, start_us: int) -> None:
        self._routes = [(route(*hops), hops[0], session_key(secret, first_session + index)) for index, hops in enumerate(routes)]
        self._first, self._slots, self._start_us, self.slot = first_session, slots, start_us, 0
        self.due_us = start_us
        self.delay_us = np.full((len(routes), slots), LOST, np.int64)

    def receive(self, datagram: bytes, source: Address, now_us: int) -> Iterable[Sent]:
        """Take a probe that has come to the end of its route; a second copy is ignored."""
        try:
            header, index = read(datagram)
        except WireError:
            return ()
        row = header.session - self._first
        if 0 <= row < len(self._routes) and index == hops_of(header) - 1 and is_authentic(datagram, self._routes[row][2]):
            slot = header.number
            if header.kind == DatagramKind.PROBE and slot < self.slot and self.delay_us[row, slot] == LOST:
                self.delay_us[row, slot] = now_us - self._start_us - slot * SLOT_US
        return ()

    def wake(self, now_us: int) -> Iterable[Sent]:
        """Return the probes of the slots that are due."""
        while self.due_us <= now_us:
            if self.slot == self._slots:
                self.due_us = NEVER_US
                return
            slot, at_us = self.slot, self._start_us + self.slot * SLOT_US
            self.slot += 1
            self.due_us = at_us + (SLOT_US if self.slot < self._slots else WAIT_US)
            for row, (hops, address, key) in enumerate(self._routes):
                yield write(Header(DatagramKind.PROBE, row, self._first + row, slot, at_us, hops), b"", key), address


LEAD_US = 500_000


class MeasuredDelays(NamedTuple):
    """Measured delays.

    Attributes:
        names: name of each series.
        delay_us: int64 (series, slots), one-way delay, or LOST.
        described: method, for the cards.
    """

    names: list[str]
    delay_us: NDArray[np.int64]
    described: str


def measure_pairs(
    secret: bytes, hosts: Sequence[Address], slots: int, first_session: int, host: str = "127.0.0.1", on_slot: OnSlot = unseen
) -> MeasuredDelays:  # fmt: skip
    """Probe every ordered pair of two or more hosts in every slot; `host` is this machine's address as the hosts see it."""
    alone, pairs = [(a,) for a in range(len(hosts))], list(permutations(range(len(hosts)), 2))
    found_us = _probed(secret, [[hosts[n] for n in via] for via in (*alone, *pairs)], slots, first_session, (host, 0), on_slot)
    own_us, over_us = np.array([_held(row) for row in found_us[: len(hosts)]]), found_us[len(hosts) :]
    a, b = np.array(pairs).T
    known = (over_us != LOST) & (own_us[a] != LOST) & (own_us[b] != LOST)
    delay_us = np.where(known, np.maximum(over_us - (own_us[a] + own_us[b]) // 2, 0), LOST)
    names = [f"{hop_of(hosts[i])}-{hop_of(hosts[j])}".replace(":", "_") for i, j in pairs]
    return MeasuredDelays(names, delay_us, "one-way delay as a difference of round trips; ways to the probing machine count half of theirs")


def measure_session(secret: bytes, session: Session, first_session: int, on_slot: OnSlot = unseen) -> MeasuredDelays:
    """Probe every path of a session in every slot of its length, one way; its receiver must not run."""
    end = address_of(session.media[0][-1])
    paths = [[address_of(hop) for hop in hops[:-1]] for hops in session.media]
    delay_us = _probed(secret, paths, session.packets, first_session, end, on_slot)
    names = [f"path-{path:03d}" for path in range(len(paths))]
    return MeasuredDelays(names, delay_us, "one-way delay; sender and receiver have one clock")


def write_traces(measured: MeasuredDelays, folder: Path, name: str) -> list[Path]:
    """Write a trace with a card for each series on which anything arrived, as `scenario=replay traces=FOLDER` reads them.

    Raises:
        DataError: a file exists.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sent_us, files = np.arange(measured.delay_us.shape[1]) * SLOT_US, []
    for series, delay_us in zip(measured.names, measured.delay_us, strict=True):
        if (delay_us != LOST).any():
            card = Card(
                name=series, description=f"{name}: {measured.described}", source="vcgym measure, a probe per 10 ms over UDP",
                licence="not stated", sha256="0" * 64, kind="measured", units="milliseconds",
            )  # fmt: skip
            files.append(folder / f"{series}{ENDING}")
            write_trace(Trace(series, sent_us, delay_us, card, round_trip=False), files[-1])
    return files


def _probed(
    secret: bytes, vias: Sequence[Sequence[Address]], slots: int, first_session: int, end: Address, on_slot: OnSlot
) -> NDArray[np.int64]:  # fmt: skip
    """Return the delays (routes, slots) of routes over `vias` that end here; port 0 of `end` is chosen by the system."""
    with open_socket(*end) as opened:
        own, clock = opened.getsockname(), steady_clock()
        prober = Prober(secret, [[*via, own] for via in vias], first_session, slots, clock() + LEAD_US)

        def done() -> bool:
            on_slot(prober.slot)
            return prober.due_us == NEVER_US

        serve([(opened, prober)], done, clock)
    return prober.delay_us


def _held(row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a series in which a lost value is the last known one, LOST before the first."""
    last = np.maximum.accumulate(np.where(row != LOST, np.arange(len(row)), -1))
    return np.where(last >= 0, row[last], LOST)
