"""Other flows in the queue of a call: TCP connections (Reno, CUBIC), on-off UDP and other calls, in exact order of time.

Each flow has a next event; the earliest is played first, ties by the lower flow number. `run_flows` plays all events up to an instant, and
the call then offers its own packets to the same queue. So all flows share one order of events and interact only through the queue. Other
calls are played elsewhere (other_call.py): `run_flows` stops at their turn.
Delays: zero from sender to bottleneck, `forward_us` from the bottleneck to the receiver, `backward_us` back to the sender, without a
queue. The backward delay has a random addition of up to `jitter_us`, without reordering. Without it, packets of several windows meet the
full queue in lockstep and one flow starves (traffic phase effects, Floyd and Jacobson 1992, who recommend such a random delay).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.bottleneck.capacity.capacity import Capacity, CapacityTrace, pool
from vcgym.network.bottleneck.fair_queue import NOTHING, dequeue, enqueue, link_is_busy
from vcgym.network.bottleneck.flow import CALL, POISSON, TCP, UDP, Flow
from vcgym.network.bottleneck.impairments import Outages, delay_at, is_lost, pass_conditions, pass_outages, with_loss_at
from vcgym.network.bottleneck.queue import DROPPED, Queue, allocate_queue, offer, serve
from vcgym.network.bottleneck.tcp_flow import (
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
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import records

CARRIED, OVERFLOWED, LOST_AT_RANDOM, QUEUED = 0, 1, 2, 3  # what became of a packet
NOBODY, DEPARTED = -1, -2
_FILE_DRAWS = 1 << 40  # a connection's draws below this are for the backward delay


class Flows(NamedTuple):
    """Cross traffic of a batch; first axis: bottleneck."""

    flow: NDArray  # (bottlenecks, flows) of Flow
    pipe: Pipe
    seed: NDArray[np.uint64]  # (bottlenecks,), seed of the world


class Dumbbell(NamedTuple):
    """Shared state of a bottleneck and its cross-traffic flows."""

    queue: Queue
    capacity: Capacity
    outages: NDArray  # (bottlenecks,) of Outages
    flows: Flows


def allocate_dumbbell(traces: Sequence[CapacityTrace], bottlenecks: int, flows: int) -> Dumbbell:
    """Allocate bottlenecks over some of the traces, with up to `flows` flows each beside the call's, none started."""
    crossing = Flows(records(Flow, bottlenecks, flows), allocate_pipe(bottlenecks, flows), np.zeros(bottlenecks, np.uint64))
    return Dumbbell(allocate_queue(bottlenecks, 1 + flows), pool(traces, bottlenecks), records(Outages, bottlenecks), crossing)


@kernel
def start_flows(dumbbell, s, seed):
    """Start all flows of bottleneck `s`, which are already described, in world `seed`."""
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
    """Play all events of all flows up to and including `until_us`.

    Returns:
        NOBODY; the flow number of another call at its turn; or DEPARTED when a packet of a call has left the fair queue.
    """
    if dumbbell.queue.link[s].by_events == 1:  # two loops: that of the drop-tail queue costs 4 % more with the code of the other in it
        return _run_flows(dumbbell, s, until_us, True)
    return _run_flows(dumbbell, s, until_us, False)


@kernel
def _run_flows(dumbbell, s, until_us, by_events):
    flow, schedule = dumbbell.flows.flow, dumbbell.queue.fair.schedule[s]
    while True:
        earliest, at_us = NOBODY, np.int64(until_us)
        for f in range(flow.shape[1]):
            next_us = flow[s, f].next_us
            if next_us < at_us or (next_us == at_us and earliest < 0):
                earliest, at_us = f, next_us
        # The link takes its packet before arrivals of the same instant, because that makes room for them.
        if by_events and schedule.next_us <= at_us:
            if _let_out(dumbbell, s, schedule.next_us):
                return np.int64(DEPARTED)
            continue
        if earliest < 0 or flow[s, earliest].kind == CALL:
            return earliest
        if flow[s, earliest].kind == TCP:
            _tcp(dumbbell, s, earliest, at_us, by_events)
        else:
            _udp(dumbbell, s, earliest, at_us, by_events)


@kernel
def carry(dumbbell, s, flow_number, packet, now_us, size_bytes, loss, number, capable):
    """Send a packet into the bottleneck, where it arrives at `now_us`.

    `flow_number` is 0 for the first call, else the flow's index plus one; `packet` its number in the flow, from 0; `loss` the probability
    of random loss before the queue; `number` identifies it when it leaves the fair queue; `capable` 1: it is ECN-capable.

    Returns:
        What became of it: CARRIED, OVERFLOWED, LOST_AT_RANDOM or, in the fair queue, QUEUED; and when a carried one has left the bottleneck
        and its outages, int64 microseconds.
    """
    by_events = dumbbell.queue.link[s].by_events == 1
    return _carry_known(dumbbell, s, flow_number, packet, now_us, size_bytes, loss, number, capable, by_events)


@kernel
def _carry_known(dumbbell, s, flow_number, packet, now_us, size_bytes, loss, number, capable, by_events):
    if is_lost(dumbbell.flows.seed[s], flow_number, packet, with_loss_at(dumbbell.capacity, s, now_us, loss)):
        return LOST_AT_RANDOM, now_us
    if by_events:
        link = dumbbell.queue.link[s]
        enqueue(dumbbell.queue.fair, s, flow_number, number, size_bytes, capable, now_us, link.limit_packets, link.limit_bytes)
        return QUEUED, now_us
    departs_us = offer(dumbbell.queue, dumbbell.capacity, s, now_us, size_bytes)
    if departs_us == DROPPED:
        return OVERFLOWED, now_us
    return CARRIED, _behind(dumbbell, s, departs_us)


