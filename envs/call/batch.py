"""A batch of calls: worlds, sessions and controllers, stepped together."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import CONTROLS, Control
from vcgym.baselines.from_agent import AGENT, REMOTE, origin_of
from vcgym.baselines.protection.several import at_budget
from vcgym.baselines.rule import allocate, for_kernels, for_packets, start_row
from vcgym.envs.call.counters import WINDOW_TICKS, PacketLog, Totals, totals_of
from vcgym.envs.call.loop import play
from vcgym.envs.call.paths.feed import COMMANDS_UNDER_WAY, RECORDS
from vcgym.envs.call.paths.protecting import ProtectedCall, Protecting, start_protection
from vcgym.envs.call.paths.receiving import Receiving
from vcgym.envs.call.paths.routing import Routing
from vcgym.envs.call.paths.state import ANSWER, Calls, CallState, LongFrames, PathTables, ShortFrames
from vcgym.envs.call.sender.no_uplink import NO_UPLINK, SenderStages
from vcgym.envs.call.shards import Shards
from vcgym.envs.call.stages import BLOCK, DECIDE, DONE, RING_FULL, Stages
from vcgym.network.kernels import rng
from vcgym.network.kernels.ranges import one_of
from vcgym.network.kernels.record import plain, records
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.in_flight import NODES, SLOTS
from vcgym.network.playout.player import allocate_player, start_player
from vcgym.network.playout.receiver import START_LEVEL_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import World, WorldDraw

MAX_BUDGET = 100.0  # more bytes than all rules together ask for
FRAMES_MS = (10, 20, 40)  # durations of the frame of a packet
LOCATIONS = {"sender": 0.0, "central": 0.5, "receiver": 1.0}  # relative position between sender and receiver
_NOT_LOGGED = records(PacketLog, 1)


@dataclass(frozen=True)
class Played:
    """Finished calls, packet by packet: S sessions, N packets; packet k was sent at ``k * packet_us``.

    Attributes:
        packet_us: packet interval.
        path: int16 (S, N).
        arrived_us: int64 (S, N), first arrival, of a copy or by repair too; -1 if it never arrived.
        emitted_us: int64 (S, N), -1 if the receiver never emitted it.
        flushed: bool (S, N), emitted only by the flush at the end, excluded from the delay statistics.
        played_us: int64 (S, N), tick of its first 10 ms that were played, -1 if none was.
        totals: see `Totals`.
        windows: int64 (S, W, 3): per 10 s of playout: ticks, concealed ticks, sum of the offset in us.
        protection: (S,) of ProtectionCounts; None in calls without protection.
    """

    packet_us: int
    path: NDArray[np.int16]
    arrived_us: NDArray[np.int64]
    emitted_us: NDArray[np.int64]
    flushed: NDArray[np.bool_]
    played_us: NDArray[np.int64]
    totals: Totals
    windows: NDArray[np.int64]
    protection: NDArray[np.void] | None = None


class ThreadedBatch(ABC):
    """Sessions played together, distributed over threads.

    Attributes:
        why: int64 (sessions,), reason for each session's last stop, see `vcgym.envs.call.stages`; DONE before its start.

    Args:
        sessions: number of sessions, >= 1.
        threads: number of threads; the result does not depend on it.
    """

    def __init__(self, sessions: int, threads: int) -> None:
        for name, value, high in (("sessions", sessions, 1 << 20), ("threads", threads, 256)):
            if not 1 <= value <= high:
                raise ValueError(f"{name} = {value}: allowed is 1 to {high}")
        self.sessions, self.threads = sessions, threads
        self.shards = Shards(sessions, threads)
        self.why = np.full(sessions, DONE)

    def play(self, rows: NDArray[np.int64]) -> None:
        """Play each of `rows` to its next decision or its end; afterwards `why[row]` is DECIDE or DONE.

        Raises:
            OverflowError: a ring of a session is full.
        """
        self.shards.each(self.advance, rows)

    @abstractmethod
    def advance(self, rows: NDArray[np.int64]) -> None:
        """Play as `play` does, entirely on the calling thread.

        Raises:
            OverflowError: a ring of a session is full.
        """


class Batch(ThreadedBatch):
    """Calls played together by the compiled loop."""

    @property
    @abstractmethod
    def stages(self) -> Stages:
        """Stages for the loop."""

    @abstractmethod
    def load(self, rows: NDArray[np.int64]) -> None:
        """Load the next block of the world in each of `rows`."""

    def advance(self, rows: NDArray[np.int64]) -> None:
        rows = self.play_loaded(rows)
        while len(rows):
            self.load(rows)
            rows = self.play_loaded(rows)

    def play_loaded(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Play each of `rows` as far as its world is loaded; return the rows that need the next block.

        Raises:
            OverflowError: a ring of a session is full.
        """
        worst = play(self.stages, rows)
        if worst == DECIDE:
            return rows[:0]
        why = self.why[rows]
        if worst == RING_FULL:
            raise OverflowError(
                f"session {int(rows[why == RING_FULL][0])}: more data is in flight than the rings hold "
                f"({NODES} packets, {RECORDS} records, {COMMANDS_UNDER_WAY} commands)"
            )
        return rows[why == BLOCK]


