"""A call over real sockets in real time that is attacked from outside and by a party, loses a relay, or loses its receiver.

Emulator, five relays and the receiver are processes of their own on loopback. SIGKILL ends a relay or the receiver in a call.
"""

import itertools
import multiprocessing
import os
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from campaigns import Case
from campaigns.live_attacker import FAR_APART, Attacker, Tapped
from vcgym.envs.call.batch import LOCATIONS
from vcgym.envs.call.counters import Totals, ratings_of
from vcgym.live.call.audio import encoded, tones
from vcgym.live.call.controller import Controller
from vcgym.live.call.parties import Addresses, session_over
from vcgym.live.call.policies import live_policy
from vcgym.live.call.receiver import Receiver
from vcgym.live.call.sender import LEAD_US, LiveSender
from vcgym.live.emulator import Emulator, emulated
from vcgym.live.protocol.nodes import open_socket, serve, unix_us
from vcgym.live.protocol.session import Session, address_of, hop_of
from vcgym.live.protocol.wire import new_key
from vcgym.live.relay import Relay
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.scenario import Scenario

SECONDS = {"small": 15, "medium": 20, "full": 20}
SEEDS = {"small": (0,), "medium": (0,), "full": (0, 1, 2)}
POLICIES = ("learned", "VCR5-WM", "VCR-WM")
LEAVES = POLICIES[:1]  # policies that must leave a relay that died; the others learn from arrivals only (docs/live.md)
MAX_MOVE_S = 3.0
WORLDS = 3  # to find one in which the router crosses a second relay: in a quiet world, on a busy machine, it may not
GRACE_US = 15_000_000  # limit of what follows the last packet
READY, DONE = "ready", "done"
TELL_SLOTS = 25  # slots between two reports of the receiver
DURING_SLOTS = 200  # slots after the kill of a relay that count as during it
RECOVERY_SLOTS = 600  # slots in which a new receiver comes to the lag of the old one
_CONTEXT = multiprocessing.get_context("forkserver")


def run(scale: str, folder: Path) -> Iterator[Case]:
    """Yield the cases."""
    _CONTEXT.set_forkserver_preload([__name__])  # so that a process starts as fast as a fork
    slots = 100 * SECONDS[scale]
    yield _attacked(slots)
    yield _betrayed(slots)
    for policy, seed in itertools.product(POLICIES, SEEDS[scale]):
        yield _relay_killed(policy, seed, slots)
    yield _receiver_killed(slots)


class _Beside:
    """A node in a process of its own."""

    def __init__(self, target: Any, opened: socket.socket, *arguments: Any) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=target, args=(theirs, opened, *arguments), daemon=True)
        self.process.start()
        theirs.close()
        opened.close()  # or the port of a killed process would stay open

    def counts(self) -> Counter[str]:
        """End a relay or emulator and return its counts; of one that was killed nothing is known."""
        if not self.process.is_alive():
            return Counter()
        self.pipe.send(None)
        found: Counter[str] = self.pipe.recv()
        return found


def _forward(pipe: Connection, opened: socket.socket, node: Relay | Emulator) -> None:
    """Run a relay or an emulator until asked for its counts."""
    pipe.send(READY)
    serve([(opened, node)], pipe.poll)
    pipe.send((node.relay if isinstance(node, Emulator) else node).counts)


def _receive(pipe: Connection, opened: socket.socket, session: Session, policy: str) -> None:
    """Run a receiver to its end; report slot, totals and number of refused datagrams, then DONE."""
    node, told = Receiver(session, live_policy(policy)), 0
    pipe.send(READY)

    def done() -> bool:
        nonlocal told
        if node.listening.slot >= told + TELL_SLOTS:
            told = node.listening.slot
            pipe.send((told, node.listening.totals(), node.inbox.refused))
        return node.is_done

    serve([(opened, node)], done)
    pipe.send(DONE)


