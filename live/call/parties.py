"""Parties of a call over a sampled world: session, sender, router's location and receiver; and whole calls on one machine.

    sender -> emulator -> relay of the sender -> 0, 1 or 2 relays -> receiver

On one machine a call runs in real time, all over UDP on loopback: the parties in this process, emulator and relays in another. The emulator
holds each packet for its delay in the sampled world; the relays forward it. Calls that are played at the same time share the relays and
have an emulator each.
"""

import multiprocessing
import os
import re
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.batch import LOCATIONS, Played
from vcgym.live.call.audio import encoded
from vcgym.live.call.controller import Controller
from vcgym.live.call.listening import Repaired
from vcgym.live.call.policies import LivePolicy
from vcgym.live.call.protection import LiveProtection
from vcgym.live.call.receiver import Receiver
from vcgym.live.call.sender import LEAD_US, LiveSender
from vcgym.live.emulator import EmulatedWorld, Emulator, emulated
from vcgym.live.protocol.nodes import Clock, Node, open_socket, serve, steady_clock
from vcgym.live.protocol.session import Session, hop_of
from vcgym.live.protocol.wire import Address, new_key, session_key
from vcgym.live.relay import Relay
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw

READY_S = 120.0  # limit of the start of the other process
GRACE_US = 15_000_000  # limit of what follows the last packet

Part = tuple[socket.socket, Node]


class Addresses(NamedTuple):
    """Addresses of all nodes of a call; relay 0 is the sender's own, which every path crosses."""

    emulator: Address
    relays: Sequence[Address]
    sender: Address
    controller: Address
    receiver: Address


class Parties(NamedTuple):
    """Sender, router's location and receiver of a call, their session, and the world between them."""

    session: Session
    sender: LiveSender
    controller: Controller
    receiver: Receiver
    world: EmulatedWorld

    @property
    def nodes(self) -> tuple[Node, Node, Node]:
        """Return the nodes."""
        return self.sender, self.controller, self.receiver


class LiveCall(NamedTuple):
    """A call that was played.

    Attributes:
        played: the call packet by packet, as the simulator writes it.
        media: Opus packet of each slot that arrived.
        timer_error_us: (packets that arrived themselves,), arrival minus (start of the slot + delay in the world).
        repaired: what was lost and repaired.
        added: bytes of the protection as a share of those without it, on the network.
    """

    played: Played
    media: dict[int, bytes]
    timer_error_us: NDArray[np.int64]
    repaired: Repaired
    added: float


def vias(scenario: Scenario) -> list[tuple[int, ...]]:
    """Return the relays, 1 and up, that each path of a scenario crosses behind relay 0."""
    return [tuple(map(int, re.findall(r"\d+", name))) if name.startswith("via") else () for name in scenario.layout.path_names]


def relays_of(scenario: Scenario) -> int:
    """Return the number of relays that the paths of a scenario cross, with relay 0."""
    return 1 + max(max(via, default=0) for via in vias(scenario))


def session_over(scenario: Scenario, draw: WorldDraw, world: EmulatedWorld, secret: bytes, addresses: Addresses) -> Session:
    """Return the session of a call over an emulated world; relays and emulator hold `secret`.

    Raises:
        ValueError: its paths cross more relays.
    """
    if len(addresses.relays) < relays_of(scenario):
        raise ValueError(f"relays are {len(addresses.relays)}; allowed: {relays_of(scenario)} or more, which its paths cross")
    number = secrets.randbits(64)
    emulator, relays = hop_of(addresses.emulator), [hop_of(relay) for relay in addresses.relays]
    sender, controller, receiver = map(hop_of, (addresses.sender, addresses.controller, addresses.receiver))
    return Session(
        number=number,
        key=session_key(secret, number).hex(),
        packets=scenario.packets,
        seed=draw.seed,
        media=[[emulator, *(relays[n] for n in (0, *via)), receiver] for via in vias(scenario)],
        feedback=[emulator, controller],
        commands=[emulator, sender],
        levels=[emulator, receiver],
        setup=[emulator, controller],
        history=world.history.tolist(),
    )


def parties_of(session: Session, policy: LivePolicy, world: EmulatedWorld, samples: NDArray[np.int16], start_us: int) -> Parties:
    """Return the parties of a call that begins at `start_us`, in microseconds since 1970; the sender says `samples` (n,), at 48 kHz."""
    protection = None if policy.protection is None else LiveProtection(session, policy.protection, policy.budget)
    sender = LiveSender(session, encoded(samples), start_us, protection)
    return Parties(session, sender, Controller(session, policy), Receiver(session, policy), world)


def finished(parties: Parties) -> LiveCall:
    """Return a call whose log has what only the sender knows too: the path of each packet, and its counters."""
    played = parties.receiver.listening.finish()
    path = np.array(parties.sender.paths, np.int16)
    totals = played.totals._replace(
        path_changes=np.array([np.count_nonzero(np.diff(path))]),
        plans_sent=np.array([parties.controller.plans]),
        probes_sent=np.array([parties.sender.probes]),
    )
    listening, protection = parties.receiver.listening, parties.sender.protection
    own_us = listening.own_us
    there = np.flatnonzero(own_us != LOST)
    error_us = own_us[there] - there * SLOT_US - parties.world.delay_us[path[there], there]
    added = protection.added if protection else 0.0
    whole = replace(played, path=path[None], totals=totals)
    return LiveCall(whole, parties.receiver.media, error_us, listening.repaired(played), added)


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
