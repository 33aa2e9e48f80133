"""Arguments of vcgym tune: typed counterpart of conf/tune.yaml and conf/tune_ranges.yaml."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import Field, TypeAdapter, model_validator

from vcgym.agents.config.base import AbsolutePath, Config, RayConfig
from vcgym.agents.sweeps.search import Domain
from vcgym.baselines.configured import class_named
from vcgym.leaderboard.tuning.tune_calls import CallTask, SenderTask, kinds_of
from vcgym.leaderboard.tuning.tuning import Search, TuningTask
from vcgym.network.scenarios.bottleneck.recipe import data_hash
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario

REPLAY, RATE_REPLAY = "replay", "rate-replay"
"""Scenarios of your own traces."""


def load_spaces() -> dict[str, dict[str, Domain]]:
    """Return the domain of each parameter of each rule of conf/tune_ranges.yaml, whose class is named as in a saved `_target_`.

    Raises:
        ValueError: a domain is malformed.
    """
    written = yaml.safe_load(files("vcgym.conf").joinpath("tune_ranges.yaml").read_text(encoding="utf-8"))
    spaces = TypeAdapter(dict[str, Annotated[dict[str, Domain], Field(min_length=1)]]).validate_python(written)
    return {class_named(name): space for name, space in spaces.items()}


class SendersConfig(Config):
    """Tuning of senders with equal budgets: 48 trials of 44 calls of about 60 s with a report every 100 ms are 1.3 million reports.

    Attributes:
        senders: names of systems over a bottleneck.
        scenarios: scenarios, rate-replay for traces of your own; each sender is tuned on each of them separately, for the ranked metric of
            its suite.
        kinds: kinds of worlds by scenario and group; without the data of measured ones, the others.
        trials: sets of values, including the published ones.
        worlds: training worlds of each kind per trial.
        validation_worlds: validation worlds of each kind, which judge what was chosen without the kind's group.
    """

    senders: list[str]
    scenarios: Annotated[list[Literal["order", "rate", "rate-replay"]], Field(min_length=1)]
    kinds: dict[str, dict[str, list[str]]] = Field(default_factory=dict)
    trials: Annotated[int, Field(ge=2, le=100_000)] = 48
    worlds: Annotated[int, Field(ge=2, le=100_000)] = 4
    validation_worlds: Annotated[int, Field(ge=2, le=100_000)] = 12

    @model_validator(mode="after")
    def _kinds_are_named(self) -> Self:
        if missing := [scenario for scenario in self.scenarios if self.senders and scenario not in (RATE_REPLAY, *self.kinds)]:
            raise ValueError(f"kinds has {list(self.kinds)}, not {missing}; allowed: kinds of each of the scenarios")
        return self

    def tasks(self, traces: tuple[str, ...]) -> list[TuningTask]:
        """Return the tuning task of each scenario.

        Raises:
            DataError: the traces cannot be played.
        """
        return [self._task(scenario, traces) for scenario in self.scenarios]

    def _task(self, scenario: str, traces: tuple[str, ...]) -> TuningTask:
        if scenario == RATE_REPLAY:
            card = data_hash(SendingScenario(scenario, traces=traces))
            return SenderTask(self.worlds, self.validation_worlds, scenario, kinds_of({REPLAY: [f"{RATE_REPLAY} {REPLAY}"]}), traces, card)
        return SenderTask(self.worlds, self.validation_worlds, scenario, kinds_of(self.kinds[scenario]))


class RoundConfig(Config):
    """Round of the search: trials per rule or pair, training worlds per trial, and number of pairs that remain."""

    trials: Annotated[int, Field(ge=2, le=100_000)]
    worlds: Annotated[int, Field(ge=1, le=100_000)]
    left: Annotated[int, Field(ge=1, le=100_000)]


class PairModeConfig(Config):
    """Search for pairs in one mode of the scenario.

    Attributes:
        mode: mode of the scenario.
        router: system whose router is paired with each receiver in the first round.
        receiver: system whose receiver is paired with each router in the first round.
        rounds: first a round of single rules, then rounds of pairs; a pair of the last round has the trials of all rounds.
    """

    mode: str
    router: str
    receiver: str
    rounds: Annotated[list[RoundConfig], Field(min_length=2)]


class PairsConfig(Config):
    """Tuning of all pairs of a router and a receiver in rounds (`vcgym.leaderboard.tuning.tune_pairs`).

    Attributes:
        routers: names of systems whose routers are used.
        receivers: names of systems whose receivers are used.
        starts: names of tuned systems whose values are initial values in addition to the published ones; if two have a rule, the better
            one.
        modes: modes, tuned separately; empty: no pairs.
        scenario: scenario of the worlds.
        packets: length of the calls.
        validation_worlds: validation worlds, played by the remaining pairs.
    """

    routers: list[str]
    receivers: list[str]
    starts: list[str]
    modes: list[PairModeConfig]
    scenario: str = "wonderproxy"
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = 6000
    validation_worlds: Annotated[int, Field(ge=2, le=100_000)] = 300


class TuneConfig(Config):
    """Tuning of systems with equal budgets.

    The default budget is that of an agent's sweep (`vcgym.agents.config.training.SweepConfig`): 4 trials of 1,000,000 decisions of 10
    packets are 40 million packets, and so are 60 trials of 12 calls of 4,000 packets of each of 14 kinds.

    Attributes:
        systems: names of systems over paths; empty: none.
        sending: senders to tune as well.
        pairs: pairs of a router and a receiver to tune as well.
        kinds: kinds of worlds of systems over paths, "scenario mode", by group; without the data of measured ones, the others.
        trials: sets of values, including the published ones.
        worlds: training worlds of each kind per trial.
        validation_worlds: validation worlds of each kind, which judge what was chosen without the kind's group.
        packets: length of the calls.
        scenario: scenario of the worlds in place of `kinds`; None: those kinds.
        mode: mode of that scenario.
        traces: with scenario=replay or sending.scenarios=[rate-replay] a folder or files of your own traces, as the suites of these names
            take them: their training part tunes, their validation part judges, their test part is left to the board.
        seed: seed of the sampling of values.
        workers: concurrent trials.
        ray: cluster to search on.
        folder: folder for a file per system; copy them to data/tuned to use them.
    """

    systems: list[str]
    sending: SendersConfig
    pairs: PairsConfig
    kinds: dict[str, list[str]] = Field(default_factory=dict)
    trials: Annotated[int, Field(ge=2, le=100_000)] = 60
    worlds: Annotated[int, Field(ge=2, le=100_000)] = 12
    validation_worlds: Annotated[int, Field(ge=2, le=100_000)] = 48
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = 4000
    scenario: str | None = None
    mode: str = "correlated"
    traces: AbsolutePath | Annotated[list[AbsolutePath], Field(min_length=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    workers: Annotated[int, Field(ge=1, le=1024)] = 2
    ray: RayConfig = Field(default_factory=RayConfig)
    folder: AbsolutePath = Path("outputs/tune")

    @model_validator(mode="after")
    def _traces_are_played(self) -> Self:
        taken = [bool(self.systems) and self.scenario == REPLAY, bool(self.sending.senders) and RATE_REPLAY in self.sending.scenarios]
        if any(taken) != (self.traces is not None) or all(taken):
            allowed = "traces=FOLDER with scenario=replay mode=replay, or with systems=[] sending.scenarios=[rate-replay], and only then"
            given = f"scenario is {self.scenario}, sending.scenarios {self.sending.scenarios}, traces {self.traces}"
            raise ValueError(f"{given}; allowed: {allowed}")
        return self

    @property
    def trace_files(self) -> tuple[str, ...]:
        """Return the files or folder of traces; empty without."""
        found = self.traces if isinstance(self.traces, list) else [self.traces] if self.traces else []
        return tuple(map(str, found))

    def task(self) -> TuningTask:
        """Return the tuning task for systems over paths.

        Raises:
            DataError: the traces cannot be played.
        """
        traces = self.trace_files if self.scenario == REPLAY else ()
        card = Scenario(REPLAY, self.mode, self.packets, traces=traces).layout.card if traces else ""
        groups = {self.scenario: [f"{self.scenario} {self.mode}"]} if self.scenario else self.kinds
        return CallTask(self.worlds, self.validation_worlds, self.packets, kinds_of(groups), traces, card)

    def pair_task(self, one: PairModeConfig) -> CallTask:
        """Return the tuning task for pairs in a mode, with the worlds of the first round."""
        kind = f"{self.pairs.scenario} {one.mode}"
        groups = {self.pairs.scenario: [kind]}
        return CallTask(one.rounds[0].worlds, self.pairs.validation_worlds, self.pairs.packets, kinds_of(groups))

    def pair_judge(self, one: PairModeConfig) -> CallTask:
        """Return the task that judges pairs of a mode: the other kinds of this mode, and measured ones."""
        every = [kind for kinds in self.kinds.values() for kind in kinds if kind != f"{self.pairs.scenario} {one.mode}"]
        others = [kind for kind in every if kind.split()[1] in (one.mode, REPLAY)]
        return CallTask(self.worlds, self.validation_worlds, self.packets, kinds_of({one.mode: others}))

    def how(self, trials: int) -> Search:
        """Return the settings of a search with `trials` trials."""
        return Search(trials, self.seed)
