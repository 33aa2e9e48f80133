"""Emulator: a relay that plays a sampled world in real time: each datagram is held for its delay in that world, or dropped.

It is the first hop of every route. Media, copies and probes of path p and slot k leave at (slot's start + delay of p in k), as in the
simulator. Feedback and commands take a constant time, as in `vcgym.envs.call.batch.CallBatch`. Delays count from the send time in the
header, so the time that a datagram took to get here does not add to them.
"""

import heapq
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.live.protocol.media import SLOT_BYTES, slot_of
from vcgym.live.protocol.nodes import NEVER_US, Sent
from vcgym.live.protocol.wire import Address, DatagramKind, Header, payload_of, read
from vcgym.live.relay import Relay
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw, blocks


class EmulatedWorld(NamedTuple):
    """A world as a table.

    Attributes:
        delay_us: int32 (paths, slots), one-way delay of a packet sent on the path in the slot, or LOST.
        history: float64 (paths, 3): number, mean ms and standard deviation ms of delays before the call.
        feedback_us: delay between the receiver and the router's location, the same in both directions.
        command_us: delay from the router's location to the sender.
    """

    delay_us: NDArray[np.int32]
    history: NDArray[np.float64]
    feedback_us: int
    command_us: int


def emulated(scenario: Scenario, draw: WorldDraw, location: float) -> EmulatedWorld:
    """Return the table of a sampled world, with the slots of a call.

    `location` is the position of the router between sender (0) and receiver (1), see `vcgym.envs.call.batch.LOCATIONS`.
    """
    world = scenario.world(1)
    history = world.start(0, draw)
    delay_us = np.concatenate(list(blocks(world, max(scenario.packets, BLOCK_SLOTS))), axis=1)[:, : scenario.packets]
    control_us = round(history[0, 1] * 1000.0)
    command_us = round(control_us * location)
    return EmulatedWorld(delay_us, history, control_us - command_us, command_us)


class Emulator:
    """A relay with the delays and losses of a world.

    Its relay has the secret, and started at `started_us`, in microseconds since 1970.

    Attributes:
        due_us: time at which the next datagram leaves.
        relay: relay that judges the datagrams.
    """

    def __init__(self, secret: bytes, world: EmulatedWorld, started_us: int) -> None:
        self.relay, self._world = Relay(secret, started_us), world
        self._held: list[tuple[int, int, Sent]] = []
        self._order = 0

    @property
    def due_us(self) -> int:
        return self._held[0][0] if self._held else NEVER_US

    def receive(self, datagram: bytes, source: Address, now_us: int) -> Iterable[Sent]:
        """Hold a datagram that the relay would forward, or drop it; return nothing."""
        for sent in self.relay.receive(datagram, source, now_us):
            header, _ = read(datagram)
            delay_us = self._delay_us(header, payload_of(datagram, header))
            if delay_us != LOST:
                self._order += 1
                heapq.heappush(self._held, (header.sent_us + delay_us, self._order, sent))
        return ()

    def wake(self, now_us: int) -> Iterable[Sent]:
        """Return the datagrams that are due."""
        while self._held and self._held[0][0] <= now_us:
            yield heapq.heappop(self._held)[2]

    def _delay_us(self, header: Header, payload: bytes) -> int:
        paths, slots = self._world.delay_us.shape
        kind = DatagramKind(header.kind)
        if kind in (DatagramKind.COMMAND, DatagramKind.ONWARD):
            return self._world.command_us
        if kind in (DatagramKind.FEEDBACK, DatagramKind.LEVEL):
            return self._world.feedback_us
        if kind is DatagramKind.SETUP:
            return 0
        slot = header.number
        if kind is DatagramKind.COPY:
            slot = slot_of(payload) if len(payload) >= SLOT_BYTES else slots
        return int(self._world.delay_us[header.path, slot]) if header.path < paths and slot < slots else LOST
