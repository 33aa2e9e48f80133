"""Receiver's half of a live call: the compiled loop of the simulator over a world whose packets arrive from outside.

The loop (`vcgym.envs.call.loop`) plays one slot at a time, over the world of `vcgym.live.call.outside`; a datagram that arrives is put
among the packets in flight with its measured delay. So the receiver's rule, the clocked player and the counters are the simulator's, value
for value.

Earlier frames in the packets that arrive repair, as in a simulated call: where that has the protection of its sender, this loop has a stage
that knows what a packet carries from the packet itself. A copy needs none: the loop takes it as a copy, and reports it as one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import CENTRAL, Control
from vcgym.baselines.from_agent import in_place_of
from vcgym.baselines.protection.protect import NONE
from vcgym.baselines.records import COPY, MEDIA, PROBE, Record
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.envs.call.counters import Totals
from vcgym.envs.call.paths.feed import RECORDS, command
from vcgym.envs.call.paths.protecting import Protecting, newest_missing
from vcgym.envs.call.paths.routing import NoSender
from vcgym.envs.call.paths.state import ARRIVALS, LEVEL
from vcgym.envs.call.sender.no_uplink import SenderStages
from vcgym.envs.call.stages import capture, is_draining, leave, next_repaired, pass_on, reveal, sent_onto_path_us
from vcgym.live.call.outside import Actor, draw_of, outside
from vcgym.live.call.policies import LivePolicy
from vcgym.live.protocol.session import Session
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.playout.in_flight import SLOTS, kind_of, number_of, push
from vcgym.network.playout.player import NEVER_US
from vcgym.network.playout.receiver import START_LEVEL_US

DRAIN_SLOTS = 300
"""Slots after the last packet during which packets may still arrive: 3 s."""
_ROW = np.zeros(1, np.int64)


class Repairing(NamedTuple):
    """Sender stage of a receiver's loop: int64 (SLOTS,), by packet the set of earlier packets whose frames it carries."""

    carried: NDArray[np.int64]


for _stage in (pass_on, reveal, leave, is_draining, capture):
    _stage.register(Repairing)(_stage.versions[NoSender])
sent_onto_path_us.register(Repairing)(sent_onto_path_us.versions[Protecting])


@next_repaired.register(Repairing)
def _next_repaired(sender, call, s, node, so_far):
    number = number_of(call.in_flight, node, call.slot)
    if kind_of(call.in_flight, node) == PROBE or call.slot - number >= SLOTS:
        return np.int64(NONE)
    return newest_missing(call, number, sender.carried[number & (SLOTS - 1)])


class WithRepairs(SenderStages):
    """Stages before the paths of a receiver's loop; `carried` as in `Repairing`."""

    def __init__(self, carried: NDArray[np.int64]) -> None:
        self.inside = Repairing(carried)


class Repaired(NamedTuple):
    """Numbers of packets of a call.

    Attributes:
        lost: packets whose own transmission did not arrive.
        by_copy: those of them that were played because a copy arrived.
        by_frame: those that were played because a later packet carried their frame.
        too_late: those that arrived in one of these ways, but too late to be played.
    """

    lost: int
    by_copy: int
    by_frame: int
    too_late: int


