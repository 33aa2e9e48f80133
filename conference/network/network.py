"""State of a conference on its network: physical links, sessions and their plans, measurements, messages, cross traffic."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.cross_traffic import CrossTraffic, describe_flows, start_flow
from vcgym.conference.network.links import LINK, NEVER_US, PACKET, Clock, allocate_clock, set_next, stop_clock
from vcgym.conference.network.repairs import NAMES_BYTES, Repairs, allocate_repairs, start_repairs
from vcgym.conference.network.topology import Overlay
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records, restart

MAX_TREES = 64  # per plan
PLANS = 16  # plans kept for packets in flight
KINDS = 2  # kinds of messages
MESSAGES = 8  # messages of one kind in flight from one party to another
PACKET_BYTES = 1446  # 1,400 bytes of media plus Celerity's header
HEADER_BYTES = 46  # Celerity, section 5
CODED_BYTES = PACKET_BYTES + NAMES_BYTES
_SMALL_BYTES = 200  # mean packet size assumed for the capacity of a link's ring


@record
class Session:
    """Source of a session."""

    due_us: float = -1.0  # time of the next copy of a packet
    rate_kbps: float = 0.0
    plan: int = 0  # number of the newest plan
    trees: int = 0  # number of its trees
    number: int = 0  # packets so far
    left: int = 0  # copies of the last packet not yet sent
    children: int = 0  # total copies of the last packet
    head: int = 0  # receiver of the last copy
    tree: int = 0  # tree of the last packet, in ...
    tree_plan: int = 0
    created_us: int = 0


@record
class Measured:
    """Measurements of an overlay link."""

    sent: int = 0  # packets sent on the overlay link so far
    expected: int = 0  # next sequence number at its end
    received: int = 0  # packets since the last measurement
    lost: int = 0
    delay_us: int = 0  # sum
    # Of media that were the first copy, and of messages:
    sampled: NDArray[np.int64] = np.zeros(2, np.int64)  # packets since the last measurement
    excess_us: NDArray[np.int64] = np.zeros(2, np.int64)  # sum of delays above the minimum so far
    min_us: NDArray[np.int64] = np.full(2, NEVER_US)  # minimum delay so far


@record
class Received:
    """Media of a session that a receiver got."""

    packets: int = 0
    delay_us: int = 0  # sum
    late: int = 0  # packets later than the delay bound


LOGGED = np.dtype([("session", "i8"), ("receiver", "i8"), ("number", "i8"), ("created_us", "i8"), ("arrived_us", "i8"), ("tree", "i8")])


_NEW_SESSION, _NO_MEASUREMENTS, _NOTHING_RECEIVED = records(Session, 1), records(Measured, 1), records(Received, 1)


class OverlayNetwork(NamedTuple):
    """Conference of P parties, party m the source of session m, over L physical links with F flows of cross traffic."""

    links: NDArray  # (L,) of LINK
    rings: NDArray  # packets on each link
    clock: Clock  # clock of the streams: links, sessions, flows
    paths: NDArray[np.int64]  # (P, P, H), see `Overlay`
    sessions: NDArray  # (P,) of Session
    trees: NDArray[np.int16]  # (P, PLANS, MAX_TREES, P) parents, by session and plan modulo PLANS
    weights: NDArray[np.float64]  # (P, PLANS, MAX_TREES), shares of a plan's trees
    credits: NDArray[np.float64]  # (P, MAX_TREES): the tree with the highest credit gets the next packet
    measured: NDArray  # (P, P) of Measured, by tail and head
    received: NDArray  # (P, P) of Received, by session and receiver
    known_plans: NDArray[np.int64]  # (P, P), newest plan known to a party, by party and session
    present: NDArray[np.bool_]  # (P,) bool
    flows: NDArray  # (F,) of FLOW
    messages: NDArray[np.float32]  # (KINDS, P, P, MESSAGES, W), content in flight, by sender and receiver
    written: NDArray[np.int64]  # (KINDS, P, P), number of messages sent so far
    inbox: NDArray[np.float32]  # (KINDS, P, P, W), content of the last message, by receiver and sender
    inbox_us: NDArray[np.int64]  # (KINDS, P, P), arrival of that message; -1: none
    log: NDArray  # (capacity,) of LOGGED: each arrival of media at a party
    logged: NDArray[np.int64]  # (1,), number of logged arrivals
    bound_us: NDArray[np.int64]  # (1,), delay above which an arrival counts as late
    repairs: Repairs  # coded local recovery


def allocate_network(
    overlay: Overlay,
    cross: Sequence[tuple[int, CrossTraffic]] = (),
    log: int = 0,
    bound_ms: float = 200.0,
    recovers: bool = False,
) -> OverlayNetwork:
    """Allocate a conference, not yet started.

    Args:
        overlay: overlay with all links up.
        cross: cross traffic: number of the physical link, and flow.
        log: number of arrivals logged.
        bound_ms: delay after creation above which an arrival counts as late.
        recovers: True: with coded local recovery.

    Raises:
        ValueError: a number of a flow is out of range.
    """
    parties, width = overlay.parties, 4 * overlay.parties
    links, flows = np.zeros(len(overlay.capacity_kbps), LINK), describe_flows(cross)
    links["rate_bps"] = np.round(overlay.capacity_kbps * 1000.0)
    links["propagation_us"], links["limit_packets"] = overlay.propagation_us, overlay.queue_packets
    on_the_way = links["rate_bps"] * links["propagation_us"] // (_SMALL_BYTES * 8_000_000)
    sizes = 1 << np.ceil(np.log2(on_the_way + links["limit_packets"] + 64)).astype(np.int64)
    links["mask"], links["first"] = sizes - 1, np.cumsum(sizes) - sizes
    pair, by_kind = (parties, parties), (KINDS, parties, parties)
    return OverlayNetwork(
        links=links,
        rings=np.zeros(sizes.sum(), PACKET),
        clock=allocate_clock(len(links) + parties + len(flows)),
        paths=overlay.paths,
        sessions=records(Session, parties),
        trees=np.zeros((parties, PLANS, MAX_TREES, parties), np.int16),
        weights=np.zeros((parties, PLANS, MAX_TREES)),
        credits=np.zeros((parties, MAX_TREES)),
        measured=records(Measured, *pair),
        received=records(Received, *pair),
        known_plans=np.zeros(pair, np.int64),
        present=np.ones(parties, np.bool_),
        flows=flows,
        messages=np.zeros((*by_kind, MESSAGES, width), np.float32),
        written=np.zeros(by_kind, np.int64),
        inbox=np.zeros((*by_kind, width), np.float32),
        inbox_us=np.zeros(by_kind, np.int64),
        log=np.zeros(log, LOGGED),
        logged=np.zeros(1, np.int64),
        bound_us=np.array([round(bound_ms * 1000.0)]),
        repairs=allocate_repairs(parties if recovers else 0, PLANS),
    )


@kernel
def start_network(net, seed):
    """Empty the network and start at 0; the seed sets the first send time of each source and flow within its packet interval."""
    stop_clock(net.clock)
    for link in net.links:
        link.down = link.used = link.entered = link.left = link.taken = link.bytes = link.dropped = link.cut = 0
        link.free_us = -1
    restart(net.sessions, _NEW_SESSION)
    for m in range(net.sessions.size):
        restart(net.measured[m], _NO_MEASUREMENTS)
        restart(net.received[m], _NOTHING_RECEIVED)
    net.present[:] = True
    net.credits[:] = 0.0
    net.known_plans[:] = net.written[:] = 0
    net.inbox[:] = 0.0
    net.inbox_us[:] = -1
    net.logged[0] = 0
    start_repairs(net.repairs)
    for f in range(net.flows.size):
        start_flow(net, f, seed)


@kernel
def set_plan(net, m, count, rate_kbps, now_us, seed):
    """Put the next plan of a session in force; the caller has filled its trees and weights, in slot (plan + 1) modulo PLANS.

    Args:
        net: Network, updated.
        m: int64, session, 0 to P - 1.
        count: int64, trees of the plan, 0 to MAX_TREES; 0: the source stops.
        rate_kbps: float64, rate of all trees together; 0: the source stops.
        now_us: int64, current time.
        seed: uint64, seed of the world; it sets the first send time after a stop within the packet interval.
    """
    session = net.sessions[m]
    session.plan += 1
    session.trees = count
    net.known_plans[m, m] = session.plan
    net.credits[m, :] = 0.0
    session.rate_kbps = rate_kbps if count > 0 else 0.0
    stream = net.links.size + m
    if session.rate_kbps <= 0.0:
        session.due_us = -1.0
        session.left = 0
        set_next(net.clock, stream, np.int64(NEVER_US))
    # A source that sends already keeps its next send time, so a new plan causes no gap and no burst.
    elif session.due_us < 0.0:
        phase = rng.uniform(rng.stream_key(seed, m, rng.SOURCE), session.plan)
        session.due_us = now_us + phase * PACKET_BYTES * 8e3 / session.rate_kbps
        set_next(net.clock, stream, np.int64(session.due_us))
