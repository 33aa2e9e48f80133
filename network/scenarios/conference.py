"""Scenarios of conferences: worlds by name and seed.

    dumbbell       the timeline of Celerity's section 6.1 (`vcgym.network.overlay.world.dumbbell_timeline`)
    four-sites     four cities, each party behind its own access of 0.5 to 1.5 Mbit/s; the core does not bind
    core-N, edge-N parties at measured cities (`vcgym.network.scenarios.cities`), the bottleneck between cities or at the parties' access

In all but the first 15 to 40 % of a core link are taken by cross traffic in the second third, and one access link is down in the last.
The paper's experiment between four sites says neither capacities nor delays; ours are assumptions.
"""

import numpy as np

from vcgym.network.kernels import rng
from vcgym.network.kernels.ranges import one_of
from vcgym.network.overlay.network import CrossTraffic
from vcgym.network.overlay.topologies import WHERE, dumbbell, random_topology
from vcgym.network.overlay.topology import Topology
from vcgym.network.overlay.world import ConferenceWorld, Outage, dumbbell_timeline
from vcgym.network.scenarios.cities import cities_card, city_topology, four_sites
from vcgym.network.scenarios.splits import SPLITS, check_split

SCENARIOS = ("dumbbell", "random")
SIZES = (3, 4, 6, 8, 12)
SECONDS = 180.0


class ConferenceScenario:
    """Worlds of conferences by kind.

    Attributes:
        name: of the scenario.
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
            split: worlds of two splits share no draw.
            seed: any integer >= 0.
            kind: one of `kinds`.

        Raises:
            ValueError: an unknown split or kind, or the test split outside the leaderboard.
        """
        check_split(split)
        one_of(f"kind of scenario {self.name}", kind, self.kinds)
        world_seed = int(rng.stream_key(np.uint64(seed), SPLITS.index(split), rng.SCENARIO) % np.uint64(1 << 62))
        if kind == "dumbbell":
            return dumbbell_timeline(world_seed)
        if kind == "four-sites":
            return _eventful(kind, world_seed, four_sites(world_seed), SECONDS)
        where, parties = kind.split("-")
        return _eventful(kind, world_seed, city_topology(world_seed, int(parties), where), SECONDS)


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
    return _eventful(scenario, seed, topology, seconds)


def _drawn(seed: int) -> list[float]:
    key = np.uint64(rng.stream_key(np.uint64(seed), 1, rng.SCENARIO))
    return [float(rng.uniform(key, n)) for n in range(6)]


def _eventful(name: str, seed: int, topology: Topology, seconds: float) -> ConferenceWorld:
    """Return a world with cross traffic and an outage."""
    drawn = _drawn(seed)
    core = [link for link in topology.links if {link.tail, link.head} <= set(topology.routers)]
    edge = [link for link in topology.links if link.tail in topology.parties and link.head in topology.routers]
    taken, cut = core[int(drawn[2] * len(core))], edge[int(drawn[3] * len(edge))]
    cross = CrossTraffic(taken.tail, taken.head, (0.15 + 0.25 * drawn[4]) * taken.capacity_kbps, seconds / 3.0, 2.0 * seconds / 3.0)
    starts_s = seconds * (2.0 + drawn[5] / 2.0) / 3.0
    outages = tuple(Outage(*ends, starts_s, starts_s + seconds / 12.0) for ends in ((cut.tail, cut.head), (cut.head, cut.tail)))
    return ConferenceWorld(name, seed, topology, (cross,), outages, seconds=seconds)
