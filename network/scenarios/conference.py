"""Scenarios of conferences: worlds by name and seed."""

import numpy as np

from vcgym.network.kernels import rng
from vcgym.network.kernels.ranges import one_of
from vcgym.network.overlay.network import CrossTraffic
from vcgym.network.overlay.topologies import WHERE, dumbbell, random_topology
from vcgym.network.overlay.world import ConferenceWorld, Outage

SCENARIOS = ("dumbbell", "random")


def draw_conference(scenario: str, seed: int, parties: int, seconds: float) -> ConferenceWorld:
    """Return a world: cross traffic takes 15 to 40 % of a core link in the second third, and one access link is down in the last third.

    Args:
        scenario: "dumbbell", with 300 to 800 kbps each way, or "random" (`random_topology`), with a bottleneck in the core or at the edge.
        seed: seed of all draws.
        parties: number of parties: 4 for the dumbbell, 3 to 12 for random networks.
        seconds: length of the conference.

    Raises:
        ValueError: an unknown scenario, or a number of parties that it does not support.
    """
    one_of("scenario", scenario, SCENARIOS)
    key = np.uint64(rng.stream_key(np.uint64(seed), 1, rng.SCENARIO))
    drawn = [float(rng.uniform(key, n)) for n in range(6)]
    if scenario == "dumbbell":
        if parties != 4:
            raise ValueError(f"parties = {parties} of scenario 'dumbbell'; allowed is 4")
        topology = dumbbell(300.0 + 500.0 * drawn[0], 300.0 + 500.0 * drawn[1])
    else:
        topology = random_topology(seed, parties, WHERE[int(2 * drawn[0])])
    core = [link for link in topology.links if {link.tail, link.head} <= set(topology.routers)]
    edge = [link for link in topology.links if link.tail in topology.parties and link.head in topology.routers]
    taken, cut = core[int(drawn[2] * len(core))], edge[int(drawn[3] * len(edge))]
    cross = CrossTraffic(taken.tail, taken.head, (0.15 + 0.25 * drawn[4]) * taken.capacity_kbps, seconds / 3.0, 2.0 * seconds / 3.0)
    starts_s = seconds * (2.0 + drawn[5] / 2.0) / 3.0
    outages = tuple(Outage(*ends, starts_s, starts_s + seconds / 12.0) for ends in ((cut.tail, cut.head), (cut.head, cut.tail)))
    return ConferenceWorld(scenario, seed, topology, (cross,), outages, seconds=seconds)
