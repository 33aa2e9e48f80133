"""Cross traffic over a physical link, in the same queue as the conference: packets at a constant bit rate."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.links import CROSS, NEVER_US, offer, set_next
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

FLOW = np.dtype(
    (
        np.record,
        [
            ("link", "i8"),
            ("starts_us", "i8"),
            ("stops_us", "i8"),
            ("size_bytes", "i8"),
            ("sent", "i8"),  # packets
            ("gap_us", "f8"),
            ("due_us", "f8"),
        ],
    )
)


class CrossTraffic(NamedTuple):
    """Constant-bit-rate flow over one physical link."""

    tail: str
    head: str
    rate_kbps: float
    starts_s: float = 0.0
    stops_s: float = 1e6
    size_bytes: int = 1000


def describe_flows(cross: Sequence[tuple[int, CrossTraffic]]) -> NDArray[np.void]:
    """Return flows, given each with the number of its physical link, as records for kernels, (F,) of FLOW.

    Raises:
        ValueError: a number is out of range.
    """
    flows = np.zeros(len(cross), FLOW)
    for flow, (link, which) in zip(flows, cross, strict=True):
        require_within(which, size_bytes=(1, 65535), starts_s=(0.0, 1e9), stops_s=(which.starts_s, 1e9), rate_kbps=(0.1, 1e6))
        flow["link"], flow["size_bytes"], flow["gap_us"] = link, which.size_bytes, which.size_bytes * 8e3 / which.rate_kbps
        flow["starts_us"], flow["stops_us"] = round(which.starts_s * 1e6), round(which.stops_s * 1e6)
    return flows


@kernel
def start_flow(net, f, seed):
    """Start flow `f`; the seed sets the first send time within its packet interval."""
    flow = net.flows[f]
    flow.sent = 0
    flow.due_us = flow.starts_us + flow.gap_us * rng.uniform(rng.stream_key(seed, f, rng.CROSS), 0)
    set_next(net.clock, net.links.size + net.sessions.size + f, np.int64(flow.due_us))


@kernel
def play_flow(net, scratch, f, now_us):
    """Send the packet of flow `f` that is due, and set its next one.

    Args:
        net: Network, updated.
        scratch: (1,) of PACKET, overwritten.
        f: int64, flow, 0 to F - 1.
        now_us: int64, time of the flow's next event.
    """
    flow, packet, next_us = net.flows[f], scratch[0], np.int64(NEVER_US)
    if now_us < flow.stops_us:
        packet.kind, packet.size_bytes, packet.number, packet.created_us = CROSS, flow.size_bytes, flow.sent, now_us
        flow.sent += 1
        offer(net.links, net.rings, net.clock, flow.link, now_us, packet)
        flow.due_us += flow.gap_us
        next_us = np.int64(flow.due_us)
    set_next(net.clock, net.links.size + net.sessions.size + f, next_us)
