"""Streams of a conference as calls: what each listener hears of a session, through the receiver, player and E-model of calls over paths.

Audio is captured in slots of 10 ms; a slot leaves with its session's next packet. So a slot's delay ends where that packet arrives, and a
source that is silent makes its slots wait. A listener hears calls of half a minute, one after the other, each with a player of its own, so
that silence costs the calls it falls into.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.adaptive_ewma import AdaptiveEwma
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.counters import ratings_of
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.worlds.world import World, WorldDraw

RECEIVER = AdaptiveEwma()
"""Receiver of every listener, with its published constants."""
MAX_WAIT_US = 2_000_000
"""A slot that is not there by then is lost."""
CALL_SLOTS = 3000
"""Length of a call; the first one begins after as many slots, and those before a call are the history that its receiver starts on."""


class _Rows(NamedTuple):
    block: NDArray[np.int64]
    stream: NDArray[np.int64]
    first: NDArray[np.int64]


class StreamWorld(World):
    """Delays of the slots of given streams, (streams, slots) int64 in us or LOST. Packets of one stream may overtake each other."""

    def __init__(self, sessions: int, delay_us: NDArray[np.int64]) -> None:
        super().__init__(sessions, 1)
        self._given_us = delay_us
        self.rows = _Rows(*np.zeros((3, sessions), np.int64))

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Take the parameters: the number of the stream and its slot in which the call begins."""
        self.rows.stream[row], self.rows.first[row] = draw.parameters["stream"], draw.parameters["first"]

    def fill(self, which: NDArray[np.int64]) -> None:
        """Load the next block of each row in `which`; past the end of a stream nothing arrives."""
        for row in which:
            first = self.rows.first[row] + self.rows.block[row] * BLOCK_SLOTS
            given = self._given_us[self.rows.stream[row], first : first + BLOCK_SLOTS]
            self.delay_us[row, 0] = LOST
            self.delay_us[row, 0, : len(given)] = given
            self.rows.block[row] += 1


class Streams(Recipe):
    """Streams as a scenario of one path; a pair is a call: stream and number."""

    modes = ("replay",)

    def __init__(self, settings: WorldSettings, delay_us: NDArray[np.int64]) -> None:
        self.strata = {"heard": 1.0}
        self.layout = Layout(("tree",), np.zeros((0, 3), np.int64), "")
        self._delay_us = delay_us

    def pairs(self, split: str) -> list[str]:
        """Return the calls."""
        streams, slots = self._delay_us.shape
        return [f"{stream}-{call}" for stream in range(streams) for call in range(slots // CALL_SLOTS - 1)]

    def world(self, sessions: int) -> World:
        """Return an empty world for a batch of sessions."""
        return StreamWorld(sessions, self._delay_us)

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        """Return the stream and the first slot of a call."""
        stream, call = map(int, pair.split("-"))
        return {"stream": stream, "first": (1 + call) * CALL_SLOTS}


def ratings(log: NDArray[np.void], emitted: NDArray[np.int64], seconds: float) -> NDArray[np.float64]:
    """Return R of each listener, (P, P) by session and receiver, mean over its calls; NaN on the diagonal.

    Args:
        log: all arrivals of media, of `vcgym.conference.network.network.LOGGED`.
        emitted: (P,) packets of each session.
        seconds: length of the conference, at least two calls.

    Raises:
        ValueError: a conference that is too short.
    """
    parties, slots = len(emitted), int(seconds * 1e6) // SLOT_US
    if slots < 2 * CALL_SLOTS:
        raise ValueError(f"seconds = {seconds} of a conference with listeners; allowed: {2 * CALL_SLOTS * SLOT_US / 1e6:g} or more")
    listeners = [(m, j) for m in range(parties) for j in range(parties) if j != m]
    delay_us = np.array([slot_delays(log[log["session"] == m], j, int(emitted[m]), slots) for m, j in listeners])
    scenario = Scenario(partial(Streams, delay_us=delay_us), "replay", CALL_SLOTS)
    calls = scenario.pairs("validation")
    batch = CallBatch(scenario, len(calls), Direct(), RECEIVER, probe_rate=0.0)
    for row, call in enumerate(calls):
        batch.start(row, scenario.draw("validation", row, call))
    batch.play(np.arange(len(calls)))
    found = np.full((parties, parties), np.nan)
    found[tuple(np.transpose(listeners))] = ratings_of(batch.totals()).reshape(len(listeners), -1).mean(axis=1)
    return found


def slot_delays(log: NDArray[np.void], receiver: int, emitted: int, slots: int) -> NDArray[np.int64]:
    """Return the delay in us of each slot of a session at a receiver, (slots,), or LOST.

    Args:
        log: arrivals of the session.
        receiver: receiving party.
        emitted: number of packets of the session.
        slots: number of slots of 10 ms.
    """
    created_us, arrived_us = np.full(emitted, -1, np.int64), np.full(emitted + 1, -1, np.int64)
    created_us[log["number"]] = log["created_us"]
    received = log[log["receiver"] == receiver]
    arrived_us[received["number"]] = received["arrived_us"]
    known = np.flatnonzero(created_us >= 0)  # a packet that nobody received was created between its neighbours
    times_us = np.interp(np.arange(emitted), known, created_us[known]) if len(known) else np.zeros(0)
    captured_us = np.arange(slots) * SLOT_US
    carrier = np.searchsorted(times_us, captured_us + SLOT_US)
    delay_us = arrived_us[carrier] - captured_us
    return np.where((arrived_us[carrier] < 0) | (delay_us > MAX_WAIT_US), LOST, delay_us)
