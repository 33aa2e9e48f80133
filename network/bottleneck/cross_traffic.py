"""Other flows in the queue of a call: TCP connections (Reno, CUBIC), on-off UDP and other calls, in exact order of time.

A flow is asked for the instant of its next event, and the earliest goes first, of equals the one with the lower number. `run_flows` plays
all events up to an instant; whoever has something to send then offers it to the same queue and asks again later. So the flows of a call
and these make one order of time, and none knows of the others but through the queue. Another call is played elsewhere (other_call.py):
`run_flows` stops when it is its turn.

Ways: sender to bottleneck takes no time; from the bottleneck to the receiver `forward_us`, back to the sender `backward_us`, without a
queue.

The way back takes up to `jitter_us` longer at random, in order: without it packets of several windows meet the full queue in lockstep and
one flow starves (traffic phase effects, Floyd and Jacobson 1992, who advise such a random time).

On-off UDP: while on, packets of equal size evenly spaced at `rate_bps`; on and off times are exponential, and with an off time of 0 it is
on for ever, a constant bit rate; with `spacing` POISSON the gaps are exponential.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.bottleneck.capacity.capacity import Capacity
from vcgym.network.bottleneck.fair_queue import NOTHING, dequeue, enqueue, link_is_busy
from vcgym.network.bottleneck.other_call import OtherCall, require_other_call
from vcgym.network.bottleneck.queue import DROPPED, Queue, offer, serve
from vcgym.network.bottleneck.tcp_flow import (
    CONNECTION,
    NEVER_US,
    Pipe,
    allocate_pipe,
    may_send,
    next_event_us,
    on_event,
    put_in_pipe,
    put_under_way,
    start_anew,
    start_connection,
    take_next,
)
from vcgym.network.bottleneck.tcp_window import CONTROLS
from vcgym.network.bottleneck.wireless import is_lost, pass_outages
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import one_of, require_within

TCP, UDP, CALL = 0, 1, 2
LOST_AT_RANDOM, QUEUED = -2, -3  # beside DROPPED
NOBODY, CAME_OUT = -1, -2
EVEN, POISSON = 0, 1
_FILE_DRAWS = 1 << 40  # the draws of a connection before them are of the way back

FLOW = np.dtype(
    (
        np.record,
        [
            ("kind", "i8"),
            ("starts_us", "i8"),
            ("stops_us", "i8"),
            ("next_us", "i8"),  # of the next event, or NEVER_US
            ("size_bytes", "i8"),  # of a packet, all headers included
            ("forward_us", "i8"),
            ("backward_us", "i8"),
            ("jitter_us", "f8"),
            ("acked_us", "i8"),  # when the last acknowledgement is back
            ("loss", "f8"),  # share lost at random before the queue
            ("gap_us", "f8"),  # UDP: from packet to packet
            ("due_us", "f8"),  # UDP: the next packet
            ("on_until_us", "f8"),
            ("on_us", "f8"),  # UDP: mean
            ("off_us", "f8"),
            ("spacing", "i8"),
            ("draws", "i8"),
            ("file_low", "i8"),  # TCP: segments of a file; 0: there is always data
            ("file_high", "i8"),
            ("until", "i8"),  # TCP: segments before it may be sent
            ("call", "i8"),  # which of the other calls it is
            ("sent", "i8"),
            ("lost", "i8"),
            ("dropped", "i8"),
            ("connection", CONNECTION),
        ],
    )
)


class Flows(NamedTuple):
    """Cross traffic of a batch; first axis the bottleneck."""

    flow: NDArray  # (bottlenecks, flows) of FLOW
    pipe: Pipe
    seed: NDArray[np.uint64]  # (bottlenecks,) of the world


class Dumbbell(NamedTuple):
    """Shared state of a bottleneck and its cross-traffic flows."""

    queue: Queue
    capacity: Capacity
    outages: NDArray  # (bottlenecks,) of OUTAGES
    flows: Flows


class Tcp(NamedTuple):
    """A TCP connection that always has data, from `starts_s` to `stops_s`; or sends files.

    Files have uniformly `file_bytes`, least and largest; after each the connection is idle, exponentially with mean `idle_s`, and starts
    anew.
    """

    control: str = "reno"  # a key of CONTROLS
    size_bytes: int = 1500
    forward_ms: float = 20.0
    backward_ms: float = 20.0
    jitter_ms: float = 1.0
    starts_s: float = 0.0
    stops_s: float = math.inf
    loss: float = 0.0
    file_bytes: tuple[int, int] | None = None
    idle_s: float = 10.0


class Udp(NamedTuple):
    """On-off UDP; `off_s` 0: on for ever."""

    rate_bps: float = 1e6
    size_bytes: int = 1500
    on_s: float = 1.0
    off_s: float = 0.0
    poisson: bool = False
    starts_s: float = 0.0
    stops_s: float = math.inf
    loss: float = 0.0


def allocate_flows(bottlenecks: int, flows: int, connections: bool = True) -> Flows:
    """Allocate up to `flows` flows beside each bottleneck, none started; without `connections` none may be TCP."""
    pipe = allocate_pipe(bottlenecks, flows if connections else 0)
    return Flows(np.zeros((bottlenecks, flows), FLOW), pipe, np.zeros(bottlenecks, np.uint64))


def describe_flow(which: Tcp | Udp | OtherCall) -> NDArray[np.void]:
    """Return the flow as the kernel takes it, () of FLOW.

    Raises:
        ValueError: an unknown control or rule, a number out of range.
    """
    _require(which)
    flow = np.zeros((), FLOW)
    flow["starts_us"] = round(which.starts_s * 1e6)
    flow["stops_us"] = NEVER_US if which.stops_s == math.inf else round(which.stops_s * 1e6)
    flow["loss"] = which.loss
    if isinstance(which, OtherCall):
        flow["kind"] = CALL
        return flow
    flow["size_bytes"] = which.size_bytes
    if isinstance(which, Tcp):
        flow["kind"] = TCP
        flow["forward_us"], flow["backward_us"] = round(which.forward_ms * 1000), round(which.backward_ms * 1000)
        flow["jitter_us"] = which.jitter_ms * 1000
        if which.file_bytes is not None:
            flow["file_low"], flow["file_high"] = (-(-size // which.size_bytes) for size in which.file_bytes)
            flow["off_us"] = which.idle_s * 1e6
        flow["connection"]["window"]["control"] = CONTROLS[which.control]
    else:
        flow["kind"], flow["spacing"] = UDP, POISSON if which.poisson else EVEN
        flow["gap_us"] = which.size_bytes * 8e6 / which.rate_bps
        flow["on_us"], flow["off_us"] = which.on_s * 1e6, which.off_s * 1e6
    return flow


def _require(which: Tcp | Udp | OtherCall) -> None:
    if isinstance(which, OtherCall):
        require_other_call(which)
        return
    require_within(which, size_bytes=(1, 65535), starts_s=(0.0, 1e9), stops_s=(which.starts_s, math.inf), loss=(0.0, 0.999))
    if isinstance(which, Udp):
        require_within(which, rate_bps=(1e3, 1e10), on_s=(1e-3, 1e9), off_s=(0.0, 1e9))
        return
    require_within(which, forward_ms=(0.0, 60e3), backward_ms=(0.0, 60e3), jitter_ms=(0.0, 1e3), idle_s=(0.0, 1e9))
    if which.file_bytes is not None and not 1 <= which.file_bytes[0] <= which.file_bytes[1] <= 1 << 40:
        raise ValueError(f"Tcp.file_bytes is {which.file_bytes}; allowed is 1 <= least <= largest <= {1 << 40}")
    one_of("Tcp.control", which.control, tuple(CONTROLS))
    if which.forward_ms + which.backward_ms <= 0.0:
        raise ValueError("Tcp.forward_ms + Tcp.backward_ms is 0; allowed is a round trip above 0")


@kernel
def start_flows(dumbbell, s, seed):
    """Begin all flows of bottleneck `s`, described already, in world `seed`."""
    flows = dumbbell.flows
    flows.seed[s] = seed
    for f in range(flows.flow.shape[1]):
        flow = flows.flow[s, f]
        flow.next_us = flow.starts_us
        flow.draws = flow.sent = flow.lost = flow.dropped = flow.acked_us = 0
        flow.due_us = 0.0
        if flow.kind == TCP:
            start_connection(flow.connection, flows.pipe, s, f, flow.connection.window.control)
            flow.draws = _FILE_DRAWS
            flow.until = _file_segments(flow, seed, f) if flow.file_high > 0 else np.int64(NEVER_US)
        elif flow.kind == UDP:
            flow.due_us = np.float64(flow.starts_us)
            flow.on_until_us = flow.due_us
            _next_packet(flow, seed, f)


@kernel
def run_flows(dumbbell, s, until_us):
    """Play all events of all flows up to and at `until_us`.

    Returns:
        NOBODY; or the flow whose turn it is where that is a call; or CAME_OUT where a packet of a call has left the fair queue.
    """
    flow, schedule = dumbbell.flows.flow, dumbbell.queue.fair.schedule[s]
    while True:
        earliest, at_us = NOBODY, np.int64(until_us)
        for f in range(flow.shape[1]):
            next_us = flow[s, f].next_us
            if next_us < at_us or (next_us == at_us and earliest < 0):
                earliest, at_us = f, next_us
        if schedule.next_us <= at_us:
            if _let_out(dumbbell, s, schedule.next_us):
                return np.int64(CAME_OUT)
            continue
        if earliest < 0 or flow[s, earliest].kind == CALL:
            return earliest
        if flow[s, earliest].kind == TCP:
            _tcp(dumbbell, s, earliest, at_us)
        else:
            _udp(dumbbell, s, earliest, at_us)


@kernel
def carry(dumbbell, s, flow_number, packet, now_us, size_bytes, loss, number, capable):
    """Send a packet into the bottleneck; return when it comes out behind it, DROPPED by the queue, LOST_AT_RANDOM, or QUEUED.

    Args:
        dumbbell: what is shared.
        s: the bottleneck.
        flow_number: 0 the first call, else one more than the flow's place.
        packet: counted from 0 in the flow.
        now_us: when it comes.
        size_bytes: of it.
        loss: share lost at random before the queue.
        number: to know it by when it leaves the fair queue.
        capable: 1: ECN-capable.
    """
    if is_lost(dumbbell.flows.seed[s], flow_number, packet, loss):
        return np.int64(LOST_AT_RANDOM)
    link = dumbbell.queue.link[s]
    if link.by_events == 1:
        enqueue(dumbbell.queue.fair, s, flow_number, number, size_bytes, capable, now_us, link.limit_packets, link.limit_bytes)
        return np.int64(QUEUED)
    departs_us = offer(dumbbell.queue, dumbbell.capacity, s, now_us, size_bytes)
    if departs_us == DROPPED:
        return departs_us
    return pass_outages(dumbbell.outages[s], departs_us)


@kernel
def calls_wait(dumbbell, s):
    """Return True if a packet of a call waits in the fair queue of bottleneck `s`."""
    flow, queues = dumbbell.flows.flow, dumbbell.queue.fair.flows
    waits = queues[s, 0].waiting > 0
    for f in range(flow.shape[1]):
        waits |= flow[s, f].kind == CALL and queues[s, f + 1].waiting > 0
    return waits


@kernel
def _let_out(dumbbell, s, now_us):
    """Put the next packet of the fair queue on the link; return True if it is of a call, whose account is not kept here."""
    fair = dumbbell.queue.fair
    place = dequeue(fair, s, now_us)
    if place == NOTHING:
        return False
    packet, schedule = fair.packets[s, place], fair.schedule[s]
    departs_us = serve(dumbbell.queue.link[s], dumbbell.capacity, s, packet.entered_us, np.int64(packet.size_bytes))
    link_is_busy(fair, s, departs_us)
    schedule.out_place, schedule.out_us = place, pass_outages(dumbbell.outages[s], departs_us)
    f = np.int64(packet.flow) - 1
    if f < 0 or dumbbell.flows.flow[s, f].kind == CALL:
        return True
    if dumbbell.flows.flow[s, f].kind == TCP:
        _segment_out(dumbbell, s, f, packet, schedule.out_us)
    return False


@kernel
def _carry(dumbbell, s, f, flow, now_us, number):
    out_us = carry(dumbbell, s, f + 1, flow.sent, now_us, flow.size_bytes, flow.loss, number, 0)
    flow.sent += 1
    flow.dropped += out_us == DROPPED
    flow.lost += out_us == LOST_AT_RANDOM
    return out_us


@kernel
def _tcp(dumbbell, s, f, now_us):
    flow, pipe = dumbbell.flows.flow[s, f], dumbbell.flows.pipe
    connection = flow.connection
    if now_us >= flow.stops_us:
        flow.next_us = NEVER_US
        return
    if next_event_us(connection, pipe, s, f) <= now_us:
        again = on_event(connection, pipe, s, f, now_us)
        if again >= 0:
            _segment(dumbbell, s, f, flow, pipe, again, now_us)
    if connection.first_missing == flow.until:
        _next_file(dumbbell, s, f, flow, now_us)
    if now_us >= flow.due_us:
        while connection.next_segment < flow.until and may_send(connection):
            _segment(dumbbell, s, f, flow, pipe, take_next(connection), now_us)
        flow.next_us = next_event_us(connection, pipe, s, f)
    else:
        flow.next_us = min(next_event_us(connection, pipe, s, f), np.int64(flow.due_us))


@kernel
def _next_file(dumbbell, s, f, flow, now_us):
    """Begin to be idle before the next file, which a connection of its own sends; its segments are numbered on."""
    seed = dumbbell.flows.seed[s]
    flow.due_us = math.floor(now_us + _exponential(flow, seed, f, flow.off_us))
    flow.until += _file_segments(flow, seed, f)
    start_anew(flow.connection)


@kernel
def _file_segments(flow, seed, f):
    flow.draws += 1
    uniform = rng.uniform(rng.stream_key(seed, f, rng.CROSS), flow.draws)
    return flow.file_low + np.int64((flow.file_high - flow.file_low + 1) * uniform)


@kernel
def _segment(dumbbell, s, f, flow, pipe, segment, now_us):
    again = segment < flow.connection.highest
    out_us = _carry(dumbbell, s, f, flow, now_us, 2 * segment + again)
    acked_us = _acked_us(dumbbell, s, f, flow, flow.sent, out_us) if out_us >= 0 else np.int64(-1)
    put_under_way(flow.connection, pipe, s, f, segment, now_us, acked_us)


@kernel
def _acked_us(dumbbell, s, f, flow, number, out_us):
    """Return when the acknowledgement of a segment is back that is behind the bottleneck at `out_us`."""
    jitter_us = flow.jitter_us * rng.uniform(rng.stream_key(dumbbell.flows.seed[s], f, rng.CROSS), number)
    flow.acked_us = max(out_us + flow.forward_us + flow.backward_us + np.int64(jitter_us), flow.acked_us)
    return flow.acked_us


@kernel
def _segment_out(dumbbell, s, f, packet, out_us):
    """Let a segment out of the fair queue, with its number as `_segment` gave it."""
    flow, pipe = dumbbell.flows.flow[s, f], dumbbell.flows.pipe
    connection = flow.connection
    acked_us = _acked_us(dumbbell, s, f, flow, connection.written, out_us)
    put_in_pipe(connection, pipe, s, f, packet.number // 2, packet.entered_us, acked_us, packet.number % 2)
    flow.next_us = next_event_us(connection, pipe, s, f)


@kernel
def _udp(dumbbell, s, f, now_us):
    flow = dumbbell.flows.flow[s, f]
    if now_us >= flow.stops_us:
        flow.next_us = NEVER_US
        return
    _carry(dumbbell, s, f, flow, now_us, 0)
    _next_packet(flow, dumbbell.flows.seed[s], f)


@kernel
def _exponential(flow, seed, f, mean):
    flow.draws += 1
    return -mean * math.log(1.0 - rng.uniform(rng.stream_key(seed, f, rng.CROSS), flow.draws))


@kernel
def _next_packet(flow, seed, f):
    """Set the instant of the next packet, on from `due_us`; in off times none is sent."""
    if flow.sent > 0:
        flow.due_us += _exponential(flow, seed, f, flow.gap_us) if flow.spacing == POISSON else flow.gap_us
    while flow.off_us > 0.0 and flow.due_us >= flow.on_until_us:
        flow.due_us = flow.on_until_us + (_exponential(flow, seed, f, flow.off_us) if flow.draws > 0 else 0.0)
        flow.on_until_us = flow.due_us + _exponential(flow, seed, f, flow.on_us)
    flow.next_us = np.int64(flow.due_us)
