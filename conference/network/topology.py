"""The physical network of a conference: parties, routers and directed links, and the overlay links above them; the dumbbell, random ones.

An overlay link connects an ordered pair of parties over the underlay path with the smallest propagation delay; ties are broken by the
number of links, then by the alphabetical order of names. A party is an end host: no underlay path passes through it. The underlay does not
route around a link that is down, so pairs whose path crosses it cannot reach each other until it is up again.
"""

import heapq
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels import rng
from vcgym.network.kernels.ranges import one_of, require_within

NO_LINK = -1
MAX_PARTIES = 128
BOTTLENECK_KBPS = 480.0
AMPLE_KBPS = 10_000.0
WHERE = ("core", "edge")


class PhysicalLink(NamedTuple):
    """Directed link between two nodes, after a drop-tail queue of `queue_packets`, including the packet in service."""

    tail: str
    head: str
    capacity_kbps: float
    propagation_ms: float = 0.0
    queue_packets: int = 50

    @property
    def name(self) -> str:
        """Return the name of the link for tables and errors."""
        return f"{self.tail}->{self.head}"


class Topology(NamedTuple):
    """Parties of a conference, routers, and directed links between them."""

    parties: tuple[str, ...]
    routers: tuple[str, ...]
    links: tuple[PhysicalLink, ...]


class Overlay(NamedTuple):
    """A topology as arrays: P parties, L physical links, H links on the longest path."""

    capacity_kbps: NDArray[np.float64]  # (L,)
    propagation_us: NDArray[np.int64]  # (L,) int64
    queue_packets: NDArray[np.int64]  # (L,) int64
    # (P, P, H), physical links of each overlay link in order, padded with NO_LINK; all NO_LINK for a missing link
    paths: NDArray[np.int64]
    delay_ms: NDArray[np.float64]  # (P, P), propagation delay of each overlay link; infinite for a missing link

    @property
    def parties(self) -> int:
        """Return the number of parties."""
        return len(self.paths)

    def crossings(self) -> NDArray[np.float64]:
        """Return the (L, P, P) matrix `a[l, i, j]`: 1.0 where the overlay link from i to j crosses physical link l."""
        crossed = self.paths[None] == np.arange(len(self.capacity_kbps))[:, None, None, None]
        return crossed.any(axis=3).astype(np.float64)


def both_ways(
    one: str, other: str, capacity_kbps: float, propagation_ms: float = 0.0, queue_packets: int = 50
) -> tuple[PhysicalLink, PhysicalLink]:  # fmt: skip
    """Return a link and its reverse."""
    return (
        PhysicalLink(one, other, capacity_kbps, propagation_ms, queue_packets),
        PhysicalLink(other, one, capacity_kbps, propagation_ms, queue_packets),
    )


def require_topology(topology: Topology) -> None:
    """Check a topology.

    Raises:
        ValueError: fewer than two parties, a duplicate node, a link from a node to itself, to an unknown node, given twice, or with a
            number out of range; or two parties that cannot reach each other.
    """
    nodes = (*topology.parties, *topology.routers)
    if not 2 <= len(topology.parties) <= MAX_PARTIES:
        raise ValueError(f"Topology.parties has {len(topology.parties)} names; allowed are 2 to {MAX_PARTIES}")
    for node in nodes:
        if nodes.count(node) > 1:
            raise ValueError(f"node {node!r} occurs {nodes.count(node)} times in Topology.parties and routers; allowed is once")
    ends = [link[:2] for link in topology.links]
    for link in topology.links:
        for node in link[:2]:
            if node not in nodes:
                raise ValueError(f"link {link.name} of Topology: no node is named {node!r}; allowed: {', '.join(nodes)[:200]}")
        if link.tail == link.head:
            raise ValueError(f"link {link.name} of Topology leads from {link.tail!r} to itself; allowed are two different nodes")
        if ends.count(link[:2]) > 1:
            raise ValueError(f"link {link.name} occurs {ends.count(link[:2])} times in Topology.links; allowed is once")
        try:
            require_within(link, capacity_kbps=(1.0, 1e7), propagation_ms=(0.0, 10e3), queue_packets=(1, 8192))
        except ValueError as error:
            raise ValueError(f"link {link.name} of Topology: {error}") from None
    for one in topology.parties:
        reached = _paths_from(topology, one)
        for other in topology.parties:
            if other not in reached:
                raise ValueError(f"Topology has no path from party {one!r} to party {other!r}; allowed: all reach each other")


