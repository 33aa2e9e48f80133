"""Packets per second through one bottleneck: a single flow, four flows (two CUBIC), and the same single flow in plain Python.

Also simulated seconds per second of five media flows: case 5.5 of RFC 8867, all with GCC as in libwebrtc.

Plain Python is an event-driven simulator as in papers that learn congestion control (PCC-RL, Jay et al., ICML 2019): a heap, two events
per packet, and a queue modelled as a delay. It gives the same departures and drops as the compiled queue, as a test asserts.
"""

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from lab.bench.measure import Effort, Measurement, Run, median_ratio, rate
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.envs.call.sender.batch import SendingBatch, Worlds
from vcgym.network.bottleneck.capacity.capacity import constant
from vcgym.network.bottleneck.cross_traffic import allocate_dumbbell, run_flows, start_flows
from vcgym.network.bottleneck.flow import Tcp, Udp, describe_flow
from vcgym.network.bottleneck.queue import require_limits, start_link
from vcgym.network.scenarios.bottleneck.rmcat import CASES, case_link, traces_of

SEND, ACKNOWLEDGED = 0, 1


@dataclass
class PlainLink:
    """Drop-tail queue before a link of constant rate; the packet in service counts."""

    rate_bps: int
    limit_packets: int
    free_at_us: float = 0.0
    leaves_us: deque[float] = field(default_factory=deque)

    def offer(self, now_us: float, size_bytes: int) -> float | None:
        """Return the departure time of a packet, or None if the queue is full."""
        while self.leaves_us and self.leaves_us[0] <= now_us:
            self.leaves_us.popleft()
        if len(self.leaves_us) >= self.limit_packets:
            return None
        self.free_at_us = max(self.free_at_us, now_us) + size_bytes * 8e6 / self.rate_bps
        self.leaves_us.append(self.free_at_us)
        return self.free_at_us


@dataclass
class Flow:
    """Evenly spaced packets of equal size, and their outcomes."""

    gap_us: float
    size_bytes: int
    way_us: float
    sent: int = 0
    dropped: int = 0
    departed_us: list[float] = field(default_factory=list)
    rtt_sum_us: float = 0.0


def simulate(link: PlainLink, flow: Flow, packets: int) -> Flow:
    """Simulate until all packets are sent and acknowledged."""
    events = [(0.0, SEND, 0.0)]
    while events:
        now_us, kind, sent_us = heapq.heappop(events)
        if kind == ACKNOWLEDGED:
            flow.rtt_sum_us += now_us - sent_us
            continue
        leaves_us = link.offer(now_us, flow.size_bytes)
        if leaves_us is None:
            flow.dropped += 1
        else:
            flow.departed_us.append(leaves_us)
            heapq.heappush(events, (leaves_us + flow.way_us, ACKNOWLEDGED, now_us))
        flow.sent += 1
        if flow.sent < packets:
            heapq.heappush(events, (now_us + flow.gap_us, SEND, 0.0))
    return flow


RATE_BPS = 100_000_000
LIMIT = 200  # packets
SIZE_BYTES = 1500
SECONDS = 100.0
PYTHON_SECONDS = 5.0
LOAD = 1.05  # relative to the capacity, so that the queue is full and drops packets

ONE_FLOW = (Udp(LOAD * RATE_BPS, SIZE_BYTES),)
FOUR_FLOWS = (Tcp("cubic"), Tcp("cubic"), Tcp("reno"), Udp(0.1 * RATE_BPS, SIZE_BYTES, on_s=1.0, off_s=1.0))


def one_flow_queue(effort: Effort) -> Iterator[Measurement]:
    """Yield the packets per second of a constant-bit-rate flow through a full queue."""
    packets, run = flows(ONE_FLOW, effort.part(1000) / 1000.0 * SECONDS)
    yield rate("one_flow_queue", "packets/s/core", packets, run, effort)


def four_flows_cubic(effort: Effort) -> Iterator[Measurement]:
    """Yield the packets per second, acknowledgements included, of two CUBIC flows, a Reno flow and on-off UDP."""
    packets, run = flows(FOUR_FLOWS, effort.part(1000) / 1000.0 * SECONDS)
    yield rate("four_flows_cubic", "packets/s/core", packets, run, effort)


def python_event_simulator(effort: Effort) -> Iterator[Measurement]:
    """Yield the packets per second of the single flow in an event-driven simulator in plain Python."""
    packets, run = in_python(effort)
    yield rate("python_event_simulator", "packets/s/core", packets, run, effort)


def over_python(effort: Effort) -> Iterator[Measurement]:
    """Yield the ratio of the cost per packet in plain Python to that in the compiled loop."""
    yield median_ratio("one_flow_queue_over_python", in_python(effort), flows(ONE_FLOW, effort.part(1000) / 1000.0 * SECONDS), effort)


def rmcat_five_flows(effort: Effort) -> Iterator[Measurement]:
    """Yield the simulated seconds per second of case 5.5 of RFC 8867, 300 s with five flows."""
    case = CASES["5.5"]
    traces = traces_of("5.5", case)
    link = case_link("5.5", 1, case, traces)
    link = link._replace(seconds=effort.part(1000) / 1000.0 * link.seconds)
    batch = SendingBatch(1, GccWebrtc(), Fifo(), Worlds.of(link))

    def run() -> None:
        batch.start(0, link)
        batch.play(np.arange(1))

    yield rate("rmcat_five_flows", "simulated s/s/core", link.seconds, run, effort)


def flows(which: Sequence[Tcp | Udp], seconds: float) -> tuple[int, Run]:
    """Return the number of packets sent in `seconds`, and a function that sends them."""
    dumbbell = allocate_dumbbell([constant(RATE_BPS)], 1, len(which))
    limits, until_us = require_limits(LIMIT), round(seconds * 1e6)

    def run() -> None:
        start_link(dumbbell.queue, dumbbell.capacity, 0, *limits)
        for f, flow in enumerate(which):
            dumbbell.flows.flow[0, f] = describe_flow(flow)
        start_flows(dumbbell, 0, np.uint64(1))
        run_flows(dumbbell, 0, until_us)

    run()
    return int(dumbbell.flows.flow["sent"].sum()), run


def in_python(effort: Effort) -> tuple[int, Run]:
    """Return the packets of the single flow and a function that sends them in the plain Python simulator."""
    packets = round(effort.part(1000) / 1000.0 * PYTHON_SECONDS * LOAD * RATE_BPS / (8 * SIZE_BYTES))

    def run() -> None:
        simulate(PlainLink(RATE_BPS, LIMIT), Flow(SIZE_BYTES * 8e6 / (LOAD * RATE_BPS), SIZE_BYTES, 40_000.0), packets)

    return packets, run
