"""Calls on one machine, in real time: emulator and relays in one process, the parties in another, all over UDP on loopback.

    sender -> emulator -> relay of the sender -> 0, 1 or 2 relays -> receiver

The emulator holds each packet for its delay in the sampled world; the relays forward it. Calls that are played at the same time share the
relays and have an emulator each.
"""

import multiprocessing
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.batch import LOCATIONS
from vcgym.live.call.parties import Addresses, LiveCall, Parties, finished, parties_of, relays_of, session_over
from vcgym.live.call.policies import LivePolicy
from vcgym.live.call.sender import LEAD_US
from vcgym.live.forwarding.emulator import EmulatedWorld, Emulator, emulated
from vcgym.live.forwarding.relay import Relay
from vcgym.live.protocol.nodes import Clock, Node, open_socket, serve, steady_clock
from vcgym.live.protocol.wire import new_key
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw

READY_S = 120.0  # limit of the start of the other process
GRACE_US = 15_000_000  # limit of what follows the last packet

Part = tuple[socket.socket, Node]


def play_live(
    scenario: Scenario,
    calls: Sequence[tuple[LivePolicy, WorldDraw]],
    samples: NDArray[np.int16],
    location: str = "central",
    watch: Callable[[list[Parties]], None] = lambda parties: None,
) -> list[LiveCall]:
    """Play calls of one scenario at the same time.

    Args:
        scenario: scenario of the worlds.
        calls: policy and sampled world of each call.
        samples: int16 (n,) at 48 kHz, what every sender says; it repeats.
        location: location of the router, a key of `vcgym.envs.call.batch.LOCATIONS`.
        watch: called with all parties about every 10 ms.

    Raises:
        TimeoutError: the other process did not start, a sender got no command, or nothing reached a receiver.
    """
    secret, clock = new_key(), steady_clock()
    with ExitStack() as opened:
        relays = [opened.enter_context(open_socket()) for _ in range(relays_of(scenario))]
        emulators: list[tuple[socket.socket, EmulatedWorld]] = []
        parties: list[Parties] = []
        parts: list[Part] = []
        for policy, draw in calls:
            world = emulated(scenario, draw, LOCATIONS[location])
            emulator, *ends = [opened.enter_context(open_socket()) for _ in range(4)]
            addresses = Addresses(emulator.getsockname(), [relay.getsockname() for relay in relays], *(end.getsockname() for end in ends))
            session = session_over(scenario, draw, world, secret, addresses)
            emulators.append((emulator, world))
            parties.append(parties_of(session, policy, world, samples, 0))
            parts.extend(zip(ends, parties[-1].nodes, strict=True))
        with network(secret, emulators, relays, clock):
            start_us = clock() + LEAD_US
            for party in parties:
                party.sender.started_us = start_us

            def done() -> bool:
                watch(parties)
                last_us = max(party.sender.started_us for party in parties) + scenario.packets * SLOT_US  # a sender may put slot 0 off
                if clock() > last_us + GRACE_US:
                    raise TimeoutError(f"nothing reached a receiver within {GRACE_US / 1e6:g} s after the last packet")
                return all(party.receiver.is_done for party in parties)

            serve(parts, done, clock)
    return [finished(party) for party in parties]


@contextmanager
def network(
    secret: bytes, emulators: list[tuple[socket.socket, EmulatedWorld]], relays: list[socket.socket], clock: Clock
) -> Iterator[None]:  # fmt: skip
    """Run emulators and relays in another process, by the same clock."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve_network, args=(theirs, secret, emulators, relays, clock), daemon=True)
    process.start()
    try:
        if not ours.poll(READY_S):
            raise TimeoutError(f"the process of emulator and relays did not start within {READY_S:g} s")
        ours.recv()
        yield
        ours.send(None)
        process.join(1.0)
    finally:
        process.kill()
        process.join()


def _serve_network(
    pipe: Connection, secret: bytes, emulators: list[tuple[socket.socket, EmulatedWorld]], relays: list[socket.socket], clock: Clock
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    parts: list[Part] = [(opened, Emulator(secret, world, clock())) for opened, world in emulators]
    parts += [(opened, Relay(secret, clock())) for opened in relays]
    parent = os.getppid()
    pipe.send(None)
    serve(parts, lambda: os.getppid() != parent or pipe.poll(), clock)