def overlay(topology: Topology, down: Iterable[tuple[str, str]] = ()) -> Overlay:
    """Return the overlay of a topology while the links `down`, given by tail and head, carry nothing.

    Raises:
        ValueError: an invalid topology, or an unknown link.
    """
    require_topology(topology)
    numbers = {link[:2]: i for i, link in enumerate(topology.links)}
    for ends in down:
        if ends not in numbers:
            raise ValueError(f"link {ends[0]}->{ends[1]} is down but not in Topology.links; allowed are its links")
    dead = {numbers[ends] for ends in down}
    routes = [_paths_from(topology, party) for party in topology.parties]
    propagation_us = np.array([round(link.propagation_ms * 1000.0) for link in topology.links], np.int64)
    parties = len(topology.parties)
    paths = np.full((parties, parties, max(len(path) for route in routes for path in route.values())), NO_LINK, np.int64)
    delay_ms = np.full((parties, parties), math.inf)
    for i, route in enumerate(routes):
        for j, party in enumerate(topology.parties):
            path = [numbers[ends] for ends in route[party]]
            if i != j and not dead & set(path):
                paths[i, j, : len(path)] = path
                delay_ms[i, j] = propagation_us[path].sum() / 1000.0
    capacity_kbps = np.array([link.capacity_kbps for link in topology.links], np.float64)
    queue_packets = np.array([link.queue_packets for link in topology.links], np.int64)
    return Overlay(capacity_kbps, propagation_us, queue_packets, paths, delay_ms)


def _paths_from(topology: Topology, party: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the path from a party to each reachable node, by Dijkstra's algorithm."""
    leaving: dict[str, list[PhysicalLink]] = {}
    for link in topology.links:
        leaving.setdefault(link.tail, []).append(link)
    waiting: list[tuple[int, int, tuple[tuple[str, str], ...], str]] = [(0, 0, (), party)]
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    while waiting:
        delay_us, hops, path, node = heapq.heappop(waiting)
        if node in found:
            continue
        found[node] = path
        if node != party and node in topology.parties:
            continue
        for link in leaving.get(node, ()):
            heapq.heappush(waiting, (delay_us + round(link.propagation_ms * 1000.0), hops + 1, (*path, link[:2]), link.head))
    return found


def dumbbell(bottleneck_kbps: float = BOTTLENECK_KBPS, backward_kbps: float | None = None) -> Topology:
    """Return a dumbbell: A and B at router E, C and D at router F, one link each way between the routers.

    Access links and the local links A-B and C-D are not bottlenecks, and A reaches B even if the link from A to E is cut (our assumption:
    the paper's cut isolates A from C and D only).

    Args:
        bottleneck_kbps: capacity from E to F.
        backward_kbps: capacity from F to E; None: the same.
    """
    ample = [("A", "E"), ("B", "E"), ("C", "F"), ("D", "F"), ("A", "B"), ("C", "D")]
    return Topology(
        ("A", "B", "C", "D"),
        ("E", "F"),
        (
            *(link for ends in ample for link in both_ways(*ends, AMPLE_KBPS)),
            PhysicalLink("E", "F", bottleneck_kbps),
            PhysicalLink("F", "E", bottleneck_kbps if backward_kbps is None else backward_kbps),
        ),
    )


def random_topology(seed: int, parties: int, where: str = "core") -> Topology:
    """Return a topology of `parties` parties at a ring of routers with chords.

    Core links have 100 to 500 kbps per party and 5 to 40 ms, access links ten times that and 1 to 5 ms; with `where` "edge" access links
    have 100 to 500 kbps per party and core links ten times that.

    Args:
        seed: seed of all draws.
        parties: number of parties, 3 to 12.
        where: location of the bottlenecks, one of WHERE.
    """
    one_of("where", where, WHERE)
    if not 3 <= parties <= 12:
        raise ValueError(f"parties = {parties} of a random topology; allowed is 3 to 12")
    draws = iter(range(1 << 20))
    key = np.uint64(rng.stream_key(np.uint64(seed), WHERE.index(where), rng.SCENARIO))

    def between(low: float, high: float) -> float:
        return low + (high - low) * float(rng.uniform(key, next(draws)))

    core, edge = (parties, 10.0 * parties) if where == "core" else (10.0 * parties, parties)
    names = tuple(f"P{i}" for i in range(parties))
    routers = tuple(f"R{i}" for i in range(3 + int(between(0.0, 4.0))))
    ends = [(router, routers[(i + 1) % len(routers)]) for i, router in enumerate(routers)]
    chords = [(i, j) for j in range(2, len(routers)) for i in range(j - 1) if (i, j) != (0, len(routers) - 1)]
    ends += [(routers[i], routers[j]) for i, j in chords if between(0.0, 1.0) < 0.3]
    links = [both_ways(*pair, round(core * between(100.0, 500.0)), round(between(5.0, 40.0), 1)) for pair in ends]
    for i, name in enumerate(names):
        home = routers[i if i < 2 else int(between(0.0, len(routers)))]  # the first two are never at the same router
        up, _ = both_ways(name, home, round(edge * between(100.0, 500.0)), round(between(1.0, 5.0), 1))
        links.append((up, PhysicalLink(home, name, round(edge * between(100.0, 500.0)), up.propagation_ms)))
    return Topology(names, routers, tuple(link for pair in links for link in pair))
