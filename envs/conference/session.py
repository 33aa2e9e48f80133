"""A conference whose link rates are set from outside, one decision of every source each 300 ms: what both faces stand on.

A source changes the rate of its session on each overlay link; trees are packed into the rates as Celerity packs them, and what a source
observes has come in reports as late as Celerity's, or is lost like them.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.conference.celerity import Celerity, allocate_celerity, play_celerity, start_celerity
from vcgym.baselines.conference.reports import STATE
from vcgym.network.overlay.network import PACKET_BYTES, start_network
from vcgym.network.overlay.world import network_of
from vcgym.network.scenarios.conference import draw_conference

DECISION_US = 300_000
STEP_KBPS = 40.0  # largest change of a link rate per decision
MAX_KBPS = 10_000.0
FEATURES = 6  # of an overlay link
SESSION_FEATURES = 3
DELAY_PRICE = 1.0  # per session: its share of packets later than the bound
LOSS_PRICE = 1.0  # per session: its share of packets lost
_DEAD_S = 2.0  # shown as the delay of a link that is dead
_WINDOW = 5  # decisions over which a session's rate is averaged
_PARAMS = Celerity()


class ConferenceSession:
    """Conference of `parties` sources.

    Args:
        scenario: one of `vcgym.network.scenarios.conference.SCENARIOS`.
        parties: of the conference.
        seconds: length.
    """

    def __init__(self, scenario: str, parties: int, seconds: float) -> None:
        draw_conference(scenario, 0, parties, seconds)
        self.scenario, self.parties, self.seconds = scenario, parties, seconds
        self.size = FEATURES * parties * parties + SESSION_FEATURES

    def start(self, seed: int) -> None:
        """Begin on the world that `seed` names; all sources send at Celerity's starting rates."""
        self.seed = np.uint64(seed)
        world = draw_conference(self.scenario, seed, self.parties, self.seconds)
        self.net, self.events = network_of(world)
        self.state = allocate_celerity(_PARAMS, self.parties)
        start_network(self.net, self.seed)
        start_celerity(_PARAMS, self.state, self.net)
        self.decisions = 0
        self._counts = np.zeros((_WINDOW + 1, 3, self.parties, self.parties))
        self._emitted = np.zeros((_WINDOW + 1, self.parties))
        self._play()
        self._utility = self.utility()

    def _play(self) -> None:
        self.decisions += 1
        play_celerity(_PARAMS, self.state, self.net, self.events, self.seed, False, self.decisions * DECISION_US)
        heard = self.net.heard
        self._counts = np.roll(self._counts, -1, axis=0)
        self._emitted = np.roll(self._emitted, -1, axis=0)
        self._counts[-1] = heard["packets"], heard["late"], heard["delay_us"]
        self._emitted[-1] = self.net.sessions["number"]

    @property
    def done(self) -> bool:
        """Return True when the conference is over."""
        return self.decisions * DECISION_US >= self.seconds * 1e6

    def step(self, changes: NDArray[np.float64]) -> float:
        """Change link rates and play to the next decision; return the reward that all share.

        Args:
            changes: (P, P, P) in [-1, 1] by session, tail and head, times STEP_KBPS.

        Returns:
            The change of the sum of ln(rate + 10 kbps), less the prices of packets late and lost.
        """
        rates = self.state.rates_kbps
        rates[...] = np.clip(rates + STEP_KBPS * changes, 0.0, MAX_KBPS)
        self._play()
        before, self._utility = self._utility, self.utility()
        late, lost = self._shares()
        return float(self._utility - before - DELAY_PRICE * late.sum() - LOSS_PRICE * lost.sum())

    def session_kbps(self) -> NDArray[np.float64]:
        """Return the rate of each session over the last 1.5 s, (P,): of the receiver that heard least."""
        gained = self._counts[-1, 0] - self._counts[0, 0]
        np.fill_diagonal(gained, np.inf)
        rates: NDArray[np.float64] = gained.min(axis=1) * PACKET_BYTES * 8e3 / (_WINDOW * DECISION_US)
        return rates

    def utility(self) -> float:
        """Return the sum of ln(rate + 10 kbps), as Celerity bounds marginal utility."""
        return float(np.log(self.session_kbps() + _PARAMS.delta_kbps).sum())

    def _shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return each session's shares of packets late, and lost or not there yet, over the last decision, (P,) each."""
        packets, late, _ = (self._counts[-1] - self._counts[-2]).sum(axis=2)
        due = np.diff(self._emitted[-2:], axis=0)[0] * (self.parties - 1)
        return late / np.maximum(packets, 1.0), np.clip(1.0 - packets / np.maximum(due, 1.0), 0.0, 1.0)

    def observe(self, m: int) -> NDArray[np.float32]:
        """Return what source `m` knows, (size,): of overlay links rate, delay, loss, queueing, life, age of the report; its session."""
        state, net = self.state, self.net
        now_us = self.decisions * DECISION_US
        delay_s = state.known_ms[m] / 1000.0
        dead = np.isinf(delay_s)
        age_s = (now_us - np.maximum(net.inbox_us[STATE, m], 0)) / 1e6
        age_s[m] = 0.0
        links = np.stack([
            state.rates_kbps[m] / 1000.0, np.where(dead, _DEAD_S, delay_s), state.known_loss[m], state.known_s[m], ~dead,
            np.repeat(age_s[:, None], self.parties, axis=1),
        ])  # fmt: skip
        session = [state.bound_kbps[m] / 1000.0, state.packed_kbps[m] / 1000.0, float(net.present[m])]
        return np.concatenate([links.ravel(), session]).clip(0.0, 100.0).astype(np.float32)
