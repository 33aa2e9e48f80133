"""Receiver's half of a live call: the compiled loop of the simulator over a world whose packets arrive from outside.

The loop (`vcgym.envs.call.loop`) plays one slot at a time. In its world every packet is lost; a datagram that arrives is put among the
packets in flight with its measured delay. So the receiver's rule, the clocked player and the counters are the simulator's, value for value.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.records import Record
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.envs.call.controllers import Agent
from vcgym.envs.call.counters import Totals
from vcgym.envs.call.paths.feed import RECORDS
from vcgym.envs.call.paths.state import ARRIVALS
from vcgym.live.protocol.session import Session
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.playout.in_flight import SLOTS, push
from vcgym.network.playout.player import NEVER_US
from vcgym.network.scenarios.recipe import Layout, Recipe, Settings
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import World, WorldDraw

DRAIN_SLOTS = 300
"""Slots after the last packet during which packets may still arrive: 3 s."""
_ROW = np.zeros(1, np.int64)


class _Rows(NamedTuple):
    block: NDArray[np.int64]


class _Silent(World):
    """World in which every packet is lost."""

    def __init__(self, sessions: int, paths: int) -> None:
        super().__init__(sessions, paths)
        self.rows = _Rows(np.zeros(sessions, np.int64))
        self.delay_us[:] = LOST

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Do nothing."""

    def fill(self, which: NDArray[np.int64]) -> None:
        """Do nothing; every block is the same."""


class _Outside(Recipe):
    """Recipe of the silent world."""

    modes = ("live",)

    def __init__(self, settings: Settings, paths: int) -> None:
        self.strata = {"live": 1.0}
        self.layout = Layout(tuple(map(str, range(paths))), np.zeros((0, 1), np.int64), "")

    def pairs(self, split: str) -> list[str]:
        """Return the one pair."""
        return ["sender-receiver"]

    def world(self, sessions: int) -> World:
        """Return a silent world."""
        return _Silent(sessions, len(self.layout.path_names))

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        """Return no parameters."""
        return {}


class Listening:
    """State of the receiver of one call.

    Args:
        session: the call.
        receiver: parameters of the receiver's rule.

    Attributes:
        slot: slots played so far.
    """

    def __init__(self, session: Session, receiver: Any) -> None:
        paths, self._packets, self.slot = len(session.media), session.packets, 0
        scenario = Scenario(partial(_Outside, paths=paths), "live", session.packets + DRAIN_SLOTS)
        self._batch = CallBatch(scenario, 1, Agent(), receiver, location="receiver", probe_rate=0.0, log=True)
        self._batch.start(0, WorldDraw("sender-receiver", "live", session.seed, {}), session.known)
        self._batch.tables.player.clock[0].units = session.packets
        _push(self._batch.calls, 0, 0, 0, 1 << 40)  # compiles; so late a packet is ignored
        self._path = np.full(session.packets, -1, np.int16)
        self._arrived_us = np.full(session.packets, LOST, np.int64)

    def arrive(self, kind: int, packet: int, path: int, arrived_us: int) -> None:
        """Take a packet or a probe of slot `packet` that arrived `arrived_us` after the start of slot 0; one 40 s late is ignored."""
        if packet >= self._packets or self.slot - packet >= SLOTS - 1:
            return
        earliest_us = max(self.slot - 1, packet) * SLOT_US + 1  # a slot that was played is closed
        arrived_us = max(arrived_us, earliest_us)
        if _push(self._batch.calls, packet, kind, path, arrived_us) and kind == 0:
            self._path[packet], self._arrived_us[packet] = path, arrived_us

    def play_slot(self) -> list[Record]:
        """Play the next slot: arrivals up to its start, the player's ticks; return the records of what arrived."""
        self._batch.advance(_ROW)
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
        arrived_us = self._arrived_us[first:last]
        there = arrived_us != LOST
        delay_us = (arrived_us - np.arange(first, first + len(arrived_us)) * SLOT_US)[there]
        return (float(delay_us.mean()) / 1000.0 if len(delay_us) else np.nan), (1.0 - float(there.mean()) if len(there) else np.nan)

    def totals(self) -> Totals:
        """Return the totals so far; `plans_sent`, `path_changes` and `probes_sent` are the sender's and are zero."""
        return self._batch.totals()

    def finish(self) -> Played:
        """Play to the end of the stream without further arrivals and return the call packet by packet; path -1: it did not arrive."""
        while self.slot <= self._packets:
            self.play_slot()
        self._batch.calls["packets"], self._batch.calls["phase"] = self._packets, ARRIVALS
        self._batch.advance(_ROW)
        played = self._batch.played()
        kept = {name: getattr(played, name)[:, : self._packets] for name in ("emitted_us", "flushed", "played_us")}
        return Played(played.packet_us, self._path[None], self._arrived_us[None], **kept, totals=played.totals, windows=played.windows)


@kernel
def _push(calls, packet, kind, path, arrived_us):
    """Put a packet (kind 0) or a probe (kind 1) sent in slot `packet` in flight; return False if its delay is beyond the calendar."""
    return push(calls[0].in_flight, packet, kind * SLOTS + (packet & (SLOTS - 1)), path, arrived_us - packet * SLOT_US)
