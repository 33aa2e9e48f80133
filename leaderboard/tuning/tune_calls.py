"""Tuning tasks, each with calls of the training split of a scenario.

Systems over paths: cycling over the pairs of the split, scored by the E-model's R. Senders: cycling over the scenario's kinds, scored by
its suite's metric.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.rollouts.sender_rollout import play_sender
from vcgym.leaderboard.evaluation.suites import REPLAYS, SUITES
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw


class CallTask(NamedTuple):
    """Calls, see `vcgym.leaderboard.tuning.tuning.TuningTask`.

    Attributes:
        worlds: training worlds per trial, with seeds from 0 and cycling over the pairs of the split.
        validation_worlds: number of worlds of the validation split.
        packets: length of the calls.
        scenario: recipe of the worlds; strata have their declared weights.
        mode: mode of the scenario.
        traces: files or folder of traces of scenario replay.
        card: hash of the traces; a search of other traces is another search.
    """

    worlds: int
    validation_worlds: int
    packets: int
    scenario: str
    mode: str
    traces: tuple[str, ...] = ()
    card: str = ""

    @property
    def metric(self) -> str:
        """Name of the E-model's R."""
        return "r"

    def name(self, system: str) -> str:
        """Return the system's name, on your own traces with the scenario."""
        return f"{system}-{self.scenario}" if self.traces else system

    def scores(self, system: System, split: str) -> NDArray[np.float64]:
        """Return (worlds,) R of each call; 0 for a call that played nothing."""
        worlds = self.worlds if split == "train" else self.validation_worlds
        return _calls(self.scenario, self.mode, self.packets, self.traces, split, worlds).scores(system.path, system.playout)

    def spent(self, trials: int) -> dict[str, Any]:
        """Return the cost of `trials` trials."""
        packets = self.worlds * self.packets
        return {**spent_on(self), "packets_per_trial": packets, "packets_in_all": trials * packets}


def drawn(scenario: Scenario, split: str, worlds: int) -> list[WorldDraw]:
    """Sample worlds with seeds from 0, cycling over the pairs of the split, with strata by weight."""
    pairs = scenario.pairs(split)
    return [scenario.draw(split, seed, pairs[seed % len(pairs)]) for seed in range(worlds)]


def spent_on(task: Any) -> dict[str, Any]:
    """Return the fields of a task for its study: traces only by their hash, and only if there are any."""
    return {name: value for name, value in task._asdict().items() if name != "traces" and value != ""}


@lru_cache(maxsize=2)
def _calls(name: str, mode: str, packets: int, traces: tuple[str, ...], split: str, worlds: int) -> TrainingCalls:
    scenario = Scenario(name, mode, packets, traces=traces or None)
    return TrainingCalls(scenario, drawn(scenario, split, worlds))


class SenderTask(NamedTuple):
    """Calls over bottlenecks, see `vcgym.leaderboard.tuning.tuning.TuningTask`.

    Attributes:
        worlds: training worlds per trial, with seeds from 0 and cycling over the scenario's kinds.
        validation_worlds: number of worlds of the validation split.
        scenario: recipe of the worlds; its suite determines the metric.
        traces: files or folder of capacity traces of scenario rate-replay.
        card: hash of the traces; a search of other traces is another search.
    """

    worlds: int
    validation_worlds: int
    scenario: str
    traces: tuple[str, ...] = ()
    card: str = ""

    @property
    def metric(self) -> str:
        """Ranked metric of the scenario's suite."""
        by_scenario = {suite.scenarios[0]: suite.stages for suite in SUITES.values()} | REPLAYS
        return by_scenario[self.scenario][-1].columns.ranked_by

    def name(self, system: str) -> str:
        """Return the name of a tuned system: system and scenario."""
        return f"{system}-{self.scenario}"

    def scores(self, system: System, split: str) -> NDArray[np.float64]:
        """Return (worlds,) the metric of each call."""
        scenario, links = _links(self.scenario, self.traces, split, self.worlds if split == "train" else self.validation_worlds)
        return np.array([found[self.metric] for found in play_sender(system, links, scenario.traces, scenario.flows).metrics])

    def spent(self, trials: int) -> dict[str, Any]:
        """Return the cost of `trials` trials."""
        return {**spent_on(self), "calls_in_all": trials * self.worlds}


@lru_cache(maxsize=2)
def _links(name: str, traces: tuple[str, ...], split: str, worlds: int) -> tuple[SendingScenario, list[SharedLink]]:
    scenario = SendingScenario(name, traces=traces or None)
    return scenario, [scenario.draw(split, seed, scenario.kinds[seed % len(scenario.kinds)]) for seed in range(worlds)]
