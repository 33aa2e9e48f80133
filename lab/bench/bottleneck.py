"""Packets per second through one bottleneck: a single flow, and four flows (two CUBIC).

Also simulated seconds per second of five media flows: case 5.5 of RFC 8867, all with GCC as in libwebrtc.
"""

from collections.abc import Iterator

import numpy as np

from lab.bench.measure import Effort, Measurement, rate
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.envs.call.sender.batch import SendingBatch, Worlds
from vcgym.network.bottleneck.capacity.capacity import constant
from vcgym.network.bottleneck.cross_traffic import allocate_dumbbell, run_flows, start_flows
from vcgym.network.bottleneck.flow import Tcp, Udp, describe_flow
from vcgym.network.bottleneck.queue import require_limits, start_link
from vcgym.network.scenarios.bottleneck.rmcat import CASES, case_link, traces_of

RATE_BPS = 100_000_000
LIMIT = 200  # packets
SIZE_BYTES = 1500
SECONDS = 100.0
LOAD = 1.05  # relative to the capacity, so that the queue is full and drops packets

FLOWS = {
    "one_flow_queue": (Udp(LOAD * RATE_BPS, SIZE_BYTES),),
    "four_flows_cubic": (Tcp("cubic"), Tcp("cubic"), Tcp("reno"), Udp(0.1 * RATE_BPS, SIZE_BYTES, on_s=1.0, off_s=1.0)),
}


def flows(name: str, effort: Effort) -> Iterator[Measurement]:
    """Yield the packets per second, acknowledgements included, of the flows of one `name` in `FLOWS` through a full queue."""
    which, until_us = FLOWS[name], round(effort.part(1000) * SECONDS * 1e3)
    dumbbell = allocate_dumbbell([constant(RATE_BPS)], 1, len(which))

    def run() -> None:
        start_link(dumbbell.queue, dumbbell.capacity, 0, *require_limits(LIMIT))
        for f, flow in enumerate(which):
            dumbbell.flows.flow[0, f] = describe_flow(flow)
        start_flows(dumbbell, 0, np.uint64(1))
        run_flows(dumbbell, 0, until_us)

    run()
    yield rate(name, "packets/s/core", int(dumbbell.flows.flow["sent"].sum()), run, effort)


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
