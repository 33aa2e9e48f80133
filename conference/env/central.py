"""Conference with one central agent: the native vector environment, its scalar form, and the reward."""

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.conference.env.decisions import (
    DECISION_US,
    EARNED,
    FEATURES,
    SESSION_FEATURES,
    WINDOW,
    allocate_history,
    decide,
    observe,
    session_kbps,
)
from vcgym.conference.env.picture import RENDER, draw_conference
from vcgym.conference.network.network import start_network
from vcgym.conference.network.scenario import sample_conference
from vcgym.conference.network.trees import largest_trees
from vcgym.conference.network.world import network_of
from vcgym.conference.rules.celerity import Celerity, allocate_celerity, start_celerity
from vcgym.envs.call.batch import ThreadedBatch
from vcgym.envs.call.features.layout import Feature, ObservationLayout, ObservationPart
from vcgym.envs.call.rewards.reward import earned, reward
from vcgym.envs.call.stages import DECIDE, DONE
from vcgym.envs.environments.scalar import ScalarEnv
from vcgym.envs.environments.vector.branches import BranchVectorEnv
from vcgym.network.kernels.ranges import require_whole

_PARAMS = Celerity()
CONFERENCE = "conference"  # in place of the stages of a call: a reward reads `vcgym.conference.env.decisions.EARNED`, (sessions,)


@reward(CONFERENCE)
class AggregateUtility(NamedTuple):
    """Change of the sum of ln(rate + 10 kbps) since the last decision, minus each session's shares of late and of lost packets.

    Attributes:
        delay_price: price of a session's share of packets later than 200 ms.
        loss_price: price of its share of lost packets.
    """

    delay_price: float = 1.0
    loss_price: float = 1.0


@earned.register(AggregateUtility)
def _earned(reward, state, accounts, s):
    counted = accounts[s]
    return counted.gain - reward.delay_price * counted.late - reward.loss_price * counted.lost


class ConferenceSession:
    """Conference of `parties` sources whose link rates are set from outside, with one decision per source every 300 ms.

    A source changes the rate of its session on each overlay link. Trees are packed into the rates as in Celerity. A source observes reports
    with the same delay and loss as Celerity's.

    Args:
        scenario: one of `vcgym.conference.network.scenario.SCENARIOS`.
        parties: number of parties.
        seconds: length of the conference.
    """

    def __init__(self, scenario: str, parties: int, seconds: float) -> None:
        sample_conference(scenario, 0, parties, seconds)
        self.scenario, self.parties, self.seconds = scenario, parties, seconds

    def start(self, seed: int) -> None:
        """Start on world `seed`, before its first decision, which sets nothing: sources start at Celerity's initial rates."""
        self.seed = np.uint64(seed)
        world = sample_conference(self.scenario, seed, self.parties, self.seconds)
        self.topology = world.topology
        self.net, self.events = network_of(world)
        self.state = allocate_celerity(_PARAMS, self.parties)
        self.history = allocate_history(self.parties, len(self.net.links))
        start_network(self.net, self.seed)
        start_celerity(_PARAMS, self.state, self.net)

    @property
    def now_s(self) -> float:
        """Time in the conference in s."""
        return float(self.history.decisions[0]) * DECISION_US / 1e6

    def session_kbps(self) -> NDArray[np.float64]:
        """Return the rate of each session over the last 1.5 s, (P,), at its slowest receiver."""
        return np.array([session_kbps(self.history, m) for m in range(self.parties)])

    def link_loads(self) -> NDArray[np.float64]:
        """Return what entered each physical link over the last 1.5 s, (L,), as a share of its capacity."""
        row = int(self.history.decisions[0]) % (WINDOW + 1)
        bits = 8e6 * (self.history.bytes[row] - self.history.bytes[(row + 1) % (WINDOW + 1)])
        loads: NDArray[np.float64] = bits / (WINDOW * DECISION_US * self.net.links["rate_bps"])
        return loads


