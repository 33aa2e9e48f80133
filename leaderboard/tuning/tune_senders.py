"""Tuning task for senders: calls of the training split of a sending scenario, cycling over its kinds, scored by its suite's metric."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.rollouts.sender_rollout import play_sender
from vcgym.leaderboard.evaluation.suites import REPLAYS, SUITES
from vcgym.leaderboard.tuning.tune_calls import spent_on
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario


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
