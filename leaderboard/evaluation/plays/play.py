"""Interface between a board and the calls of one kind: how their worlds are sampled, played, and made into result rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from vcgym.agents.evaluation.play import Policy
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import LocalAgent, PublishedAgent
from vcgym.leaderboard.results.cdf import DelayCdf
from vcgym.network.scenarios.splits import unlock_test_split

WorldKeys = Sequence[tuple[str, int]]
"""Pair and seed of each world."""


class AnyRollout(Protocol):
    """Finished calls; `decision_us` is the measured time of one decision, `wall_clock_s` of all calls."""

    @property
    def decision_us(self) -> float: ...

    @property
    def wall_clock_s(self) -> float: ...


class PlayedRows(NamedTuple):
    """Rows of finished calls, without the identity of their cell.

    Attributes:
        strata: stratum of each call.
        rows: metrics of each call, and the identity columns that only its kind of calls has.
        delays: delay distributions by pair and accounting.
        timelines: timelines of some calls, see `vcgym.leaderboard.results.timeline`.
        actions: logged actions of an agent, one entry per call, or none.
    """

    strata: list[str]
    rows: list[dict[str, Any]]
    delays: Mapping[str, Mapping[str, DelayCdf]]
    timelines: Sequence[Mapping[str, Any]] = ()
    actions: Sequence[Any] = ()


@dataclass(frozen=True)
class Play(ABC):
    """Calls of one kind. It has no state, so two of one class are equal; its module decides the content of a cell.

    `scenario` is always a result of `open`, and `draws` of `draw`.
    """

    @abstractmethod
    def open(self, part: Part, packets: int) -> Any:
        """Make the scenario of a part; calls over paths have `packets` slots.

        Raises:
            DataError: data are missing or broken.
        """

    @abstractmethod
    def card(self, scenario: Any) -> str:
        """Return the hash of a scenario's data, the column `card` of result rows."""

    def pairs(self, part: Part, scenario: Any) -> list[str]:
        """Return the pairs of a part, each of which has `Part.seeds` worlds; over a bottleneck the kind of world is the only one."""
        return [part.stratum or ""]

    @unlock_test_split()
    def worlds(self, part: Part, scenario: Any) -> list[tuple[str, int]]:
        """Return pair and seed of each world of a part; seeds are distinct."""
        pairs = self.pairs(part, scenario)
        return [(pair, part.first_seed + i * part.seeds + n) for i, pair in enumerate(pairs) for n in range(part.seeds)]

    @abstractmethod
    def draw(self, part: Part, scenario: Any, which: WorldKeys) -> list[Any]:
        """Sample worlds of a part, of the test split too."""

    @abstractmethod
    def fingerprint(self, parts: Iterable[tuple[Part, Any]]) -> str:
        """Return the hash of the worlds of parts with their scenarios: it changes with any world that is checked."""

    @abstractmethod
    def play(self, systems: Sequence[System], scenario: Any, draws: Sequence[Any], threads: int) -> Iterator[AnyRollout]:
        """Play systems on the same worlds, and yield the rollout of each in order.

        Args:
            systems: systems with the controls of the calls.
            scenario: scenario of the worlds.
            draws: the worlds.
            threads: threads that share the calls; no effect on the rollouts.
        """

    def play_agent(
        self, agent: PublishedAgent | LocalAgent, policy: Policy, part: Part, scenario: Any, which: WorldKeys, threads: int
    ) -> AnyRollout:  # fmt: skip
        """Play an agent on worlds of a part; `policy` is its policy."""
        raise ValueError(f"agent is to play {part.scenario}; allowed there: systems of rules")

    def envs(self, agent: LocalAgent, part: Part, scenario: Any) -> Any:
        """Return an environment of an agent on worlds of a part, for one call."""
        raise ValueError(f"agent is to play {part.scenario}; allowed there: systems of rules")

    @abstractmethod
    def rows(self, part: Part, scenario: Any, which: WorldKeys, rollout: Any) -> PlayedRows:
        """Return the rows of a rollout on worlds of a part."""


def measured_time(stretches: Sequence[Sequence[tuple[str, int, int]]], per_ms: float) -> dict[str, list[list[Any]]]:
    """Return the columns `MEASURED_TIME` of calls from what each has of measured traces.

    Args:
        stretches: for each call the name of each trace and the ends of what it has of it.
        per_ms: how many units of time of these ends are a millisecond.
    """
    return {
        "series": [[name for name, _, _ in of_call] for of_call in stretches],
        "begins_ms": [[round(begin / per_ms) for _, begin, _ in of_call] for of_call in stretches],
        "ends_ms": [[round(end / per_ms) for _, _, end in of_call] for of_call in stretches],
    }