class Listening:
    """State of the receiver of one call; an agent at the receiver acts at arrivals, as often as in its environment.

    Attributes:
        slot: slots played so far.
        own_us: int64 (packets,), arrival of each packet's own transmission, LOST without one.
    """

    def __init__(self, session: Session, policy: LivePolicy) -> None:
        self._packets, self.slot, self._stops = session.packets, 0, 0
        self._carried = np.zeros(SLOTS, np.int64)
        self._due_slot = np.full(SLOTS, -1, np.int64)  # by packet modulo SLOTS, in which its own transmission is handed out
        self._arrivals = np.zeros(SLOTS, np.int64)  # by slot modulo SLOTS, in which they are handed out
        scenario = outside(session, session.packets + DRAIN_SLOTS)
        path = in_place_of(Control.PATH, CENTRAL)
        if agent := policy.at_receiver:  # with a placeholder for the path the loop stops once in each slot, and at each arrival
            envs = agent.environment(scenario, path=path, location="receiver", feedback_loss=0.0, probe_rate=0.0, log=True)
            self._act, self._batch, self._holds = Actor(session, agent.policy, envs).act, envs.batch, envs.holds
        else:
            playout = policy.at_path.environment(scenario).controllers[Control.PLAYOUT]
            uplink = WithRepairs(self._carried)
            self._batch = CallBatch(scenario, 1, path, playout, location="receiver", probe_rate=0.0, log=True, uplink=uplink)
            self._batch.start(0, draw_of(session), session.known)
        self._batch.tables.player.clock[0].units = session.packets
        _push(self._batch.calls, 0, MEDIA, 0, 1 << 40, 0)  # compiles; so late a packet is ignored
        self.command(START_LEVEL_US, 0)
        self._path = np.full(session.packets, -1, np.int16)
        self.own_us = np.full(session.packets, LOST, np.int64)
        self._copy_us = np.full(session.packets, LOST, np.int64)

    def arrive(self, kind: int, packet: int, path: int, arrived_us: int, age: int = 0, earlier: int = 0) -> bool:
        """Take a packet, a copy or a probe that arrived `arrived_us` after the start of slot 0.

        Args:
            kind: MEDIA, COPY or PROBE.
            packet: number of the packet; of a probe its slot.
            path: its path.
            arrived_us: its arrival.
            age: slots from that of the packet to that in which it was sent; above 0 for later copies only.
            earlier: set of the earlier packets whose frames it carries, as in `vcgym.baselines.protection.protect.Protection`.

        Returns:
            True if it was taken; False for one beyond the call, for one that was sent or arrived 40 s away from the slot that is played,
            and if so many arrived in its slot that the loop cannot report them; half of that is for packets alone.
        """
        if packet >= self._packets or abs(self.slot - packet) >= SLOTS - 1:
            return False
        earliest_us = max(self.slot - 1, packet + age) * SLOT_US + 1  # a slot that was played is closed
        arrived_us = max(arrived_us, earliest_us)
        due_slot = -(-arrived_us // SLOT_US)
        if due_slot - self.slot >= SLOTS or (kind == MEDIA and self._due_slot[packet % SLOTS] >= self.slot):
            return False  # the calendar of packets in flight would wrap, or the packet 41 s before is still in its place
        limit = RECORDS if kind == MEDIA else RECORDS // 2
        if self._arrivals[due_slot % SLOTS] >= limit or not _push(self._batch.calls, packet, kind, path, arrived_us, age):
            return False
        self._arrivals[due_slot % SLOTS] += 1
        if kind != PROBE:
            self._carried[packet % SLOTS] = earlier
        if kind == MEDIA:
            self._due_slot[packet % SLOTS] = due_slot
            self._path[packet], self.own_us[packet] = path, arrived_us
        if kind == COPY and (self._copy_us[packet] == LOST or arrived_us < self._copy_us[packet]):
            self._copy_us[packet] = arrived_us
        return True

    def command(self, level_us: int, at_us: int) -> None:
        """Put a level in force from `at_us` after the start of slot 0 on; a receiver's rule ignores it."""
        self._batch.tables.answers[Control.PLAYOUT] = level_us  # the loop sends it again in each slot, which changes nothing
        _command(self._batch.calls, level_us, at_us)

    def play_slot(self) -> list[Record]:
        """Play the next slot: arrivals up to its start, the player's ticks; return the records of what arrived."""
        self._advance()
        self._arrivals[self.slot % SLOTS] = 0
        self.slot += 1
        feed = self._batch.calls[0]["feed"]
        rows = feed["rows"][np.arange(feed["read"], feed["written"]) % RECORDS].tolist()
        feed["read"] = feed["written"]
        return [Record(*row) for row in rows]

    @property
    def is_done(self) -> bool:
        """Return True if the last unit was played, or nothing can arrive any more."""
        ended = self.slot > self._packets and self._batch.tables.player.clock[0].tick_us == NEVER_US
        return bool(ended) or self.slot >= self._packets + DRAIN_SLOTS

    @property
    def level_us(self) -> int:
        """Return the lag or target in force."""
        return int(self._batch.calls[0]["receiver"]["level_us"])

    def last_second(self) -> tuple[float, float]:
        """Return the mean delay in ms and the share lost of the packets sent from 2 s to 1 s ago; NaN without packets."""
        first, last = max(self.slot - 200, 0), max(self.slot - 100, 0)
        arrived_us = self.own_us[first:last]
        there = arrived_us != LOST
        delay_us = (arrived_us - np.arange(first, first + len(arrived_us)) * SLOT_US)[there]
        return (float(delay_us.mean()) / 1000.0 if len(delay_us) else np.nan), (1.0 - float(there.mean()) if len(there) else np.nan)

    def totals(self) -> Totals:
        """Return the totals so far; `plans_sent`, `path_changes` and `probes_sent` are the sender's and are zero."""
        return self._batch.totals()

    def _advance(self) -> None:
        self._batch.advance(_ROW)
        slots, phase = self._batch.calls["slots"], self._batch.calls["phase"]
        while phase[0] == LEVEL:
            whole, slots[0] = int(slots[0]), self._packets  # an observation has the share of the call that is over
            if self._stops % self._holds == 0:
                self._act()
            self._stops += 1
            slots[0] = whole
            self._batch.advance(_ROW)

    def finish(self) -> Played:
        """Play to the end of the stream without further arrivals and return the call packet by packet.

        Path is -1 for a packet whose own transmission did not arrive.
        """
        while self.slot <= self._packets:
            self.play_slot()
        self._batch.calls["slots"], self._batch.calls["phase"] = self._packets, ARRIVALS
        self._advance()
        played = self._batch.played()
        kept = {name: getattr(played, name)[:, : self._packets] for name in ("emitted_us", "flushed", "played_us")}
        # The loop notes the first arrival of what came by a copy or an earlier frame.
        first_us = played.arrived_us[0, : self._packets]
        first_us = np.where(first_us == LOST, self.own_us, first_us)
        return Played(played.packet_us, self._path[None], first_us[None], **kept, totals=played.totals, windows=played.windows)

    def repaired(self, played: Played) -> Repaired:
        """Return how many packets of the finished call were lost, and how they were repaired."""
        return repaired(self.own_us, self._copy_us, played.arrived_us[0], played.played_us[0])


@kernel
def _push(calls, packet, kind, path, arrived_us, age):
    """Put what was sent `age` slots after slot `packet` in flight, by `kind`; return False if its delay is beyond the calendar."""
    return push(calls[0].in_flight, packet, kind, path, arrived_us - (packet + age) * SLOT_US, age)


@kernel
def _command(calls, level_us, at_us):
    """Put a command to the receiver in its ring."""
    command(calls[0].to_receiver, level_us, at_us)


def repaired(own_us: NDArray[np.int64], copy_us: NDArray[np.int64], first_us: NDArray[np.int64], played_us: NDArray[np.int64]) -> Repaired:
    """Return what was lost and repaired in a call; arrays are (packets,), and LOST stands for none.

    Args:
        own_us: arrival of the packet's own transmission.
        copy_us: that of its first copy.
        first_us: the first arrival of either, or of its frame in a later packet.
        played_us: tick at which it was played.
    """
    lost = own_us == LOST
    came, is_played, is_copy = lost & (first_us != LOST), played_us >= 0, first_us == copy_us
    chosen = (lost, came & is_played & is_copy, came & is_played & ~is_copy, came & ~is_played)
    return Repaired(*(int(np.count_nonzero(one)) for one in chosen))
