"""Prober: sends a probe along each of several routes in every slot, and takes the time until it is back or at the route's end.

Each route has a session of its own, so that probes of one slot do not pass for replays at a relay that several routes cross.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from vcgym.live.protocol.nodes import NEVER_US, Sent
from vcgym.live.protocol.wire import Address, DatagramKind, Header, WireError, hops_of, is_authentic, read, route, session_key, write
from vcgym.network.kernels.slots import LOST, SLOT_US

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
