"""Scenarios of conferences: worlds by name and seed.

    dumbbell       the timeline of Celerity's section 6.1 (`vcgym.conference.network.world.dumbbell_timeline`)
    four-sites     four cities, each party behind its own access of 0.5 to 1.5 Mbit/s; the core is not a bottleneck
    core-N, edge-N parties at cities with data centres, half the measured round trips apart, the bottleneck between cities or at the
                   parties' access; its links have 100 to 500 kbps per party (declared), other links ten times that

In all but the first, cross traffic takes 15 to 40 % of a core link in the second third, and one core link is down in the last third. It
is a link that two-hop trees can avoid; if there is none, all links stay up.
The paper gives neither capacities nor delays of its experiment between four sites; ours are assumptions.
"""

from collections.abc import Iterator

import numpy as np

from vcgym.conference.network.cross_traffic import CrossTraffic
from vcgym.conference.network.topology import WHERE, PhysicalLink, Topology, both_ways, dumbbell, overlay, random_topology
from vcgym.conference.network.world import ConferenceWorld, Outage, dumbbell_timeline
from vcgym.network.kernels import rng
from vcgym.network.kernels.ranges import one_of
from vcgym.network.scenarios.splits import world_seed
from vcgym.network.worlds.links import DATA_CENTRES, load_sample

SCENARIOS = ("dumbbell", "random")
_SIZES = (3, 4, 6, 8, 12)
SECONDS = 180.0
BOUND_MS = 200.0  # Celerity, section 2
KINDS = {
    "dumbbell": "Celerity's experiment: two parties at each of two routers, 480 kbit/s between these",
    "four-sites": "one party each in Los Angeles, Toronto, London and Hong Kong, limited by its own access",
    **{f"core-{parties}": f"{parties} parties, limited by the links between their cities" for parties in _SIZES},
    **{f"edge-{parties}": f"{parties} parties, each limited by its own access" for parties in _SIZES},
}
"""Kind of world -> its words."""

FOUR_SITES = ("LosAngeles", "Toronto", "London", "HongKong")
_CORE_KBPS = 20_000.0
_LAST_MILE_MS = (1.0, 5.0)
_KBPS_PER_PARTY = (100.0, 500.0)
_AMPLE = 10.0


class ConferenceScenario:
    """Worlds of conferences by kind.

    Attributes:
        name: name of the scenario.
        kinds: names of its kinds of world.
        card: SHA-256 of the measured delays between cities.

    Args:
        name: "conference".
    """

    kinds = tuple(KINDS)

    def __init__(self, name: str = "conference") -> None:
        one_of("scenario", name, ("conference",))
        self.name, self.card = name, load_sample().card

    def draw(self, split: str, seed: int, kind: str) -> ConferenceWorld:
        """Sample one world.

        Args:
            split: split of the world; two splits share no draws.
            seed: any integer >= 0.
            kind: one of `kinds`.

        Raises:
            ValueError: an unknown split or kind, or the test split outside the leaderboard.
        """
        one_of(f"kind of scenario {self.name}", kind, self.kinds)
        drawn_seed, _ = world_seed(split, seed, kind=self.kinds.index(kind))
        if kind == "dumbbell":
            return dumbbell_timeline(drawn_seed)
        if kind == "four-sites":
            topology = four_sites(drawn_seed)
        else:
            where, parties = kind.split("-")
            topology = city_topology(drawn_seed, int(parties), where)
        return _eventful(kind, drawn_seed, topology, SECONDS, _avoidable(topology))


def sample_conference(scenario: str, seed: int, parties: int, seconds: float) -> ConferenceWorld:
    """Sample a world of the environment.

    Args:
        scenario: "dumbbell", with 300 to 800 kbps each way, or "random" (`random_topology`), with a bottleneck in the core or at the edge.
        seed: seed of all draws.
        parties: number of parties: 4 for the dumbbell, 3 to 12 for random networks.
        seconds: length of the conference.

    Raises:
        ValueError: an unknown scenario, or a number of parties that it does not support.
    """
    one_of("scenario", scenario, SCENARIOS)
    drawn = _drawn(seed)
    if scenario == "dumbbell":
        if parties != 4:
            raise ValueError(f"parties = {parties} of scenario 'dumbbell'; allowed is 4")
        topology = dumbbell(300.0 + 500.0 * drawn[0], 300.0 + 500.0 * drawn[1])
    else:
        topology = random_topology(seed, parties, WHERE[int(2 * drawn[0])])
    edge = [link for link in topology.links if link.tail in topology.parties and link.head in topology.routers]
    return _eventful(scenario, seed, topology, seconds, edge)


def _drawn(seed: int) -> list[float]:
    key = np.uint64(rng.stream_key(np.uint64(seed), 1, rng.SCENARIO))
    return [float(rng.uniform(key, n)) for n in range(6)]


def _avoidable(topology: Topology) -> list[PhysicalLink]:
    """Return the core links without which all parties still reach each other over at most one relay, within the delay bound."""
    core = [link for link in topology.links if {link.tail, link.head} <= set(topology.routers)]
    found = []
    for link in core:
        delay_ms = overlay(topology, [(link.tail, link.head), (link.head, link.tail)]).delay_ms
        np.fill_diagonal(delay_ms, 0.0)
        nearest_ms = (delay_ms[:, :, None] + delay_ms[None]).min(axis=1)
        if nearest_ms.max() <= BOUND_MS:
            found.append(link)
    return found


def _eventful(name: str, seed: int, topology: Topology, seconds: float, cuts: list[PhysicalLink]) -> ConferenceWorld:
    """Return a world with cross traffic and an outage of one of `cuts` in both directions."""
    drawn = _drawn(seed)
    core = [link for link in topology.links if {link.tail, link.head} <= set(topology.routers)]
    taken = core[int(drawn[2] * len(core))]
    cross = CrossTraffic(taken.tail, taken.head, (0.15 + 0.25 * drawn[4]) * taken.capacity_kbps, seconds / 3.0, 2.0 * seconds / 3.0)
    starts_s = seconds * (2.0 + drawn[5] / 2.0) / 3.0
    cut = cuts[int(drawn[3] * len(cuts)) :][:1]
    ends = [way for link in cut for way in ((link.tail, link.head), (link.head, link.tail))]
    outages = tuple(Outage(*way, starts_s, starts_s + seconds / 12.0) for way in ends)
    return ConferenceWorld(name, seed, topology, (cross,), outages, seconds=seconds)


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
