"""Topologies by name: the dumbbell of Celerity's section 6.1, and random networks with bottlenecks in the core or at the edge."""

import numpy as np

from vcgym.conference.network.topology import PhysicalLink, Topology, both_ways
from vcgym.network.kernels import rng
from vcgym.network.kernels.ranges import one_of

BOTTLENECK_KBPS = 480.0
AMPLE_KBPS = 10_000.0
WHERE = ("core", "edge")


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