@kernel
def _behind(dumbbell, s, departs_us):
    """Return when a packet that leaves the queue has the link and the last hop behind it, without the constant delay."""
    passed_us = pass_conditions(dumbbell.queue.link[s], dumbbell.capacity, s, dumbbell.flows.seed[s], departs_us)
    return pass_outages(dumbbell.outages[s], passed_us)


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
    """Put the next packet of the fair queue on the link; return True if it belongs to a call, which the caller must then update."""
    fair = dumbbell.queue.fair
    index = dequeue(fair, s, now_us)
    if index == NOTHING:
        return False
    packet, schedule = fair.packets[s, index], fair.schedule[s]
    departs_us = serve(dumbbell.queue.link[s], dumbbell.capacity, s, packet.entered_us, np.int64(packet.size_bytes))
    link_is_busy(fair, s, departs_us)
    schedule.out_index, schedule.out_us = index, _behind(dumbbell, s, departs_us)
    f = np.int64(packet.flow) - 1
    if f < 0 or dumbbell.flows.flow[s, f].kind == CALL:
        return True
    if dumbbell.flows.flow[s, f].kind == TCP:
        _segment_out(dumbbell, s, f, packet, schedule.out_us)
    return False


@kernel
def _carry(dumbbell, s, f, flow, now_us, number, by_events):
    outcome, out_us = _carry_known(dumbbell, s, f + 1, flow.sent, now_us, flow.size_bytes, flow.loss, number, 0, by_events)
    flow.sent += 1
    flow.dropped += outcome == OVERFLOWED
    flow.lost += outcome == LOST_AT_RANDOM
    return outcome, out_us


@kernel
def _tcp(dumbbell, s, f, now_us, by_events):
    flow, pipe = dumbbell.flows.flow[s, f], dumbbell.flows.pipe
    connection = flow.connection
    if now_us >= flow.stops_us:
        flow.next_us = NEVER_US
        return
    if next_event_us(connection, pipe, s, f) <= now_us:
        again = on_event(connection, pipe, s, f, now_us)
        if again >= 0:
            _segment(dumbbell, s, f, flow, pipe, again, now_us, by_events)
    # Everything of this file is acknowledged; without files `until` is never reached.
    if connection.first_missing == flow.until:
        _next_file(dumbbell, s, f, flow, now_us)
    if now_us >= flow.due_us:
        while connection.next_segment < flow.until and may_send(connection):
            _segment(dumbbell, s, f, flow, pipe, take_next(connection), now_us, by_events)
        flow.next_us = next_event_us(connection, pipe, s, f)
    else:
        flow.next_us = min(next_event_us(connection, pipe, s, f), np.int64(flow.due_us))


@kernel
def _next_file(dumbbell, s, f, flow, now_us):
    """Start the idle time before the next file, which a new connection sends; segment numbers continue."""
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
def _segment(dumbbell, s, f, flow, pipe, segment, now_us, by_events):
    again = segment < flow.connection.highest
    # The number tells `_segment_out` the segment, and whether it was sent before, when it leaves the fair queue.
    outcome, out_us = _carry(dumbbell, s, f, flow, now_us, 2 * segment + again, by_events)
    acked_us = _acked_us(dumbbell, s, f, flow, flow.sent, out_us) if outcome == CARRIED else np.int64(-1)
    put_under_way(flow.connection, pipe, s, f, segment, now_us, acked_us)


@kernel
def _acked_us(dumbbell, s, f, flow, number, out_us):
    """Return the arrival of the acknowledgement of a segment that leaves the bottleneck at `out_us`."""
    jitter_us = flow.jitter_us * rng.uniform(rng.stream_key(dumbbell.flows.seed[s], f, rng.CROSS), number)
    back_us = flow.backward_us + delay_at(dumbbell.capacity, s, out_us)
    flow.acked_us = max(out_us + flow.forward_us + back_us + np.int64(jitter_us), flow.acked_us)
    return flow.acked_us


@kernel
def _segment_out(dumbbell, s, f, packet, out_us):
    """Process a segment that leaves the fair queue, with the number set by `_segment`."""
    flow, pipe = dumbbell.flows.flow[s, f], dumbbell.flows.pipe
    connection = flow.connection
    acked_us = _acked_us(dumbbell, s, f, flow, connection.written, out_us)
    put_in_pipe(connection, pipe, s, f, packet.number // 2, packet.entered_us, acked_us, packet.number % 2)
    flow.next_us = next_event_us(connection, pipe, s, f)


@kernel
def _udp(dumbbell, s, f, now_us, by_events):
    flow = dumbbell.flows.flow[s, f]
    if now_us >= flow.stops_us:
        flow.next_us = NEVER_US
        return
    _carry(dumbbell, s, f, flow, now_us, 0, by_events)
    _next_packet(flow, dumbbell.flows.seed[s], f)


@kernel
def _exponential(flow, seed, f, mean):
    flow.draws += 1
    return -mean * math.log(1.0 - rng.uniform(rng.stream_key(seed, f, rng.CROSS), flow.draws))


@kernel
def _next_packet(flow, seed, f):
    """Set the time of the next packet after `due_us`; none is sent in off times."""
    if flow.sent > 0:
        flow.due_us += _exponential(flow, seed, f, flow.gap_us) if flow.spacing == POISSON else flow.gap_us
    while flow.off_us > 0.0 and flow.due_us >= flow.on_until_us:
        flow.due_us = flow.on_until_us + (_exponential(flow, seed, f, flow.off_us) if flow.draws > 0 else 0.0)
        flow.on_until_us = flow.due_us + _exponential(flow, seed, f, flow.on_us)
    flow.next_us = np.int64(flow.due_us)
