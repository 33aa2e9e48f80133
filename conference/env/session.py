"""A conference whose link rates are set from outside, with one decision per source every 300 ms; the basis of all environments.

A source changes the rate of its session on each overlay link. Trees are packed into the rates as in Celerity. A source observes reports
with the same delay and loss as Celerity's.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.env.decisions import DECISION_US, WINDOW, allocate_course, decide, observe, session_kbps
from vcgym.conference.network.network import start_network
from vcgym.conference.network.scenario import draw_conference
from vcgym.conference.network.world import network_of
from vcgym.conference.rules.celerity import Celerity, allocate_celerity, start_celerity

_PARAMS = Celerity()


class ConferenceSession:
    """Conference of `parties` sources.

    Args:
        scenario: one of `vcgym.conference.network.scenario.SCENARIOS`.
        parties: number of parties.
        seconds: length of the conference.
    """

    def __init__(self, scenario: str, parties: int, seconds: float) -> None:
        draw_conference(scenario, 0, parties, seconds)
        self.scenario, self.parties, self.seconds = scenario, parties, seconds

    def start(self, seed: int) -> None:
        """Start on world `seed`, before its first decision, which sets nothing: sources start at Celerity's initial rates."""
        self.seed = np.uint64(seed)
        world = draw_conference(self.scenario, seed, self.parties, self.seconds)
        self.topology = world.topology
        self.net, self.events = network_of(world)
        self.state = allocate_celerity(_PARAMS, self.parties)
        self.course = allocate_course(self.parties, len(self.net.links))
        start_network(self.net, self.seed)
        start_celerity(_PARAMS, self.state, self.net)

    def decide(self, changes: NDArray[np.float64], accounts: NDArray[np.void], s: int) -> None:
        """Change link rates, play to the next decision and fill `accounts[s]`, see `vcgym.conference.env.decisions.decide`."""
        decide(_PARAMS, self.state, self.net, self.events, self.course, self.seed, changes, accounts, s)

    def observe(self, out: NDArray[np.float32]) -> None:
        """Write the observations of all sources, see `vcgym.conference.env.decisions.observe`."""
        observe(self.state, self.net, self.course, out)

    @property
    def now_s(self) -> float:
        """Time in the conference in s."""
        return float(self.course.decisions[0]) * DECISION_US / 1e6

    @property
    def done(self) -> bool:
        """Return True when the conference is done."""
        return self.now_s >= self.seconds

    def session_kbps(self) -> NDArray[np.float64]:
        """Return the rate of each session over the last 1.5 s, (P,), at its slowest receiver."""
        return np.array([session_kbps(self.course, m) for m in range(self.parties)])

    def link_loads(self) -> NDArray[np.float64]:
        """Return what entered each physical link over the last 1.5 s, (L,), as a share of its capacity."""
        row = int(self.course.decisions[0]) % (WINDOW + 1)
        bits = 8e6 * (self.course.bytes[row] - self.course.bytes[(row + 1) % (WINDOW + 1)])
        loads: NDArray[np.float64] = bits / (WINDOW * DECISION_US * self.net.links["rate_bps"])
        return loads
