"""Tuning tasks, each with calls of several kinds of worlds: systems over paths scored by the E-model's R, senders by their suite's metric.

A kind of worlds is a scenario and its mode, "table1 paper", or of senders a scenario and its kind, "calls gcc". Kinds that are alike have
a group, which is left out as a whole where a choice is judged (`vcgym.leaderboard.tuning.regret`).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.kinds.sender import play_sender
from vcgym.leaderboard.evaluation.suites import REPLAYS, SUITES, has_data
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw


class Kinds(NamedTuple):
    """Kinds of worlds, and the group of each."""

    names: tuple[str, ...]
    groups: tuple[str, ...]

    def of(self, group: str) -> "Kinds":
        """Return the kinds of one group."""
        names = tuple(name for name, other in zip(*self, strict=True) if other == group)
        return Kinds(names, (group,) * len(names))


def kinds_of(groups: Mapping[str, Sequence[str]]) -> Kinds:
    """Return the kinds of groups whose data are there."""
    found = [(kind, group) for group, kinds in groups.items() for kind in kinds if has_data(kind.partition(" ")[0])]
    return Kinds(tuple(kind for kind, _ in found), tuple(group for _, group in found))


class CallTask(NamedTuple):
    """Calls over paths.

    Attributes:
        worlds: training worlds of each kind per trial, with seeds from 0 and cycling over the pairs of the split.
        validation_worlds: number of worlds of each kind of the validation split.
        packets: length of the calls.
        kinds: kinds of worlds; strata have their declared weights.
        traces: files or folder of traces of scenario replay.
        card: hash of the traces; a search of other traces is another search.
    """

    worlds: int
    validation_worlds: int
    packets: int
    kinds: Kinds
    traces: tuple[str, ...] = ()
    card: str = ""

    @property
    def metric(self) -> str:
        """Metric of the objective, the E-model's R; more is better."""
        return "r"

    def name(self, system: str) -> str:
        """Return the name of a system tuned here, without the ending: on your own traces it has the scenario."""
        return f"{system}-{self.kinds.names[0].partition(' ')[0]}" if self.traces else system

    def scores(self, system: System, split: str) -> NDArray[np.float64]:
        """Return (kinds, worlds) R of each call; 0 for a call that played nothing."""
        worlds = self.worlds if split == "train" else self.validation_worlds
        calls = (_calls(kind, self.packets, self.traces, split, worlds) for kind in self.kinds.names)
        return np.array([of_kind.scores(system.path, system.playout) for of_kind in calls])

    def of(self, group: str) -> Self:
        """Return the task of the kinds of one group alone."""
        return self._replace(kinds=self.kinds.of(group))

    def spent(self, trials: int) -> dict[str, Any]:
        """Return the cost of `trials` trials."""
        packets = len(self.kinds.names) * self.worlds * self.packets
        return {**spent_on(self), "packets_per_trial": packets, "packets_in_all": trials * packets}


def drawn(scenario: Scenario, split: str, worlds: int) -> list[WorldDraw]:
    """Sample worlds with seeds from 0, cycling over the pairs of the split, with strata by weight."""
    pairs = scenario.pairs(split)
    return [scenario.draw(split, seed, pairs[seed % len(pairs)]) for seed in range(worlds)]


def spent_on(task: Any) -> dict[str, Any]:
    """Return the fields of a task for its study: kinds by their names, traces only by their hash, and only if there are any."""
    found = task._asdict() | {"kinds": list(task.kinds.names)}
    return {name: value for name, value in found.items() if name != "traces" and value != ""}


@lru_cache(maxsize=48)
def _calls(kind: str, packets: int, traces: tuple[str, ...], split: str, worlds: int) -> TrainingCalls:
    name, mode = kind.split()
    scenario = Scenario(name, mode, packets, traces=traces or None)
    return TrainingCalls(scenario, drawn(scenario, split, worlds))


class SenderTask(NamedTuple):
    """Calls over bottlenecks; for what else it has see `CallTask`.

    Attributes:
        worlds: training worlds of each kind per trial.
        validation_worlds: number of worlds of each kind of the validation split.
        scenario: scenario whose suite determines the metric and whose name the tuned forms have.
        kinds: kinds of worlds; their calls are as those of the scenario.
        traces: files or folder of capacity traces of scenario rate-replay.
        card: hash of the traces; a search of other traces is another search.
    """

    worlds: int
    validation_worlds: int
    scenario: str
    kinds: Kinds
    traces: tuple[str, ...] = ()
    card: str = ""

    @property
    def metric(self) -> str:
        """Ranked metric of the scenario's suite."""
        by_scenario = {suite.scenarios[0]: suite.kind for suite in SUITES.values()} | REPLAYS
        return by_scenario[self.scenario].columns.ranked_by

    def name(self, system: str) -> str:
        """Return the name of a tuned system: system and scenario."""
        return f"{system}-{self.scenario}"

    def scores(self, system: System, split: str) -> NDArray[np.float64]:
        """Return (kinds, worlds) the metric of each call."""
        worlds = self.worlds if split == "train" else self.validation_worlds
        found: dict[str, Sequence[float]] = {}
        for name in dict.fromkeys(kind.partition(" ")[0] for kind in self.kinds.names):
            of_scenario = [kind for kind in self.kinds.names if kind.partition(" ")[0] == name]
            links = _links(name, self.traces, split, tuple(kind.partition(" ")[2] for kind in of_scenario), worlds)
            values = [call.metrics[self.metric] for call in play_sender(system, links).calls]
            found |= {kind: values[number * worlds :][:worlds] for number, kind in enumerate(of_scenario)}
        return np.array([found[kind] for kind in self.kinds.names])

    def of(self, group: str) -> Self:
        """Return the task of the kinds of one group alone."""
        return self._replace(kinds=self.kinds.of(group))

    def spent(self, trials: int) -> dict[str, Any]:
        """Return the cost of `trials` trials."""
        return {**spent_on(self), "calls_in_all": trials * len(self.kinds.names) * self.worlds}


@lru_cache(maxsize=8)
def _links(name: str, traces: tuple[str, ...], split: str, kinds: tuple[str, ...], worlds: int) -> list[SharedLink]:
    scenario = SendingScenario(name, traces=traces or None)
    every = scenario.kinds
    seeds = {kind: range(every.index(kind), worlds * len(every), len(every)) for kind in kinds}
    return [scenario.draw(split, seed, kind) for kind in kinds for seed in seeds[kind]]


TuningTask = CallTask | SenderTask
"""Worlds for tuning and their score; it is sent to other processes, so it has plain values."""
