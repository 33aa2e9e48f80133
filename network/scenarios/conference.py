"""Scenarios of conferences: worlds by name and seed.

    dumbbell       the timeline of Celerity's section 6.1 (`vcgym.network.overlay.world.dumbbell_timeline`)
    four-sites     four cities, each party behind its own access of 0.5 to 1.5 Mbit/s; the core is not a bottleneck
    core-N, edge-N parties at measured cities (`vcgym.network.scenarios.cities`), the bottleneck between cities or at the parties' access

In all but the first, cross traffic takes 15 to 40 % of a core link in the second third, and one core link is down in the last third. It
is a link that two-hop trees can avoid; if there is none, all links stay up.
The paper gives neither capacities nor delays of its experiment between four sites; ours are assumptions.
"""

import numpy as np

from vcgym.network.kernels import rng
from vcgym.network.kernels.ranges import one_of
from vcgym.network.overlay.cross_traffic import CrossTraffic
from vcgym.network.overlay.topologies import WHERE, dumbbell, random_topology
from vcgym.network.overlay.topology import PhysicalLink, Topology, overlay
from vcgym.network.overlay.world import ConferenceWorld, Outage, dumbbell_timeline
from vcgym.network.scenarios.cities import cities_card, city_topology, four_sites
from vcgym.network.scenarios.splits import SPLITS, check_split

SCENARIOS = ("dumbbell", "random")
SIZES = (3, 4, 6, 8, 12)
SECONDS = 180.0
BOUND_MS = 200.0  # Celerity, section 2


class ConferenceScenario:
    """Worlds of conferences by kind.

    Attributes:
        name: name of the scenario.
        kinds: names of its kinds of world.
        card: SHA-256 of the measured delays between cities.

    Args:
        name: "conference".
    """

    kinds = ("dumbbell", "four-sites", *(f"{where}-{parties}" for where in WHERE for parties in SIZES))

    def __init__(self, name: str = "conference") -> None:
        one_of("scenario", name, ("conference",))
        self.name, self.card = name, cities_card()

    def draw(self, split: str, seed: int, kind: str) -> ConferenceWorld:
        """Sample one world.

        Args:
            split: split of the world; two splits share no draws.
            seed: any integer >= 0.
            kind: one of `kinds`.

        Raises:
            ValueError: an unknown split or kind, or the test split outside the leaderboard.
        """
        check_split(split)
        one_of(f"kind of scenario {self.name}", kind, self.kinds)
        world_seed = int(rng.stream_key(np.uint64(seed), len(SPLITS) * self.kinds.index(kind) + SPLITS.index(split), rng.SCENARIO))
        if kind == "dumbbell":
            return dumbbell_timeline(world_seed)
        if kind == "four-sites":
            topology = four_sites(world_seed)
        else:
            where, parties = kind.split("-")
            topology = city_topology(world_seed, int(parties), where)
        return _eventful(kind, world_seed, topology, SECONDS, _avoidable(topology))


def draw_conference(scenario: str, seed: int, parties: int, seconds: float) -> ConferenceWorld:
    """Return a world of the environment.

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
