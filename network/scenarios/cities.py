"""Conference networks over measured cities: routers in cities with data centres, with delays of half the measured round trip.

Capacities are declared: bottleneck links have 100 to 500 kbps per party, other links ten times that.
"""

from collections.abc import Iterator

import numpy as np

from vcgym.network.kernels import rng
from vcgym.network.overlay.topologies import WHERE
from vcgym.network.overlay.topology import PhysicalLink, Topology, both_ways
from vcgym.network.worlds.world_links import DATA_CENTRES, load_sample

FOUR_SITES = ("LosAngeles", "Toronto", "London", "HongKong")
_CORE_KBPS = 20_000.0
_LAST_MILE_MS = (1.0, 5.0)
_KBPS_PER_PARTY = (100.0, 500.0)
_AMPLE = 10.0


def cities_card() -> str:
    """Return the SHA-256 of the measured delays."""
    return load_sample().card


def one_way_ms(one: str, other: str) -> float:
    """Return half of the measured base round-trip time between two cities."""
    links = load_sample()
    return round(float(links.links["base_ms"][links.row[one, other]]) / 2.0, 1)


def city_topology(seed: int, parties: int, where: str) -> Topology:
    """Return parties at three to six cities, each city connected to the two nearest earlier ones.

    Args:
        seed: seed of all draws.
        parties: number of parties, 3 to 12; the first two are never in the same city.
        where: location of the bottlenecks, "core": between cities, or "edge": at the parties' access.
    """
    uniform = _uniforms(seed)
    cities = list(DATA_CENTRES)
    routers = tuple(cities.pop(int(next(uniform) * len(cities))) for _ in range(3 + int(4 * next(uniform))))
    core, edge = (1.0, _AMPLE) if where == WHERE[0] else (_AMPLE, 1.0)
    links: list[PhysicalLink] = []
    for i, city in enumerate(routers):
        for near in sorted(routers[:i], key=lambda other: one_way_ms(city, other))[:2]:
            links += both_ways(city, near, _kbps(uniform, core * parties), one_way_ms(city, near))
    names = tuple(f"P{i}" for i in range(parties))
    for i, name in enumerate(names):
        home = routers[i if i < 2 else int(next(uniform) * len(routers))]
        links += _access(name, home, uniform, edge * parties)
    return Topology(names, routers, tuple(links))


def four_sites(seed: int) -> Topology:
    """Return one party in each of `FOUR_SITES`, fully connected by 20 Mbit/s, with access links of 0.5 to 1.5 Mbit/s each way."""
    uniform = _uniforms(seed)
    names = tuple(f"P{i}" for i in range(len(FOUR_SITES)))
    pairs = [(one, other) for i, other in enumerate(FOUR_SITES) for one in FOUR_SITES[:i]]
    core = [link for pair in pairs for link in both_ways(*pair, _CORE_KBPS, one_way_ms(*pair))]
    access = [link for name, city in zip(names, FOUR_SITES, strict=True) for link in _access(name, city, uniform, 1.0, (500.0, 1500.0))]
    return Topology(names, FOUR_SITES, (*core, *access))


def _uniforms(seed: int) -> Iterator[float]:
    key = np.uint64(rng.stream_key(np.uint64(seed), 2, rng.SCENARIO))
    return (float(rng.uniform(key, n)) for n in range(1 << 20))


def _kbps(uniform: Iterator[float], factor: float, between: tuple[float, float] = _KBPS_PER_PARTY) -> float:
    low, high = between
    return round(factor * (low + (high - low) * next(uniform)))


def _access(
    party: str, city: str, uniform: Iterator[float], factor: float, between: tuple[float, float] = _KBPS_PER_PARTY
) -> list[PhysicalLink]:  # fmt: skip
    low, high = _LAST_MILE_MS
    way_ms = round(low + (high - low) * next(uniform), 1)
    ends = (party, city), (city, party)
    return [PhysicalLink(*pair, _kbps(uniform, factor, between), way_ms) for pair in ends]
