"""The parties of a call over a sampled world: its session, sender, router's location and receiver, and what they know afterwards."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.batch import Played
from vcgym.live.call.audio import encoded
from vcgym.live.call.controller import Controller
from vcgym.live.call.policies import LivePolicy
from vcgym.live.call.protection import LiveProtection
from vcgym.live.call.receiver import Receiver
from vcgym.live.call.repairing import Repaired
from vcgym.live.call.sender import LiveSender
from vcgym.live.forwarding.emulator import EmulatedWorld
from vcgym.live.protocol.nodes import Node
from vcgym.live.protocol.session import Session, hop_of
from vcgym.live.protocol.wire import Address, session_key
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw


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