class _Call:
    """A call between processes.

    Attributes:
        session: its session.
        sender: its sender, in this process as the router's location and the attacker are.
        reports: slot and totals of each report of the receiver, a list for each of its lives.
    """

    def __init__(self, policy: str, seed: int, slots: int) -> None:
        scenario, secret, self._policy = Scenario("wonderproxy", "correlated", slots), new_key(), policy
        draw = scenario.draw("validation", seed)
        world = emulated(scenario, draw, LOCATIONS["central"])
        emulator, receiver, *relays = [open_socket() for _ in range(7)]
        self._ends = [open_socket() for _ in range(3)]
        at, *ends = [one.getsockname() for one in (emulator, *self._ends[:2], receiver)]
        addresses = Addresses(at, [one.getsockname() for one in relays], *ends)
        self.world, self.session = f"{draw.pair}, {draw.stratum}", session_over(scenario, draw, world, secret, addresses)
        self.relays = {hop_of(one.getsockname()): _Beside(_forward, one, Relay(secret, unix_us())) for one in relays}
        self.emulator = _Beside(_forward, emulator, Emulator(secret, world, unix_us()))
        self.receiver = _Beside(_receive, receiver, self.session, policy)
        self.controller, self.attacker = Controller(self.session, live_policy(policy)), Attacker(self.session)
        self.sender = LiveSender(self.session, encoded(tones(4.0)), 0)
        self.reports: list[list[tuple[int, Totals]]] = [[]]
        for one in (self.emulator, self.receiver, *self.relays.values()):
            assert one.pipe.recv() == READY
        self.refused, self.is_done = 0, False

    @property
    def slot(self) -> int:
        """Return the number of slots sent."""
        return len(self.sender.paths)

    def play(self, watch: Callable[[], None]) -> None:
        """Play the call; `watch` is called about every 10 ms."""
        self.sender.started_us = unix_us() + LEAD_US
        limit_us = self.sender.started_us + self.session.packets * SLOT_US + GRACE_US

        def done() -> bool:
            watch()
            self._listen()
            if unix_us() > limit_us:
                raise TimeoutError(f"the receiver has not ended {GRACE_US / 1e6:g} s after the last packet")
            return self.is_done

        nodes = (Tapped(self.sender, self.attacker), self.controller, self.attacker)
        serve(list(zip(self._ends, nodes, strict=True)), done)

    def _listen(self) -> None:
        while not self.is_done and self.receiver.pipe.poll():
            told = self.receiver.pipe.recv()
            self.is_done = told == DONE
            if told not in (READY, DONE):
                self.reports[-1].append(told[:2])
                self.refused = told[2]

    def restart_receiver(self) -> None:
        """Kill the receiver and start it again at the same address, without waiting for it."""
        self._listen()
        self.receiver.process.kill()
        self.receiver.process.join()
        self.receiver = _Beside(_receive, open_socket(*address_of(self.session.media[0][-1])), self.session, self._policy)
        self.reports.append([])

    def rating(self, first: int, last: int, life: int = 0) -> float:
        """Return R of the slots from `first` to `last`, to the nearest reports of a life of the receiver."""
        (_, before), (_, after) = (min(self.reports[life], key=lambda told: abs(told[0] - slot)) for slot in (first, last))
        grown: dict[str, Any] = {name: getattr(after, name) - getattr(before, name) for name in Totals._fields}
        return round(float(ratings_of(Totals(**grown))[0]), 1)

    def end(self) -> tuple[Counter[str], Counter[str]]:
        """End all processes; return the counts of the emulator and the sum of those of the relays."""
        counts = self.emulator.counts(), sum((one.counts() for one in self.relays.values()), Counter[str]())
        for one in (self.emulator, self.receiver, *self.relays.values()):
            one.process.kill()
            one.process.join()
        return counts

    def found(self, **spans: tuple[int, ...]) -> dict[str, str | int | float]:
        """Return what every case reports; `spans`: first and last slot, and life of the receiver, of each R."""
        ratings = {f"R {name}": self.rating(*span) for name, span in spans.items()}
        sent = f"{len(self.sender.paths):,} media, {self.sender.probes:,} probes"
        return {"world": self.world, **ratings, "sent": sent, "load": round(os.getloadavg()[0], 1)}


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common())


def _attacked(slots: int) -> Case:
    """Attack every node in the middle third of a call."""
    call, began, ended = _Call(POLICIES[0], SEEDS["small"][0], slots), slots // 3, 2 * slots // 3

    def watch() -> None:
        call.attacker.is_at_it = began <= call.slot < ended

    call.play(watch)
    (emulator, relays), sent = call.end(), call.attacker.sent
    held = (
        emulator["wrong tag"] == sent["wrong key", "emulator"]
        and emulator["replayed"] == sent["replay", "emulator"]
        and relays["wrong tag"] == sent["wrong key", "relay"]
        and relays["spoofed source"] == sent["spoofed", "relay"]
        and not sent["answered", "attacker"]
        and call.sender.inbox.refused == sent["wrong key", "sender"] > 0
    )
    attacks = ", ".join(f"{count:,} {attack} to {node}" for (attack, node), count in sent.most_common())
    refused = {"receiver refused": call.refused, "sender refused": call.sender.inbox.refused}
    found = call.found(before=(100, began), during=(began, ended), after=(ended, slots))
    return Case("attack", held, found | {"attacks": attacks, "emulator": _shown(emulator), "relays": _shown(relays)} | refused)