class CallBatch(Batch):
    """Calls of one scenario, each on its own world, with the same controllers.

    Args:
        scenario: source of the worlds.
        sessions: number of calls played in parallel, >= 1.
        path: parameters of a rule for the path, or the placeholder of an agent (`vcgym.baselines.from_agent`).
        playout: parameters of a rule for playout, or the placeholder of an agent at the receiver or of a remote one.
        location: location of the path's controller: sender, central or receiver. Let c be the mean delay of the direct path in the
            history. Feedback takes the part of c between the receiver and that location, a command to the sender takes the rest, a
            command to the receiver as long as feedback.
        feedback_loss: share of media records that never reach that location, 0 <= share < 1; probe replies are not lost.
        probe_rate: probes per second on each idle path, >= 0; at most one probe leaves per slot, so many paths are probed less often.
        log: keep per-packet outcomes for `played`.
        threads: number of threads.
        world: world with `sessions` rows, sampled beforehand or shared with other batches; None: the batch makes its own.
        uplink: sender stages before the paths.
        interval: slots between decisions of an agent at the path's location.
        protection: parameters of a rule for protection, or the placeholder of a remote agent; None: packets leave unprotected.
        budget: of protection, share of the plain bytes that may go beyond them, at least 0.
        frame_ms: duration of the frame of a packet, one of FRAMES_MS; a packet leaves when its frame is complete. 10 with an uplink.
    """

    def __init__(
        self,
        scenario: Scenario,
        sessions: int,
        path: NamedTuple,
        playout: NamedTuple,
        *,
        location: str = "central",
        feedback_loss: float = 0.0,
        probe_rate: float = 1.0,
        log: bool = False,
        threads: int = 1,
        world: World | None = None,
        uplink: SenderStages = NO_UPLINK,
        interval: int = 1,
        protection: Any = None,
        budget: float = MAX_BUDGET,
        frame_ms: int = FRAMES_MS[0],
    ) -> None:
        one_of("location", location, tuple(LOCATIONS))
        super().__init__(sessions, threads)
        if not 0 <= probe_rate <= 100:
            raise ValueError(f"probe_rate = {probe_rate}: allowed is 0 to 100")
        if not 0.0 <= feedback_loss < 1.0:
            raise ValueError(f"feedback_loss = {feedback_loss}: allowed is 0 <= share < 1")
        if not 0.0 <= budget <= MAX_BUDGET:
            raise ValueError(f"budget = {budget}: allowed is 0 to {MAX_BUDGET:g}")
        if protection is not None and (uplink is not NO_UPLINK or origin_of(playout) == AGENT):
            raise ValueError(f"protection = {protection}: allowed is None in calls with an uplink, or with an agent at the receiver")
        if frame_ms not in FRAMES_MS or (uplink is not NO_UPLINK and frame_ms != FRAMES_MS[0]):
            raise ValueError(f"frame_ms = {frame_ms}: allowed is {', '.join(map(str, FRAMES_MS))}, with an uplink {FRAMES_MS[0]}")
        units = frame_ms // FRAMES_MS[0]
        self._agent_decides = origin_of(path) == AGENT or REMOTE in (origin_of(playout), origin_of(protection))
        for name, slots in (("packets", scenario.packets), ("interval", interval if self._agent_decides else units)):
            if slots % units:
                raise ValueError(f"{name} = {slots}: allowed with frame_ms = {frame_ms} is a multiple of {units}, in slots of 10 ms")
        self.packet_us = units * SLOT_US
        path, playout, protection = (for_packets(rule, float(frame_ms)) for rule in (path, playout, protection))
        self.scenario = scenario
        self.path, self.playout, self.location = for_kernels(path), for_kernels(playout), LOCATIONS[location]
        self.world = scenario.world(sessions) if world is None else world
        self.packets = scenario.packets
        self.new_call = records(CallState, 1)
        self.new_call[0].slots, self.new_call[0].packet_shift = self.packets, FRAMES_MS.index(frame_ms)
        self.new_call[0].interval, self.new_call[0].feedback_loss = interval, feedback_loss
        self.new_call[0].to_receiver.latest = self.new_call[0].to_receiver.in_force = START_LEVEL_US
        self.calls = np.repeat(self.new_call.view(np.ndarray), sessions)
        # Enough windows for a call that ends 30 s late.
        windows = (self.packets + 3000) // WINDOW_TICKS + 1
        tables = PathTables(
            allocate_player(sessions, SLOTS - 1),
            np.zeros((sessions, scenario.paths), np.int64),
            np.zeros((sessions, windows, 3), np.int64),
            records(PacketLog, sessions, self.packets // units if log else 0),
            np.zeros(sessions, ANSWER),
            probe_schedule(scenario.paths, probe_rate),
            ShortFrames() if units == 1 else LongFrames(),
        )
        self.tables: PathTables = plain(tables)
        self.uplink = uplink
        self.budget = budget
        self.protecting: Protecting | None = None
        if protection is not None:
            protection = at_budget(protection, budget)
            rows = records(ProtectedCall, sessions)
            self.protecting = Protecting(for_kernels(protection), allocate(protection, sessions, scenario.paths), rows)
        self.path_state = plain(allocate(path, sessions, scenario.paths))
        self.playout_state = plain(allocate(playout, sessions, scenario.paths))
        self.history = np.zeros((sessions, scenario.paths, 3))
        self.draws: list[WorldDraw | None] = [None] * sessions

    def start(self, row: int, draw: WorldDraw, history: NDArray[np.float64] | None = None) -> None:
        """Start a new call on a sampled world in `row`; give `history` (paths, 3) if that row of a shared world is started already."""
        self.draws[row] = draw
        self.history[row] = self.world.start(row, draw) if history is None else history
        control_us = round(self.history[row, 0, 1] * 1000.0)
        to_sender_us = round(control_us * self.location)
        from_receiver_us = control_us - to_sender_us
        self.uplink.start(row, self.packets, control_us, to_sender_us, float(self.new_call[0].feedback_loss))
        self.calls[row] = self.new_call[0]
        call = self.calls[row]
        call["seed"] = draw.seed
        call["feed"]["delay_us"] = call["to_receiver"]["delay_us"] = from_receiver_us
        call["to_sender"]["delay_us"] = to_sender_us
        tables = self.tables
        tables.last_used[row], tables.windows[row], tables.log[row] = -(1 << 40), 0, _NOT_LOGGED[0]
        # A packet leaves when its last unit is captured.
        start_player(tables.player, row, (1 - self.packet_us // SLOT_US) * SLOT_US, self.packets)
        start_row(self.path, self.path_state, row, self.history[row], self.key(row, Control.PATH))
        start_row(self.playout, self.playout_state, row, self.history[row], self.key(row, Control.PLAYOUT))
        if self.protecting is not None:
            start_protection(self.protecting.rows, row, self.budget, to_sender_us, self._agent_decides, self.packet_us)
            start_row(self.protecting.rule, self.protecting.state, row, self.history[row], self.key(row, Control.PROTECTION))

    def answer(self, decided: Mapping[Control, NDArray[Any]]) -> None:
        """Pass decisions of an agent on, (sessions,) each: paths; lags, targets or headrooms in microseconds; options of protection."""
        for control in decided.keys() & set(ANSWER.names or ()):
            self.tables.answers[control] = decided[control]
        if self.protecting is not None and Control.PROTECTION in decided:
            self.protecting.rows["answer_protection"] = decided[Control.PROTECTION]

    def key(self, row: int, control: Control) -> np.uint64:
        """Return the random key of a control's rule, independent of the world's keys."""
        draw = self.draws[row]
        assert draw is not None
        return np.uint64(rng.stream_key(np.uint64(draw.seed), CONTROLS[control].stream, rng.POLICY))

    @property
    def stages(self) -> Stages:
        calls = Calls(self.calls, self.tables, self.world.loaded)
        routing, receiving = Routing(self.path, self.path_state), Receiving(self.playout, self.playout_state)
        return Stages(self.why, self.protecting or self.uplink.inside, calls, routing, receiving)

    def load(self, rows: NDArray[np.int64]) -> None:
        self.world.fill(rows)
        self.calls["block"][rows] += len(self.world.loaded)

    def totals(self) -> Totals:
        """Return the current totals of all sessions."""
        return totals_of(self.calls["counters"], self.calls["receiver"])

    def played(self) -> Played:
        """Return all sessions packet by packet; needs ``log=True``."""
        log = {name: self.tables.log[name].copy() for name in self.tables.log.dtype.names or ()}
        counts = None if self.protecting is None else self.protecting.rows["counts"].copy()
        return Played(packet_us=self.packet_us, **log, totals=self.totals(), windows=self.tables.windows.copy(), protection=counts)


def probe_schedule(paths: int, rate: float) -> NDArray[np.int64]:
    """Return the path probed in each slot of a period, -1 for none, at `rate` probes per second and path; empty without probes."""
    if rate == 0.0 or paths == 1:
        return np.zeros(0, np.int64)
    period = max(round(1e6 / SLOT_US / rate), paths)
    schedule = np.full(period, -1, np.int64)
    schedule[np.arange(paths) * period // paths] = np.arange(paths)
    return schedule
