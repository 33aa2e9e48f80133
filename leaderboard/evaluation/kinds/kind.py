"""Interface between a board and the calls of one kind: how their worlds are sampled, played, and made into result rows."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy, play
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import Agent
from vcgym.leaderboard.results.cdf import DelayCdf
from vcgym.leaderboard.results.columns import Columns
from vcgym.network.scenarios.splits import unlock_test_split

WorldKeys = Sequence[tuple[str, int]]
"""Pair and seed of each world."""
Take = Callable[[NDArray[np.int64]], None]
"""Function that takes the finished calls in some rows of an environment."""


class FinishedCalls(NamedTuple):
    """Finished calls of one participant.

    Attributes:
        calls: finished calls, as the kind of calls has them.
        decision_us: measured time of one decision, of rules or of `predict` for one call; it differs between runs.
        wall_clock_s: time of all calls.
        actions: log of an agent's actions, one entry per call, or none.
    """

    calls: Any
    decision_us: float
    wall_clock_s: float
    actions: Sequence[Any] = ()


@dataclass(frozen=True)
class Kind(ABC):
    """Calls of one kind. It has no state; its class and its name decide the content of a cell.

    `scenario` is always a result of `open`, and `draws` of `draw`.

    Attributes:
        name: name of the kind, unique.
        controls: controls that its calls have, in the order of the table of controls.
        columns: columns of its rows, and their display.
        env_ids: ids of the environments whose agents play it, that of a user's own policy first.
        tuned_apart: True if a rule tuned on another scenario is no reference.
    """

    name: str
    controls: tuple[str, ...] = field(compare=False)
    columns: Columns = field(compare=False)
    env_ids: tuple[str, ...] = field(default=(), compare=False)
    tuned_apart: bool = field(default=False, compare=False)

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
    def play_rules(self, systems: Sequence[System], scenario: Any, draws: Sequence[Any], threads: int) -> Iterator[FinishedCalls]:
        """Play systems on the same worlds, and yield the finished calls of each in order.

        Args:
            systems: systems with the controls of the calls.
            scenario: scenario of the worlds.
            draws: the worlds.
            threads: threads that share the calls; no effect on the rollouts.
        """

    @unlock_test_split()
    def play_policy(self, agent: Agent, policy: Policy, part: Part, scenario: Any, which: WorldKeys, threads: int = 1) -> FinishedCalls:
        """Play an agent through the environment on worlds of a part; `policy` is its policy."""
        envs = self.envs(agent, part, scenario, policy.reads, len(which), threads, log=True)
        began = time.perf_counter()
        for pair in sorted({pair for pair, _ in which}):
            mask = np.array([other == pair for other, _ in which])
            options = {**self.reset_options(part, pair), "reset_mask": mask}
            observation, _ = envs.reset(seed=[seed for _, seed in which], options=options)
        calls, take = self.taking(envs)
        decision_us = play(policy, envs, observation, take).decision_us
        envs.close()
        return FinishedCalls(calls, decision_us, time.perf_counter() - began)

    def envs(self, agent: Agent, part: Part, scenario: Any, reads: str, calls: int = 1, threads: int = 1, log: bool = False) -> Any:
        """Return the environments of an agent on worlds of a part, in which a call that is over starts again.

        Args:
            agent: agent with its environment and the arguments of that.
            part: part of a suite.
            scenario: scenario of the part.
            reads: observation that the policy takes.
            calls: number of calls.
            threads: threads that share the calls.
            log: keep of each call what `rows` needs.
        """
        raise ValueError(f"agent is to play {part.scenario}; allowed there: systems of rules")

    def reset_options(self, part: Part, pair: str) -> dict[str, Any]:
        """Return the options of `reset` that choose worlds of a part, with one of its pairs."""
        return {"pair": pair}

    def taking(self, envs: Any) -> tuple[Any, Take]:
        """Return the calls of environments as `FinishedCalls` has them, and the function that takes them when they are finished."""
        raise NotImplementedError

    @abstractmethod
    def rows(self, part: Part, scenario: Any, which: WorldKeys, finished: FinishedCalls) -> list[dict[str, Any]]:
        """Return a row for each call on worlds of a part, without what identifies its cell.

        It has `stratum`, the metrics, the identity columns that only this kind of calls has, the delay distribution `delays`, and perhaps a
        `timeline` (`vcgym.leaderboard.results.call_metrics.timelines`).
        """


def delays_of(cdfs: Mapping[str, DelayCdf]) -> list[dict[str, Any]]:
    """Return the column `delays` of a call from its delay distribution by accounting."""
    return [
        {"accounting": name, "packets_sent": int(cdf.packets_sent), "packets_within": cdf.packets_within.tolist()}
        for name, cdf in cdfs.items()
    ]


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
