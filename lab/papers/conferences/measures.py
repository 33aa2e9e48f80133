"""Our values beside S2: Celerity packet by packet on the dumbbell, and computed allocations.

    settled_s        first second from which every mean over 10 s until 300 s has all four sessions at 95 % of the optimum
    mean_delay_ms    from source to receiver, mean over all arrivals in steady seconds
    p99_delay_ms     the same, 99th percentile
    lost             largest share of packets lost on links in any steady second
    overhead         headers and messages in the bytes of the whole conference

A second is steady from 50 s after the start and after each change on, after the cut from 100 s.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.papers.conferences.statements import SESSIONS, SessionRate
from vcgym.conference.network.network import PLANS, OverlayNetwork, start_network
from vcgym.conference.network.topology import BOTTLENECK_KBPS, dumbbell
from vcgym.conference.network.world import ConferenceWorld, dumbbell_timeline, network_of
from vcgym.conference.optimum.oracle_lp import oracle_lp
from vcgym.conference.rules.celerity import Celerity, allocate_celerity, play_celerity, start_celerity
from vcgym.conference.rules.planned import mutualcast, simulcast
from vcgym.conference.rules.play import PlayedConference, play

SEEDS = 10
STEADY_S = ((50, 300), (350, 500), (550, 700), (800, 1000))
CAPACITIES_KBPS = (BOTTLENECK_KBPS, 400.0)
_FIXED_POINT_S = (100, 300)
_NO_DELTA_KBPS = 0.001
WINDOW_S = 10
_SHARE, _PLAIN_S, _EACH_KBPS = 0.95, 300, 240.0
_ARRIVALS = 1 << 19  # more than arrive in the timeline
_LEFT, _RIGHT = [0, 1], [2, 3]  # parties at E and at F


class FixedPoint(NamedTuple):
    """State of Celerity, mean over `_FIXED_POINT_S`.

    Attributes:
        queueing_ms: (P, P) measured at the end of each overlay link.
        crossings: (P,) copies of a packet that pass from E to F on the trees of each session.
    """

    queueing_ms: NDArray[np.float64]
    crossings: NDArray[np.float64]


def play_timeline(seed: int) -> PlayedConference:
    """Play Celerity on the timeline of the dumbbell."""
    return play(dumbbell_timeline(seed), Celerity(), _ARRIVALS)


def play_fixed_point(capacity_kbps: float, seed: int) -> FixedPoint:
    """Play Celerity with delta near 0 on the dumbbell with a capacity from E to F, without events."""
    params = Celerity(delta_kbps=_NO_DELTA_KBPS)
    net, events = network_of(ConferenceWorld("fixed point", seed, dumbbell(capacity_kbps, BOTTLENECK_KBPS)))
    state, queueing_s, crossings = allocate_celerity(params, len(SESSIONS)), [], []
    start_network(net, np.uint64(seed))
    start_celerity(params, state, net)
    for second in range(_FIXED_POINT_S[1]):
        play_celerity(params, state, net, events, np.uint64(seed), True, (second + 1) * 1_000_000)
        if second >= _FIXED_POINT_S[0]:
            queueing_s.append(state.queueing_s.copy())
            crossings.append([_crossings(net, m) for m in range(len(SESSIONS))])
    return FixedPoint(1000.0 * np.mean(queueing_s, axis=0), np.mean(crossings, axis=0))


def _crossings(net: OverlayNetwork, m: int) -> float:
    slot, trees = int(net.sessions["plan"][m]) % PLANS, int(net.sessions["trees"][m])
    return float(np.isin(net.trees[m, slot, :trees][:, _RIGHT], _LEFT).sum(axis=1) @ net.weights[m, slot, :trees])


def planned_kbps(measure: SessionRate) -> float:
    """Return the rate of a session in the allocation that a system computes at `from_s`."""
    network = dumbbell_timeline().overlay_at(measure.from_s)
    if measure.system.startswith("optimum"):
        found = oracle_lp(network, 2 if measure.system == "optimum" else 3).allocation
    else:
        found = mutualcast(network) if measure.system == "mutualcast" else simulcast(network)
    return float(found.session_kbps()[SESSIONS.index(measure.session)])


def of_course(what: str, played: PlayedConference) -> float:
    """Return one of the numbers above; lost and overhead as shares."""
    if what == "settled_s":
        return settled_s(played, WINDOW_S)
    if what == "overhead":
        return played.overhead
    if what == "lost":
        return float(max(played.lost[from_s:to_s].max() for from_s, to_s in STEADY_S))
    created_us = played.log["created_us"]
    steady = np.any([(created_us >= from_s * 1e6) & (created_us < to_s * 1e6) for from_s, to_s in STEADY_S], axis=0)
    delay_ms = (played.log["arrived_us"] - created_us)[steady] / 1000.0
    return float(delay_ms.mean() if what == "mean_delay_ms" else np.percentile(delay_ms, 99.0))


def settled_s(played: PlayedConference, window_s: int) -> float:
    """Return the first second from which all means over a window have all four sessions at 95 % of the optimum."""
    means = [played.session_kbps(at_s, at_s + window_s).min() for at_s in range(_PLAIN_S - window_s + 1)]
    below = np.flatnonzero(np.array(means) < _SHARE * _EACH_KBPS)
    return float(below[-1] + 1) if len(below) else 0.0
