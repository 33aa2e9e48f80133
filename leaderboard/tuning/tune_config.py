"""Arguments of vcgym-tune: typed counterpart of conf/tune.yaml and conf/tune/*.yaml."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field

from vcgym.agents.config.base import AbsolutePath, Config, RayConfig
from vcgym.agents.sweeps.search import Domain
from vcgym.leaderboard.tuning.tune_calls import CallTask
from vcgym.leaderboard.tuning.tune_senders import SenderTask
from vcgym.leaderboard.tuning.tuning import Search, TuningTask


class TunedRule(Config):
    """File of conf/tune.

    Attributes:
        rule: the class of the rule, as `_target_` names it.
        parameters: where each is drawn; `lag.quantile` is one of a rule within.
    """

    rule: str
    parameters: Annotated[dict[str, Domain], Field(min_length=1)]


def load_spaces() -> dict[str, dict[str, Domain]]:
    """Return the search space of each rule of conf/tune.

    Raises:
        ValueError: a file is not as `TunedRule` says.
    """
    folder = sorted(files("vcgym.conf").joinpath("tune").iterdir(), key=lambda file: file.name)
    rules = [TunedRule.model_validate(yaml.safe_load(file.read_text(encoding="utf-8"))) for file in folder]
    return {rule.rule: rule.parameters for rule in rules}


class SendersConfig(Config):
    """Tune senders, each with the same budget: 256 trials of 96 calls of about 60 s, a report every 100 ms, are 15 million reports.

    Attributes:
        senders: names of systems over a bottleneck.
        scenarios: each is tuned on each of them apart, for the metric that its suite ranks by.
        trials: sets of values, the published ones among them.
        worlds: training worlds that each trial plays, the scenario's kinds in turn.
        validation_worlds: played before and after; they decide nothing.
    """

    senders: list[str]
    scenarios: Annotated[list[Literal["order", "rate"]], Field(min_length=1)]
    trials: Annotated[int, Field(ge=2, le=100_000)] = 256
    worlds: Annotated[int, Field(ge=1, le=100_000)] = 96
    validation_worlds: Annotated[int, Field(ge=2, le=100_000)] = 96

    def tasks(self) -> list[TuningTask]:
        """Return the worlds that senders are tuned on, scenario by scenario."""
        return [SenderTask(self.worlds, self.validation_worlds, scenario) for scenario in self.scenarios]


class RoundConfig(Config):
    """Round: trials of each rule or pair, training worlds of a trial, and how many pairs are left afterwards."""

    trials: Annotated[int, Field(ge=2, le=100_000)]
    worlds: Annotated[int, Field(ge=1, le=100_000)]
    left: Annotated[int, Field(ge=1, le=100_000)]


class PairModeConfig(Config):
    """Search of pairs in one mode of the scenario.

    Attributes:
        mode: of the scenario.
        router: system whose router stands in for the others in the first round.
        receiver: system whose receiver does so.
        rounds: the first of rules alone, the others of pairs; a pair of the last round has the trials of all of them.
    """

    mode: str
    router: str
    receiver: str
    rounds: Annotated[list[RoundConfig], Field(min_length=2)]


class PairsConfig(Config):
    """Tune all pairs of a router and a receiver, in rounds (`vcgym.leaderboard.tuning.tune_pairs`).

    Attributes:
        routers: names of systems, whose routers are taken.
        receivers: names of systems, whose receivers are taken.
        starts: names of tuned systems, whose values a pair begins with besides the published ones; of two with a rule the better one.
        modes: pairs are tuned for each mode apart; none: no pairs.
        validation_worlds: played by the pairs left at the end.
    """

    routers: list[str]
    receivers: list[str]
    starts: list[str]
    modes: list[PairModeConfig]
    validation_worlds: Annotated[int, Field(ge=2, le=100_000)] = 300


class TuneConfig(Config):
    """Tune systems, each with the same budget.

    The usual one is that of an agent's sweep (`vcgym.agents.config.training.SweepConfig`): 4 trials of 1,000,000 decisions of 10 packets
    are 40 million packets, and so are 64 trials of 104 calls of 6,000 packets.

    Attributes:
        systems: names of systems over paths; none: senders alone.
        sending: which senders besides.
        pairs: which pairs of a router and a receiver besides.
        trials: sets of values, the published ones among them.
        worlds: training worlds that each trial plays.
        validation_worlds: played before and after; they decide nothing.
        packets: length of the calls.
        scenario: where worlds are drawn.
        mode: of the scenario.
        seed: of the draws of values.
        workers: trials at a time.
        ray: a cluster to search on.
        folder: receives a file for each system; those of data/tuned are copied from there.
    """

    systems: list[str]
    sending: SendersConfig
    pairs: PairsConfig
    trials: Annotated[int, Field(ge=2, le=100_000)] = 64
    worlds: Annotated[int, Field(ge=1, le=100_000)] = 104
    validation_worlds: Annotated[int, Field(ge=2, le=100_000)] = 96
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = 6000
    scenario: str = "wonderproxy"
    mode: str = "correlated"
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    workers: Annotated[int, Field(ge=1, le=1024)] = 2
    ray: RayConfig = Field(default_factory=RayConfig)
    folder: AbsolutePath = Path("outputs/tune")

    def task(self) -> TuningTask:
        """Return the worlds that systems of calls over paths are tuned on."""
        return CallTask(self.worlds, self.validation_worlds, self.packets, self.scenario, self.mode)

    def pair_task(self, one: PairModeConfig) -> CallTask:
        """Return the worlds that pairs are tuned on in a mode, those of the first round."""
        return CallTask(one.rounds[0].worlds, self.pairs.validation_worlds, self.packets, self.scenario, one.mode)

    def how(self, trials: int) -> Search:
        """Return a search of so many trials."""
        return Search(trials, self.seed, self.workers)
