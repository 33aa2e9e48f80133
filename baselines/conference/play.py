"""Simulation of a whole conference, with measurements per second."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.conference.celerity import Celerity, allocate_celerity, play_celerity, start_celerity
from vcgym.baselines.conference.reports import RATES_BYTES, STATE_BYTES
from vcgym.network.overlay.network import HEADER_BYTES, PACKET_BYTES, Network, start_network
from vcgym.network.overlay.world import ConferenceWorld, network_of


class Played(NamedTuple):
    """Course of a conference of P parties, per second.

    Attributes:
        kbps: (seconds, P, P), arrived media including headers, by session and receiver.
        delay_ms: (seconds, P, P), its mean delay; NaN if nothing arrived.
        sent_kbps: (seconds, P), rate of each source.
        bound_kbps: (seconds, P), min-cut of each session as known to its source.
        late: share of arrivals later than the delay bound.
        lost: (seconds,), share of packets lost on overlay links.
        overhead: share of headers and messages in the bytes that entered overlay links.
    """

    kbps: NDArray[np.float64]
    delay_ms: NDArray[np.float64]
    sent_kbps: NDArray[np.float64]
    bound_kbps: NDArray[np.float64]
    late: float
    lost: NDArray[np.float64]
    overhead: float

    def session_kbps(self, from_s: int, to_s: int) -> NDArray[np.float64]:
        """Return the rate of each session between two seconds, (P,), at its slowest receiver."""
        heard = self.kbps[from_s:to_s].mean(axis=0)
        return (heard + np.where(np.eye(len(heard), dtype=bool), np.inf, 0.0)).min(axis=1)


def play(world: ConferenceWorld, params: Celerity) -> Played:
    """Play a world of whole seconds with Celerity.

    Raises:
        ValueError: the world or the parameters are invalid.
    """
    net, events = network_of(world)
    parties, seconds, seed = len(net.sessions), int(world.seconds), np.uint64(world.seed)
    state = allocate_celerity(params, parties)
    start_network(net, seed)
    start_celerity(params, state, net)
    packets, delay_us = np.zeros((2, seconds + 1, parties, parties))
    sent_kbps, bound_kbps, lost = np.zeros((seconds, parties)), np.zeros((seconds, parties)), np.zeros((2, seconds + 1))
    for second in range(seconds):
        play_celerity(params, state, net, events, seed, True, (second + 1) * 1_000_000)
        packets[second + 1], delay_us[second + 1] = net.heard["packets"], net.heard["delay_us"]
        sent_kbps[second], bound_kbps[second] = net.sessions["rate_kbps"], state.bound_kbps
        lost[:, second + 1] = net.links["dropped"].sum(), net.measured["sent"].sum()
    gained = np.diff(packets, axis=0)
    with np.errstate(invalid="ignore"):
        delay_ms = np.diff(delay_us, axis=0) / gained / 1000.0
    gone, entered = np.diff(lost, axis=1)
    late = float(net.heard["late"].sum() / net.heard["packets"].sum())
    return Played(gained * PACKET_BYTES * 8e-3, delay_ms, sent_kbps, bound_kbps, late, gone / entered, _overhead(net))


def _overhead(net: Network) -> float:
    parties, (updates, reports) = len(net.sessions), net.written.sum(axis=(1, 2))
    media = net.measured["sent"].sum() - updates - reports
    messages = updates * RATES_BYTES * parties + reports * STATE_BYTES * (parties - 1)
    return float((media * HEADER_BYTES + messages) / (media * PACKET_BYTES + messages))