def _betrayed(slots: int) -> Case:
    """Let a party send nonsense to everyone, before the call and in every second of its middle third."""
    call, began, ended = _Call(POLICIES[0], SEEDS["small"][0], slots), slots // 3, 2 * slots // 3
    told = [-1]

    def watch() -> None:
        if told[-1] < 0 or (began <= call.slot < ended and call.slot >= told[-1] + 100):
            told.append(call.slot)
            call.attacker.betray(unix_us(), call.slot)

    call.play(watch)
    (emulator, relays), sent = call.end(), call.attacker.sent
    replayed = len(told[1:]) * len(FAR_APART) - 1  # the first number of the first time is new
    held = call.slot == slots and call.controller.is_done and relays["replayed"] == replayed and not sent["answered", "attacker"]
    attacks = ", ".join(f"{count:,} {attack} to {node}" for (attack, node), count in sent.most_common())
    refused = {"receiver refused": call.refused, "sender refused": call.sender.inbox.refused}
    found = call.found(before=(100, began), during=(began, ended), after=(ended, slots))
    return Case("insider", held, found | {"attacks": attacks, "emulator": _shown(emulator), "relays": _shown(relays)} | refused)


def _relay_killed(policy: str, seed: int, slots: int) -> Case:
    """Kill the relay behind the sender's own that the path in force crosses, in the first of a few worlds in which there is one."""
    for world in range(seed, seed + WORLDS * len(SEEDS["full"]), len(SEEDS["full"])):
        call, killed = _Call(policy, world, slots), list[tuple[int, str]]()
        call.play(partial(_kill_crossed, call, killed, slots // 3))
        emulator, relays = call.end()
        if killed:
            break
    else:
        return Case(f"relay killed, {policy}", policy not in LEAVES, {"moved": f"had no path over a second relay in {WORLDS} worlds"})
    began, dead = killed[0]
    after = [slot for slot in range(began, slots) if dead not in call.session.media[call.sender.paths[slot]]]
    moved_s = (after[0] - began) / 100.0 if after else None
    lost = sum(dead in call.session.media[path] for path in call.sender.paths[began:])
    figures = {"moved": "no" if moved_s is None else f"after {moved_s:.2f} s", "sent into the dead relay": lost}
    held = policy not in LEAVES or (moved_s is not None and moved_s < MAX_MOVE_S)
    found = call.found(before=(100, began), during=(began, began + DURING_SLOTS), after=(began + DURING_SLOTS, slots))
    return Case(f"relay killed, {policy}", held, found | figures | {"emulator": _shown(emulator), "relays": _shown(relays)})


def _kill_crossed(call: _Call, killed: list[tuple[int, str]], first: int) -> None:
    """Kill the second relay of the path in force, once, from the slot `first` on, as soon as there is one; note slot and relay."""
    if not killed and call.slot >= first and len(crossed := call.session.media[call.sender.paths[-1]]) > 3:
        call.relays[crossed[2]].process.kill()
        killed.append((call.slot, crossed[2]))


def _receiver_killed(slots: int) -> Case:
    """Kill the receiver after a third of the call, and start it again at once."""
    call, events = _Call(POLICIES[0], SEEDS["small"][0], slots), list[int]()

    def watch() -> None:
        if not events and call.slot >= slots // 3:
            call.restart_receiver()
            events.append(call.slot)
        elif len(events) == 1 and call.reports[-1]:
            events.append(call.slot)

    call.play(watch)
    emulator, relays = call.end()
    killed, back = events
    recovered = back + RECOVERY_SLOTS
    found = call.found(before=(100, killed), during=(back, recovered, 1), after=(recovered, slots, 1))
    silent = {"silent": f"{(back - killed) / 100.0:.2f} s", "feedback refused": call.controller.inbox.refused}
    held = call.controller.inbox.refused == 0 and back < killed + RECOVERY_SLOTS
    return Case("receiver killed", held, found | silent | {"emulator": _shown(emulator), "relays": _shown(relays)})
