"""Speed of conferences: packet-hops of static trees, Celerity with 12 parties for 1,000 simulated seconds, steps of the environment."""

from collections.abc import Iterator

import gymnasium
import numpy as np

import vcgym.conference.env  # noqa: F401  (registers the id)
from lab.bench.measure import Effort, Measurement, Run, duration, rate
from vcgym.conference.network.forwarding import advance
from vcgym.conference.network.links import PACKET
from vcgym.conference.network.network import start_network
from vcgym.conference.network.topologies import random_topology
from vcgym.conference.network.trees import Allocation, follow, tree_through
from vcgym.conference.network.world import ConferenceWorld, network_of
from vcgym.conference.rules.celerity import Celerity, allocate_celerity, play_celerity, start_celerity

PARTIES = 12
SECONDS = 1000
DECISIONS = 200  # of a minute
_SEED = np.uint64(9)
_TREE_KBPS = 100.0


def static_trees(effort: Effort) -> Iterator[Measurement]:
    """Yield the packet-hops per second over physical links: per session one tree of 100 kbps through the next party."""
    hops, run = _static(effort.part(SECONDS))
    yield rate("conference_hops", "packet-hops/s/core", hops, run, effort)


def celerity(effort: Effort) -> Iterator[Measurement]:
    """Yield the seconds to simulate 1,000 s of a conference of 12 parties under Celerity."""
    yield duration("conference_celerity_s", _celerity(effort.part(SECONDS)), effort)


def env_steps(num_envs: int, effort: Effort) -> Iterator[Measurement]:
    """Yield the steps per second of `num_envs` dumbbells of a minute, actions sampled once, resets included."""
    envs = gymnasium.make_vec("vcgym/Conference-v0", num_envs=num_envs)
    envs.action_space.seed(0)
    action = envs.action_space.sample()
    envs.reset(seed=0)
    steps = effort.part(DECISIONS)

    def run() -> None:
        for _ in range(steps):
            envs.step(action)

    yield rate(f"conference_env_{num_envs}", "steps/s", steps * num_envs, run, effort)
    envs.close()


def _static(seconds: int) -> tuple[int, Run]:
    net, _ = network_of(_world())
    trees = tuple(tree_through(m, (m + 1) % PARTIES, PARTIES) for m in range(PARTIES))
    scratch = np.zeros(1, PACKET)

    def run() -> None:
        start_network(net, _SEED)
        follow(net, Allocation(PARTIES, trees, np.full(PARTIES, _TREE_KBPS)), 0, _SEED)
        advance(net, scratch, seconds * 1_000_000)

    run()
    return int(net.links["entered"].sum()), run


def _celerity(seconds: int) -> Run:
    net, events = network_of(_world())
    state = allocate_celerity(Celerity(), PARTIES)

    def run() -> None:
        start_network(net, _SEED)
        start_celerity(Celerity(), state, net)
        play_celerity(Celerity(), state, net, events, _SEED, True, seconds * 1_000_000)

    run()
    return run


def _world() -> ConferenceWorld:
    return ConferenceWorld("random", int(_SEED), random_topology(int(_SEED), PARTIES), seconds=SECONDS)
