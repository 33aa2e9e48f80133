"""A conference whose link rates are set from outside, with one decision per source every 300 ms; the basis of both faces.

A source changes the rate of its session on each overlay link. Trees are packed into the rates as in Celerity. A source observes reports
with the same delay and loss as Celerity's.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.conference.celerity import Celerity, allocate_celerity, play_celerity, start_celerity
from vcgym.baselines.conference.reports import STATE
from vcgym.baselines.conference.trees import NO_PARENT
from vcgym.network.overlay.network import PACKET_BYTES, PLANS, start_network
from vcgym.network.overlay.world import network_of
from vcgym.network.scenarios.conference import draw_conference

DECISION_US = 300_000
STEP_KBPS = 40.0  # largest change of a link rate per decision
MAX_KBPS = 10_000.0
FEATURES = 6  # per overlay link
SESSION_FEATURES = 3
DELAY_PRICE = 1.0  # per session, times its share of packets later than the bound
LOSS_PRICE = 1.0  # per session, times its share of lost packets
_DEAD_S = 2.0  # observed delay of a dead link
_WINDOW = 5  # decisions over which a session's rate is averaged
_PARAMS = Celerity()


class ConferenceSession:
    """Conference of `parties` sources.

    Args:
        scenario: one of `vcgym.network.scenarios.conference.SCENARIOS`.
        parties: number of parties.
        seconds: length of the conference.
    """

    def __init__(self, scenario: str, parties: int, seconds: float) -> None:
        draw_conference(scenario, 0, parties, seconds)
        self.scenario, self.parties, self.seconds = scenario, parties, seconds
        self.size = FEATURES * parties * parties + SESSION_FEATURES

    def start(self, seed: int) -> None:
        """Start on world `seed`; all sources send at Celerity's initial rates."""
        self.seed = np.uint64(seed)
        world = draw_conference(self.scenario, seed, self.parties, self.seconds)
        self.topology = world.topology
        self.net, self.events = network_of(world)
        self.state = allocate_celerity(_PARAMS, self.parties)
        start_network(self.net, self.seed)
        start_celerity(_PARAMS, self.state, self.net)
        self.decisions = 0
        self._counts = np.zeros((_WINDOW + 1, 3, self.parties, self.parties))
        self._emitted = np.zeros((_WINDOW + 1, self.parties))
        self._bytes = np.zeros((_WINDOW + 1, len(self.net.links)))
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
        self._bytes = np.roll(self._bytes, -1, axis=0)
        self._bytes[-1] = self.net.links["bytes"]

    @property
    def now_s(self) -> float:
        """Time in the conference in s."""
        return self.decisions * DECISION_US / 1e6

    @property
    def done(self) -> bool:
        """Return True when the conference is done."""
        return self.now_s >= self.seconds

    def step(self, changes: NDArray[np.float64]) -> float:
        """Change link rates and play to the next decision; return the shared reward.

        Args:
            changes: (P, P, P) in [-1, 1] by session, tail and head, times STEP_KBPS.

        Returns:
            The change of the sum of ln(rate + 10 kbps), minus the costs of late and lost packets.
        """
        rates = self.state.rates_kbps
        rates[...] = np.clip(rates + STEP_KBPS * changes, 0.0, MAX_KBPS)
        self._play()
        before, self._utility = self._utility, self.utility()
        late, lost = self._shares()
        return float(self._utility - before - DELAY_PRICE * late.sum() - LOSS_PRICE * lost.sum())

    def session_kbps(self) -> NDArray[np.float64]:
        """Return the rate of each session over the last 1.5 s, (P,), at its slowest receiver."""
        gained = self._counts[-1, 0] - self._counts[0, 0]
        np.fill_diagonal(gained, np.inf)
        rates: NDArray[np.float64] = gained.min(axis=1) * PACKET_BYTES * 8e3 / (_WINDOW * DECISION_US)
        return rates

    def link_loads(self) -> NDArray[np.float64]:
        """Return what entered each physical link over the last 1.5 s, (L,), as a share of its capacity."""
        bits: NDArray[np.float64] = 8e6 * (self._bytes[-1] - self._bytes[0])
        return bits / (_WINDOW * DECISION_US * self.net.links["rate_bps"])

    def largest_trees(self) -> list[NDArray[np.int16]]:
        """Return the parents (P,) of the tree with the largest rate of each session; all -1 for a silent one."""
        found = []
        for m, session in enumerate(self.net.sessions):
            slot = int(session["plan"]) % PLANS
            tree = self.net.trees[m, slot, np.argmax(self.net.weights[m, slot, : max(1, session["trees"])])]
            found.append(tree.copy() if session["trees"] else np.full(self.parties, NO_PARENT, np.int16))
        return found

    def utility(self) -> float:
        """Return the sum of ln(rate + 10 kbps), where the offset bounds marginal utility as in Celerity."""
        return float(np.log(self.session_kbps() + _PARAMS.delta_kbps).sum())

    def _shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return each session's shares of late packets, and of lost or outstanding ones, since the last decision, (P,) each."""
        packets, late, _ = (self._counts[-1] - self._counts[-2]).sum(axis=2)
        due = np.diff(self._emitted[-2:], axis=0)[0] * (self.parties - 1)
        return late / np.maximum(packets, 1.0), np.clip(1.0 - packets / np.maximum(due, 1.0), 0.0, 1.0)

    def observe(self, m: int) -> NDArray[np.float32]:
        """Return source `m`'s observation, (size,): rate, delay, loss, queueing, life and report age of overlay links; its session."""
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
