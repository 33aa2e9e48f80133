"""A batch of calls over shared bottlenecks, one each: worlds, senders and controllers, stepped together."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import PACING
from vcgym.baselines.from_agent import FromAgent
from vcgym.baselines.order.scheduler import scheduler_of
from vcgym.baselines.rule import Control, allocate, for_kernels, is_oracle, require_rule
from vcgym.envs.call.batch import Batch
from vcgym.envs.call.sender.events import Sender
from vcgym.envs.call.sender.in_flight import NO_QUEUE, allocate_departures, allocate_flight
from vcgym.envs.call.sender.other_calls import OtherCalls, allocate_others, begin_others, link_of
from vcgym.envs.call.sender.state import LOGGED, SenderState, SenderTables, begin_rule, begin_sender, init_rule, rule_key
from vcgym.envs.call.stages import Stages
from vcgym.network.bottleneck.capacity.capacity import CapacityTrace, choose_trace
from vcgym.network.bottleneck.cross_traffic import allocate_dumbbell, start_flows
from vcgym.network.bottleneck.flow import CALL, TCP, Flow, describe_flow
from vcgym.network.bottleneck.impairments import start_outages
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.queue import MAX_QUEUED, require_limits, start_link
from vcgym.network.bottleneck.shared_link import Reverse, Second, SharedLink, require_link, start_discipline, traffic_bytes
from vcgym.network.bottleneck.sources import Series
from vcgym.network.kernels.record import plain, records
from vcgym.network.scenarios.bottleneck.recipe import BottleneckRecipe, rates_of

T = TypeVar("T")


class SendingTotals(NamedTuple):
    """Totals of packets by media, video 0, audio 1; arrays (sessions, 2)."""

    created: NDArray[np.int64]
    rejected: NDArray[np.int64]
    discarded: NDArray[np.int64]
    sent: NDArray[np.int64]
    delivered: NDArray[np.int64]
    on_time: NDArray[np.int64]
    lost: NDArray[np.int64]
    bytes_delivered: NDArray[np.int64]
    delay_us: NDArray[np.int64]


class PlayedFlow(NamedTuple):
    """Media flow of a session: its world, log and totals in its own time, which starts at `starts_s` of the session."""

    link: SharedLink
    log: NDArray[np.void]  # of LOGGED
    totals: SendingTotals
    row: int  # in the totals
    targets_bps: NDArray[np.float64]  # of each second; empty for another call
    starts_s: float
    backwards: bool


class Worlds(NamedTuple):
    """Upper limits of the worlds of a batch, which has room for them."""

    traces: Sequence[CapacityTrace]  # every capacity trace that a world may have
    flows: int = 0  # other flows in a call's world
    calls: int = 0  # other calls among them
    series: Sequence[Series] = ()  # every series of frame sizes that a world may have
    rates: Sequence[Any] = ()  # rate rules of other calls that have no name
    seconds: float = 600.0  # length of the longest call
    same: bool = False  # the other calls use rate rule, scheduler and pacing of the first call (SAME); otherwise they select rules by name
    reverse: bool = False  # there is a bottleneck in the reverse direction
    second: bool = False  # there is a second bottleneck

    @classmethod
    def of(cls, *links: SharedLink) -> Self:
        """Return what the given worlds have."""
        others = [[flow for flow in link.flows if isinstance(flow, OtherCall)] for link in links]
        calls = [call for of_link in others for call in of_link]
        traces = [part.trace for link in links for part in (link, link.reverse, link.second) if part is not None]
        videos = [*(link.video for link in links), *(call.video for call in calls)]
        return cls(
            traces=_each_once(traces),
            flows=max(len(link.flows) for link in links),
            calls=max(map(len, others)),
            series=_each_once(video for video in videos if isinstance(video, Series)),
            rates=_each_once(call.rate for call in calls if not isinstance(call.rate, str)),
            seconds=max(link.seconds for link in links),
            same=any(isinstance(call.rate, str) and call.rate == SAME for call in calls),
            reverse=any(link.reverse is not None for link in links),
            second=any(link.second is not None for link in links),
        )


def _each_once(those: Iterable[T]) -> list[T]:
    return list({id(one): one for one in those}.values())


def worlds_of(scenario: BottleneckRecipe, seconds: float | None = None) -> Worlds:
    """Return what the worlds of a scenario have, with its longest calls or those of a given length."""
    longest_s = scenario.seconds if seconds is None else seconds
    return Worlds(scenario.traces, scenario.flows, scenario.calls, scenario.series, rates_of(scenario), longest_s)


class SendingBatch(Batch):
    """Calls over bottlenecks, each on its own world, with the same controllers.

    Args:
        sessions: number of sessions, >= 1.
        rate: a rate rule, or `FromAgent`.
        order: a scheduler, `FromAgent`, or parameters from which `scheduler_of` makes the scheduler of each session.
        worlds: what the worlds have at most.
        pacing: pacing factor relative to the target, or BY_PACKET.
        log_packets: number of packets of each call kept for `log`.
        threads: number of threads; the result does not depend on it.
        beside: rate rule of the other calls of worlds with `same`; None: that of the first call.
        followed_by_paths: paths follow the bottleneck (vcgym.envs.call.sender.uplink), so a call is played slot by slot.
    """

    decides_for_all: ClassVar[bool] = False
    """Agents decide for the other calls too."""

    def __init__(
        self,
        sessions: int,
        rate: Any,
        order: Any,
        worlds: Worlds,
        *,
        pacing: float = PACING,
        log_packets: int = 0,
        threads: int = 1,
        beside: Any = None,
        followed_by_paths: bool = False,
    ) -> None:
        differs = type(order) in scheduler_of.versions  # from session to session, by its state
        if not differs and not isinstance(order, FromAgent):
            require_rule("order", order, Control.ORDER)
        super().__init__(sessions, threads)
        traces, flows, calls, same = worlds.traces, worlds.flows, worlds.calls, worlds.same
        bounds = ("flows", flows, 0, 64), ("calls", calls, 0, flows), ("pacing", pacing, 0.0, 1000.0)
        for name, value, low, high in bounds:
            if not low <= value <= high:
                raise ValueError(f"{name} = {value}: allowed is {low:g} to {high:g}")
        beside = rate if beside is None else beside
        if same:
            for name, rule in (("rate", rate), ("beside", beside)):
                if isinstance(rule, FromAgent) and self.decides_for_all:
                    continue
                require_rule(name, rule, Control.RATE)
                if is_oracle(rule):
                    raise ValueError(f"{name} = {rule!r} with same = True: allowed are rules that are no oracles")
            require_rule("order", order, Control.ORDER)
        self.rate, self.order, self.pacing, self.worlds = for_kernels(rate), for_kernels(order), pacing, worlds
        self._place_worlds()
        self.senders = plain(records(SenderState, sessions))
        links = 2 * sessions if worlds.reverse or worlds.second else sessions  # see `further_bottleneck`
        dumbbell = allocate_dumbbell(traces, links, flows)
        frame_bytes = np.concatenate([np.ones(1, np.int64), *(which.sizes_bytes for which in worlds.series)])
        self.tables = SenderTables(
            dumbbell,
            allocate_flight(sessions),
            allocate_departures(sessions if followed_by_paths else 0),
            frame_bytes,
            np.zeros((sessions, log_packets), LOGGED),
            np.zeros((sessions, int(worlds.seconds) + 1)),
            allocate_others(dumbbell, sessions, calls, frame_bytes, log_packets, (beside, order) if same else None, worlds.rates),
        )
        self.rate_state, self.order_state = plain(allocate(rate, sessions, 1)), plain(allocate(order, sessions, 1)) if differs else ()
        self.history = np.zeros((sessions, 1, 3))
        self.links: list[SharedLink | None] = [None] * sessions

    def _place_worlds(self) -> None:
        """Set where traces and series of the worlds are in the tables, by id: those of a copy have others."""
        self.traces = {id(trace): index for index, trace in enumerate(self.worlds.traces)}
        firsts = np.cumsum([1, *(len(which.sizes_bytes) for which in self.worlds.series)])
        self.series = {id(which): int(first) for which, first in zip(self.worlds.series, firsts, strict=False)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._place_worlds()

    def start(self, row: int, link: SharedLink) -> None:
        """Start a new call on a sampled world in one row.

        Raises:
            ValueError: the world is invalid, or has another trace or more flows than the batch supports.
        """
        require_link(link)
        dumbbell, others = self.tables.dumbbell, self.tables.others
        described = [describe_flow(flow) for flow in link.flows]
        calls = sum(isinstance(flow, OtherCall) for flow in link.flows)
        if any(isinstance(flow, OtherCall) and (flow.rate == SAME) != self.worlds.same for flow in link.flows):
            raise ValueError(f"{link.name}: rate of an OtherCall is {SAME!r} or not; the batch was made for same = {self.worlds.same}")
        for name, made_for in (("reverse", self.worlds.reverse), ("second", self.worlds.second)):
            if (getattr(link, name) is not None) != made_for:
                raise ValueError(f"{link.name}: {name} = {getattr(link, name)}; the batch was made for {name} = {made_for}")
        if id(link.trace) not in self.traces or len(described) > dumbbell.flows.flow.shape[1] or calls > self.worlds.calls:
            raise ValueError(
                f"{link.name}: trace {link.trace.name} and {len(described)} flows, {calls} of them calls, are not among those the batch "
                "was made for"
            )
        self.links[row] = link
        seed = np.uint64(link.seed)
        choose_trace(dumbbell.capacity, row, self.traces[id(link.trace)], link.start_us)
        start_link(dumbbell.queue, dumbbell.capacity, row, *require_limits(link.queue_packets, link.queue_bytes))
        start_discipline(dumbbell.queue, row, link.discipline)
        start_outages(dumbbell.outages[row], seed, link.works_ms, *map(float, link.outage_ms))
        if link.air is not None:
            for flow in described:
                flow["size_bytes"] = traffic_bytes(link.air, int(flow["size_bytes"]), bool(flow["kind"] == TCP))
        dumbbell.flows.flow[row] = records(Flow, 1)[0]
        for f, flow in enumerate(described):
            dumbbell.flows.flow[row, f] = flow
        start_flows(dumbbell, row, seed)
        back = row if link.air is not None else self._start_further(row, "reverse", link.reverse, seed)
        second = self._start_further(row, "second", link.second, seed)
        if isinstance(others, OtherCalls):
            begin_others(others, row, link, self.pacing, self.series, back, second, self.worlds.rates)
        begin_sender(self.senders, row, link, self.pacing, self.series)
        sender = self.senders[row]
        sender["bottleneck"], sender["reverse"], sender["second"] = row, back, second
        if link.second is not None:
            sender["hop_us"] = round(link.second.hop_ms * 1000)
            sender["forward_us"] -= sender["hop_us"]
        self.tables.targets[row] = 0.0
        begin_rule(self.senders, row, self.rate, self.rate_state, self.history)
        if type(self.order) in scheduler_of.versions:
            init_rule(self.order, self.order_state, row, self.history, self.key(row))

    def further_bottleneck(self, row: int) -> int:
        """Return the index of a row's reverse or second bottleneck, behind the first ones of all rows; a world has one of both at most."""
        return self.sessions + row

    def _start_further(self, row: int, role: str, which: Reverse | Second | None, seed: np.uint64) -> int:
        """Start the reverse or second bottleneck of a row; return its index, or NO_QUEUE."""
        if which is None:
            return NO_QUEUE
        index, dumbbell = self.further_bottleneck(row), self.tables.dumbbell
        if id(which.trace) not in self.traces:
            raise ValueError(f"trace {which.trace.name} of `{role}` is not among those the batch was made for")
        dumbbell.flows.seed[index] = seed
        choose_trace(dumbbell.capacity, index, self.traces[id(which.trace)], 0)
        start_link(dumbbell.queue, dumbbell.capacity, index, *require_limits(MAX_QUEUED, which.queue_bytes))
        return index

    def key(self, row: int) -> np.uint64:
        """Return the random key of the rate's controller, independent of the world's keys."""
        return rule_key(self.senders, row)

    @property
    def stages(self) -> Stages:
        return Stages(self.why, Sender(self.senders, self.tables, self.rate, self.rate_state, self.order, self.order_state))

    def load(self, rows: NDArray[np.int64]) -> None:
        """Do nothing, since there is no world of paths."""

    def totals(self) -> SendingTotals:
        """Current totals of all sessions."""
        return _totals(self.senders)

    def log(self, row: int) -> NDArray[np.void]:
        """Return the logged packets of one call, in order of sending, of LOGGED."""
        return self.tables.log[row, : self.senders["packets"][row]].copy()

    def flows(self, row: int) -> list[PlayedFlow]:
        """Return the media flows of one row, the first call first, without those that end before they start."""
        link, others = self.links[row], self.tables.others
        assert link is not None
        found = [PlayedFlow(link, self.log(row), self.totals(), row, self.tables.targets[row], 0.0, False)]
        calls = [(f, flow) for f, flow in enumerate(link.flows) if isinstance(flow, OtherCall)]
        if calls:
            totals = _totals(others.senders)
        for call, (f, flow) in enumerate(calls):
            flow_link, index = link_of(link, f), row * others.calls + call
            if flow_link is not None:
                log = others.tables.log[index, : others.senders["packets"][index]].copy()
                found.append(PlayedFlow(flow_link, log, totals, index, others.tables.targets[index], flow.starts_s, flow.backwards))
        return found

    def others_bytes(self, row: int) -> list[int]:
        """Return the bytes that each other flow of one row delivered: a call's as received, another's as it left the queue."""
        link, others, found = self.links[row], self.tables.others, list[int]()
        assert link is not None
        delivered = _totals(others.senders).bytes_delivered if isinstance(others, OtherCalls) else np.zeros((0, 2), np.int64)
        for f, flow in enumerate(link.flows):
            of_flow = self.tables.dumbbell.flows.flow[row, f]
            if isinstance(flow, OtherCall):
                found.append(int(delivered[row * self.worlds.calls + sum(isinstance(one, OtherCall) for one in link.flows[:f])].sum()))
            else:
                found.append(int(of_flow["size_bytes"] * (of_flow["sent"] - of_flow["dropped"])))
        return found

    def log_of_other(self, row: int, call: int) -> NDArray[np.void]:
        """Return the same for other call number `call` of one row, in time of the first call.

        Raises:
            ValueError: the call does not exist.
        """
        others = self.tables.others
        present = int(np.count_nonzero(self.tables.dumbbell.flows.flow["kind"][row] == CALL))
        if not 0 <= call < present:
            raise ValueError(f"call = {call} of row {row}: the row has {present} other calls, counted from 0")
        assert isinstance(others, OtherCalls)
        index = row * others.calls + call
        log = others.tables.log[index, : others.senders["packets"][index]].copy()
        for name in ("created_us", "sent_us", "arrived_us"):
            log[name] += np.where(log[name] >= 0, others.senders["begins_us"][index], 0)
        return log


def _totals(senders: NDArray[np.void]) -> SendingTotals:
    return SendingTotals(**{name: senders["counts"][name].copy() for name in SendingTotals._fields})
