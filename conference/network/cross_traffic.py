"""Cross traffic over a physical link, in the same queue as the conference: a constant bit rate, or TCP that always has data.

A TCP connection is that of `vcgym.network.bottleneck.tcp_flow`. A link is first in, first out, so the arrival of a segment is known when
the link takes it, and its acknowledgement returns after a fixed delay plus up to JITTER_US, without a queue, as in
`vcgym.network.bottleneck.cross_traffic`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.clock import NEVER_US, set_next
from vcgym.conference.network.links import CROSS, offer
from vcgym.network.bottleneck.tcp_flow import (
    Connection,
    may_send,
    next_event_us,
    on_event,
    put_under_way,
    start_connection,
    take_next,
)
from vcgym.network.bottleneck.tcp_window import CONTROLS
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import one_of, require_within
from vcgym.network.kernels.record import records

CONSTANT = -1  # control of a flow of constant rate
JITTER_US = 1000.0  # avoids lockstep at a full queue (Floyd and Jacobson 1992)

FLOW = np.dtype(
    (
        np.record,
        [
            ("link", "i8"),
            ("starts_us", "i8"),
            ("stops_us", "i8"),
            ("size_bytes", "i8"),
            ("sent", "i8"),  # packets
            ("gap_us", "f8"),  # of a constant rate
            ("due_us", "f8"),
            ("control", "i8"),  # CONSTANT, or that of a TCP connection
            ("back_us", "i8"),  # delay of acknowledgements
            ("acked_us", "i8"),  # arrival of the last one
            ("key", "u8"),
            ("connection", records(Connection, 0).dtype),
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


class TcpTraffic(NamedTuple):
    """TCP connection over one physical link that always has data.

    Attributes:
        tail, head: ends of the link.
        control: congestion window, a key of `vcgym.network.bottleneck.tcp_window.CONTROLS`.
        back_ms: delay of an acknowledgement after the arrival of its segment, 0.001 to 60,000.
        starts_s, stops_s: interval in which it sends.
        size_bytes: size of a segment, headers included.
    """

    tail: str
    head: str
    control: str = "cubic"
    back_ms: float = 20.0
    starts_s: float = 0.0
    stops_s: float = 1e6
    size_bytes: int = 1500


def describe_flows(cross: Sequence[tuple[int, CrossTraffic | TcpTraffic]]) -> NDArray[np.void]:
    """Return flows, given each with the number of its physical link, as records for kernels, (F,) of FLOW.

    Raises:
        ValueError: a number is out of range, or a control is unknown.
    """
    flows = np.zeros(len(cross), FLOW)
    for flow, (link, which) in zip(flows, cross, strict=True):
        require_within(which, size_bytes=(1, 65535), starts_s=(0.0, 1e9), stops_s=(which.starts_s, 1e9))
        flow["link"], flow["size_bytes"], flow["control"] = link, which.size_bytes, CONSTANT
        flow["starts_us"], flow["stops_us"] = round(which.starts_s * 1e6), round(which.stops_s * 1e6)
        if isinstance(which, TcpTraffic):
            one_of("TcpTraffic.control", which.control, tuple(CONTROLS))
            require_within(which, back_ms=(0.001, 60e3))
            flow["control"], flow["back_us"] = CONTROLS[which.control], round(which.back_ms * 1000.0)
        else:
            require_within(which, rate_kbps=(0.1, 1e6))
            flow["gap_us"] = which.size_bytes * 8e3 / which.rate_kbps
    return flows


@kernel
def start_flow(net, f, seed):
    """Start flow `f`; the seed sets the first send time of a constant rate within its packet interval."""
    flow = net.flows[f]
    flow.sent = flow.acked_us = 0
    flow.key = rng.stream_key(seed, f, rng.CROSS)
    flow.due_us = np.float64(flow.starts_us)
    if flow.control == CONSTANT:
        flow.due_us = flow.starts_us + flow.gap_us * rng.uniform(flow.key, 0)
    else:
        start_connection(flow.connection, net.pipe, 0, f, flow.control)
    set_next(net.clock, net.links.size + net.sessions.size + f, np.int64(flow.due_us))


@kernel
def play_flow(net, scratch, f, now_us):
    """Play the event of flow `f` that is due, and set its next one.

    Args:
        net: Network, updated.
        scratch: (1,) of PACKET, overwritten.
        f: int64, flow, 0 to F - 1.
        now_us: int64, time of the flow's next event.
    """
    flow = net.flows[f]
    if now_us >= flow.stops_us:
        next_us = np.int64(NEVER_US)
    elif flow.control == CONSTANT:
        _send(net, scratch[0], flow, now_us)
        flow.due_us += flow.gap_us
        next_us = np.int64(flow.due_us)
    else:
        next_us = _play_tcp(net, scratch[0], f, flow, now_us)
    set_next(net.clock, net.links.size + net.sessions.size + f, next_us)


@kernel
def _play_tcp(net, packet, f, flow, now_us):
    """Play an acknowledgement or timeout, send what the window allows, and return the time of the next event."""
    if next_event_us(flow.connection, net.pipe, 0, f) <= now_us:
        again = on_event(flow.connection, net.pipe, 0, f, now_us)
        if again >= 0:
            _send_segment(net, packet, f, flow, again, now_us)
    while may_send(flow.connection):
        _send_segment(net, packet, f, flow, take_next(flow.connection), now_us)
    return next_event_us(flow.connection, net.pipe, 0, f)


@kernel
def _send_segment(net, packet, f, flow, segment, now_us):
    acked_us = np.int64(-1)
    if _send(net, packet, flow, now_us):
        link = net.links[flow.link]
        arrives_us = net.rings[link.first + ((link.entered - 1) & link.mask)].arrives_us
        jitter_us = np.int64(JITTER_US * rng.uniform(flow.key, flow.sent))
        acked_us = flow.acked_us = max(arrives_us + flow.back_us + jitter_us, flow.acked_us)
    put_under_way(flow.connection, net.pipe, 0, f, segment, now_us, acked_us)


@kernel
def _send(net, packet, flow, now_us):
    """Offer a packet to the flow's link; return False if it is lost."""
    packet.kind, packet.size_bytes, packet.number, packet.created_us = CROSS, flow.size_bytes, flow.sent, now_us
    flow.sent += 1
    return offer(net.links, net.rings, net.clock, flow.link, now_us, packet)
