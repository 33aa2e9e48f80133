"""Simulation of a whole conference, with measurements per second."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.forwarding import advance
from vcgym.conference.network.links import PACKET
from vcgym.conference.network.network import CODED_BYTES, HEADER_BYTES, PACKET_BYTES, OverlayNetwork, start_network
from vcgym.conference.network.trees import follow, largest_trees
from vcgym.conference.network.world import ConferenceWorld, happen, network_of
from vcgym.conference.rules.celerity import allocate_celerity, play_celerity, start_celerity
from vcgym.conference.rules.link_rates import recovery_share
from vcgym.conference.rules.planned import OraclePlanned, Planned, plan
from vcgym.conference.rules.reports import RATES_BYTES, STATE_BYTES

_US = 1_000_000


class PlayedConference(NamedTuple):
    """Time series of a conference of P parties, per second."""

    kbps: NDArray[np.float64]  # (seconds, P, P), arrived media including headers, by session and receiver
    delay_ms: NDArray[np.float64]  # (seconds, P, P), its mean delay; NaN if nothing arrived
    sent_kbps: NDArray[np.float64]  # (seconds, P), rate of each source
    late: float  # share of arrivals later than the delay bound
    lost: NDArray[np.float64]  # (seconds,), share of packets lost on overlay links
    overhead: float  # share of headers, coded packets and messages in the bytes that entered overlay links
    log: NDArray[np.void]  # arrivals of media, of `vcgym.conference.network.network.LOGGED`
    emitted: NDArray[np.int64]  # (P,), packets sent by each source
    loads: NDArray[np.float64]  # (seconds, L), what entered each physical link, as a share of its capacity
    trees: NDArray[np.int16]  # (seconds, P, P), parents of the tree with the largest rate of each session at the end of each second

    def session_kbps(self, from_s: int, to_s: int) -> NDArray[np.float64]:
        """Return the rate of each session between two seconds, (P,), at its slowest receiver."""
        mean = self.kbps[from_s:to_s].mean(axis=0)
        return (mean + np.where(np.eye(len(mean), dtype=bool), np.inf, 0.0)).min(axis=1)

    def window_kbps(self, from_s: int, window_s: int) -> NDArray[np.float64]:
        """Return the rates of the sessions in each whole window from `from_s` on, (windows, P)."""
        starts = range(from_s, len(self.kbps) - window_s + 1, window_s)
        return np.array([self.session_kbps(at_s, at_s + window_s) for at_s in starts])


def play(world: ConferenceWorld, params: Any, log: int = 0) -> PlayedConference:
    """Play a world of whole seconds.

    Args:
        world: conference; without absences if the trees are planned.
        params: rule that chooses trees and rates.
        log: number of arrivals logged; 0: none.

    Raises:
        ValueError: the world or the parameters are invalid.
        OverflowError: more arrivals than `log`.
    """
    net, events = network_of(world, log, recovers=recovery_share(params) > 0.0)
    parties, seconds, seed = len(net.sessions), int(world.seconds), np.uint64(world.seed)
    start_network(net, seed)
    if isinstance(params, Planned | OraclePlanned):
        advance_to = _planned(world, params, net, events)
    else:
        state = allocate_celerity(params, parties)
        start_celerity(params, state, net)
        advance_to = partial(play_celerity, params, state, net, events, seed, True)
    packets, delay_us = np.zeros((2, seconds + 1, parties, parties))
    sent_kbps, lost = np.zeros((seconds, parties)), np.zeros((2, seconds + 1))
    entered_bytes, trees = np.zeros((seconds + 1, len(net.links))), np.zeros((seconds, parties, parties), np.int16)
    for second in range(seconds):
        advance_to((second + 1) * _US)
        packets[second + 1], delay_us[second + 1] = net.received["packets"], net.received["delay_us"]
        sent_kbps[second] = net.sessions["rate_kbps"]
        entered_bytes[second + 1], trees[second] = net.links["bytes"], largest_trees(net)
        lost[:, second + 1] = net.links["dropped"].sum(), net.measured["sent"].sum()
    if log and net.logged[0] == log:
        raise OverflowError(f"world {world.name} of seed {world.seed}: more than {log} packets arrived")
    gained = np.diff(packets, axis=0)
    with np.errstate(invalid="ignore"):
        delay_ms = np.diff(delay_us, axis=0) / gained / 1000.0
        gone, entered = np.diff(lost, axis=1)
    late = float(net.received["late"].sum() / net.received["packets"].sum())
    return PlayedConference(
        gained * PACKET_BYTES * 8e-3, delay_ms, sent_kbps, late, gone / np.maximum(entered, 1.0), _overhead(net),
        net.log[: net.logged[0]], net.sessions["number"].copy(),
        8.0 * np.diff(entered_bytes, axis=0) / net.links["rate_bps"], trees,
    )  # fmt: skip


def _planned(
    world: ConferenceWorld, params: Planned | OraclePlanned, net: OverlayNetwork, events: NDArray[np.void]
) -> Callable[[int], None]:
    """Return a function that continues the play, with a new plan after each change of the network."""
    if world.absences:
        raise ValueError(f"world {world.name} has {len(world.absences)} absences; allowed in a planned allocation: none")
    scratch, changes_s, done = np.zeros(1, PACKET), world.changes_s(), 0

    def advance_to(until_us: int) -> None:
        nonlocal done
        while changes_s and round(changes_s[0] * 1e6) < until_us:
            now_s = changes_s.pop(0)
            now_us = round(now_s * 1e6)
            advance(net, scratch, now_us)
            done = happen(net, events, done, now_us)
            follow(net, plan(params, world.overlay_at(now_s)), now_us, np.uint64(world.seed))
        advance(net, scratch, until_us - 1)

    return advance_to


def _overhead(net: OverlayNetwork) -> float:
    parties, (updates, reports) = len(net.sessions), net.written.sum(axis=(1, 2))
    coded = int(net.repairs.counts[0])
    media = net.measured["sent"].sum() - updates - reports - coded
    others = updates * RATES_BYTES * parties + reports * STATE_BYTES * (parties - 1) + coded * CODED_BYTES
    return float((media * HEADER_BYTES + others) / (media * PACKET_BYTES + others))
