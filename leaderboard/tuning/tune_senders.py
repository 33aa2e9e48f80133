"""What senders are tuned on: calls of the training split of a sending scenario, its kinds in turn, scored as its suite ranks."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.leaderboard.sending.rollout import Sender, play_sender
from vcgym.leaderboard.sending.suites import SENDING_SUITES
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.sending_scenarios import SendingScenario

PRIMARY = {suite.scenarios[0]: suite.primary for suite in SENDING_SUITES.values()}


class SenderGround(NamedTuple):
    """Calls on shared bottlenecks, see `vcgym.leaderboard.tuning.tuning.Ground`.

    Attributes:
        worlds: training worlds that each trial plays, with seeds from 0 and the scenario's kinds in turn.
        validation_worlds: as many of the validation split.
        scenario: where they are drawn, and the metric with it.
    """

    worlds: int
    validation_worlds: int
    scenario: str

    @property
    def folder(self) -> str:
        """Senders stand in conf/sender."""
        return "sender"

    @property
    def metric(self) -> str:
        """The primary metric of the scenario's suite."""
        return PRIMARY[self.scenario]

    def name(self, system: str) -> str:
        """A sender is tuned for a scenario, and called after both."""
        return f"{system}-{self.scenario}"

    def scores(self, sender: Sender, split: str) -> NDArray[np.float64]:
        """(worlds,) the metric of each call."""
        scenario, links = _links(self.scenario, split, self.worlds if split == "train" else self.validation_worlds)
        return np.array([found[self.metric] for found in play_sender(sender, links, scenario.traces, scenario.flows)])

    def spent(self, trials: int) -> dict[str, Any]:
        """What `trials` trials take."""
        return {**self._asdict(), "calls_in_all": trials * self.worlds}


@lru_cache(maxsize=2)
def _links(name: str, split: str, worlds: int) -> tuple[SendingScenario, list[SharedLink]]:
    scenario = SendingScenario(name)
    return scenario, [scenario.draw(split, seed, scenario.kinds[seed % len(scenario.kinds)]) for seed in range(worlds)]
