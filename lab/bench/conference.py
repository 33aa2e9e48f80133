"""Speed of conferences: packet-hops of static trees, and Celerity with 12 parties for 1,000 simulated seconds."""

from collections.abc import Iterator

import numpy as np

from lab.bench.measure import Effort, Measurement, duration, rate
from vcgym.conference.network.forwarding import advance
from vcgym.conference.network.links import PACKET
from vcgym.conference.network.network import start_network
from vcgym.conference.network.topology import random_topology
from vcgym.conference.network.trees import Allocation, follow, tree_through
from vcgym.conference.network.world import ConferenceWorld, network_of
from vcgym.conference.rules.celerity import Celerity, allocate_celerity, play_celerity, start_celerity

PARTIES = 12
SECONDS = 1000
_SEED = np.uint64(9)
_TREE_KBPS = 100.0


def static_trees(effort: Effort) -> Iterator[Measurement]:
    """Yield the packet-hops per second over physical links: per session one tree of 100 kbps through the next party."""
    net, _ = network_of(_world())
    trees = tuple(tree_through(m, (m + 1) % PARTIES, PARTIES) for m in range(PARTIES))
    scratch, until_us = np.zeros(1, PACKET), effort.part(SECONDS) * 1_000_000

    def run() -> None:
        start_network(net, _SEED)
        follow(net, Allocation(PARTIES, trees, np.full(PARTIES, _TREE_KBPS)), 0, _SEED)
        advance(net, scratch, until_us)

    run()
    yield rate("conference_hops", "packet-hops/s/core", int(net.links["entered"].sum()), run, effort)


def celerity(effort: Effort) -> Iterator[Measurement]:
    """Yield the seconds to simulate 1,000 s of a conference of 12 parties under Celerity."""
    net, events = network_of(_world())
    state, until_us = allocate_celerity(Celerity(), PARTIES), effort.part(SECONDS) * 1_000_000

    def run() -> None:
        start_network(net, _SEED)
        start_celerity(Celerity(), state, net)
        play_celerity(Celerity(), state, net, events, _SEED, True, until_us)

    yield duration("conference_celerity_s", run, effort)


def _world() -> ConferenceWorld:
    return ConferenceWorld("random", int(_SEED), random_topology(int(_SEED), PARTIES), seconds=SECONDS)