class ConferenceBatch(ThreadedBatch):
    """Conferences played together.

    Attributes:
        conferences: the conferences.
        changes: (sessions, P, P, P), next changes of link rates, see `vcgym.conference.env.decisions.decide`.
        earned: (sessions,) of EARNED, of the last decision.
    """

    def __init__(self, conferences: list[ConferenceSession], threads: int) -> None:
        super().__init__(len(conferences), threads)
        self.conferences = conferences
        self.changes = np.zeros((len(conferences), *(conferences[0].parties,) * 3))
        self.earned = np.zeros(len(conferences), EARNED)

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Play each of `rows` to its next decision or its end, on the calling thread."""
        for row in rows:
            conference = self.conferences[row]
            decide(
                _PARAMS, conference.state, conference.net, conference.events, conference.history, conference.seed, self.changes[row],
                self.earned, row,
            )  # fmt: skip
            self.why[row] = DONE if conference.now_s >= conference.seconds else DECIDE


class ConferenceVectorEnv(BranchVectorEnv):
    """Rate allocation in conferences by one agent with the observations of all sources; see `ParallelConference`.

    Observation: those of all sources, concatenated, ``Box(0, 100, (P (6 P^2 + 3),))``.
    Action: ``Box(-1, 1, (P^3,))`` by session, tail and head, times 40 kbps.
    Reward: that of `ParallelConference`.
    End of episode: truncation after `seconds`.

    Args:
        num_envs: number of conferences played in parallel, >= 1.
        scenario: "dumbbell" or "random".
        parties: number of parties: 4 for the dumbbell, 3 to 12 for random networks.
        seconds: length of the conference.
        threads: number of threads; the result does not depend on it.
        autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED.
        render_mode: None; only the scalar environment draws.
        max_episode_steps: decisions after which a conference is truncated; None: at its end.
    """

    batch: ConferenceBatch

    def __init__(
        self,
        num_envs: int = 1,
        scenario: str = "dumbbell",
        parties: int = 4,
        seconds: float = 60.0,
        threads: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
    ) -> None:
        require_whole(num_envs=(num_envs, 1, 1 << 20))
        batch = ConferenceBatch([ConferenceSession(scenario, parties, seconds) for _ in range(num_envs)], threads)
        super().__init__(
            batch,
            _layout(parties),
            "features",
            spaces.Box(-1.0, 1.0, (parties**3,), np.float32),
            reward=AggregateUtility(),
            accounts=batch.earned,
            arguments=(scenario, parties, float(seconds)),
            autoreset_mode=autoreset_mode,
            render_mode=render_mode,
            max_episode_steps=max_episode_steps,
        )

    def _refuse_options(self, **options: Any) -> None:
        """Do nothing: there are no options."""

    def _reset_row(self, row: int, seed: int, **options: Any) -> None:
        self.batch.conferences[row].start(seed)
        self.batch.changes[row] = 0.0

    def apply_actions(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        self.batch.changes[rows] = actions[rows].reshape(len(rows), *self.batch.changes.shape[1:])

    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        for row in rows:
            conference = self.batch.conferences[row]
            observe(conference.state, conference.net, conference.history, shown["sources"][row])

    def _worlds(self) -> dict[str, NDArray[Any]]:
        return {}

    def _outcomes(self) -> dict[str, NDArray[Any]]:
        """Return the mean rate of the sessions over the last 1.5 s in kbit/s."""
        return {"session_kbps": np.array([conference.session_kbps().mean() for conference in self.batch.conferences])}

    def draw(self, axes: Any, row: int) -> None:
        """Draw the last 1.5 s, see `vcgym.conference.env.picture.draw_conference`."""
        conference = self.batch.conferences[row]
        draw_conference(axes, conference.topology, conference.link_loads(), largest_trees(conference.net), conference.session_kbps())
        axes.set_title(f"largest tree of each session, second {conference.now_s:.1f}")


class ConferenceEnv(ScalarEnv):
    __doc__ = ConferenceVectorEnv.__doc__
    vector_class = ConferenceVectorEnv
    metadata = RENDER


def _layout(parties: int) -> ObservationLayout:
    """Return the layout of the observations of all sources, (P, 6 P^2 + 3)."""
    links = {f"{name}[{tail},{head}]": FEATURES[name] for name in FEATURES for tail in range(parties) for head in range(parties)}
    features = tuple(Feature(name, unit, 0.0, 100.0, "age of its report") for name, unit in {**links, **SESSION_FEATURES}.items())
    return ObservationLayout(ObservationPart("sources", features, tuple(f"source_{m}" for m in range(parties))))
