"""What the leaderboard run takes: typed counterpart of conf/leaderboard.yaml."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.leaderboard.bench.catalogue import CATALOGUE
from vcgym.leaderboard.evaluation.published import AGENT_ENV
from vcgym.leaderboard.evaluation.suites import PACKETS, REPLAY, SUITES, Suite, replay_suite
from vcgym.leaderboard.papers.truth.claims import SCENARIOS


class RayConfig(Config):
    """Where a Ray cluster is.

    Attributes:
        address: of a running cluster, "auto" for the one this machine belongs to; None: none.
    """

    address: Annotated[str, Field(min_length=1)] | None = None


class LeaderboardConfig(Config):
    """Rank every system of conf/system, a freshly trained agent and what was submitted, on a suite.

    Attributes:
        do: run the suite; add a submission and run what it has to play; verify the agents' scores by replaying their actions;
            page: one page over all suites whose results lie beside each other.
        suite: a key of `vcgym.leaderboard.evaluation.suites.SUITES`, or replay: traces of your own.
        traces: with suite=replay, and only then: a folder or files of traces, see `vcgym.network.scenarios.replay`.
        packets: with suite=replay, length of the calls in slots of 10 ms.
        systems: names of files of conf/system, at least one; None: all of them.
        train: the training of the agent; it is done once, and goes on where it was stopped. None: rules only.
        data: where measured series lie; without them replay worlds are left out.
        folder: of the results, table and page; with do=add, of the submission; with do=page, of one of the suites.
        board: with do=add, where the results are that the submission joins.
        threads: how many threads share the calls where they are played in this process; without effect on the results.
        workers: 0: play in this process; else in so many processes of a Ray started for it. Without effect on the results.
        ray: a cluster to play on, whatever `workers` says; without effect on the results.
    """

    do: Literal["run", "add", "verify", "page"] = "run"
    suite: str = "first"
    traces: AbsolutePath | Annotated[list[AbsolutePath], Field(min_length=1)] | None = None
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = PACKETS
    systems: Annotated[list[str], Field(min_length=1)] | None = None
    train: TrainConfig | None = Field(default_factory=TrainConfig)
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/leaderboard/first")
    board: AbsolutePath = Path("outputs/leaderboard/first")
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    workers: Annotated[int, Field(ge=0, le=1024)] = 0
    ray: RayConfig = Field(default_factory=RayConfig)

    @field_validator("suite")
    @classmethod
    def _known(cls, suite: str) -> str:
        if suite not in (*SUITES, REPLAY):
            raise ValueError(f"suite is {suite!r}; allowed: {', '.join((*SUITES, REPLAY))}")
        return suite

    @model_validator(mode="after")
    def _only_replay_takes_traces(self) -> Self:
        if (self.suite == REPLAY) != (self.traces is not None):
            raise ValueError(f"suite is {self.suite!r}, traces is {self.traces}; allowed: traces=FOLDER with suite={REPLAY}, and only then")
        if self.suite != REPLAY and self.packets != PACKETS:
            raise ValueError(f"suite is {self.suite!r}, packets is {self.packets}; allowed: {PACKETS}, but with suite={REPLAY}")
        return self

    def played_suite(self) -> Suite:
        """Return the suite that is played.

        Raises:
            DataError: traces that cannot be played.
        """
        if self.traces is None:
            return SUITES[self.suite]
        files = self.traces if isinstance(self.traces, list) else [self.traces]
        return replay_suite([str(file) for file in files], self.packets)

    @field_validator("train")
    @classmethod
    def _plays_the_suite(cls, train: TrainConfig | None) -> TrainConfig | None:
        if train is not None:
            action = train.env.options.get("action")
            if (train.env.id, action) != (AGENT_ENV, "discrete"):
                raise ValueError(f"train.env is {train.env.id} with action {action!r}; allowed: {AGENT_ENV} with action 'discrete'")
        return train


class TruthConfig(Config):
    """Which of the paper's claims hold, and where.

    Attributes:
        scenarios: scenarios that claims are about; None: all of them.
        seeds: worlds per pair; one leaves claims about a single pair without an interval.
        packets: length of the calls.
        threads: how many threads share the calls; without effect on the results.
        data: where measured series lie; without them replay worlds are left out.
        folder: receives truth.md and its picture.
    """

    scenarios: Annotated[list[str], Field(min_length=1)] | None = None
    seeds: Annotated[int, Field(ge=1, le=10_000)] = 4
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = 6000
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/truth")

    @field_validator("scenarios")
    @classmethod
    def _claimed(cls, scenarios: list[str] | None) -> list[str] | None:
        unknown = sorted(set(scenarios or ()) - set(SCENARIOS))
        if unknown:
            raise ValueError(f"scenarios has {unknown}; allowed: {', '.join(SCENARIOS)}")
        return scenarios


class BenchConfig(Config):
    """What vcgym-bench measures.

    Attributes:
        only: names of `vcgym.leaderboard.bench.catalogue.CATALOGUE`; None: all of them.
        rounds: rounds per figure, of which the best counts.
        round_s: shortest round, seconds.
        scale: share of the full size, for a quick look.
        data: where measured series lie; without them the replay figures are absent.
        folder: receives bench.json.
    """

    only: Annotated[list[str], Field(min_length=1)] | None = None
    rounds: Annotated[int, Field(ge=1, le=1000)] = 8
    round_s: Annotated[float, Field(ge=0.0, le=60.0)] = 0.2
    scale: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/bench")

    @field_validator("only")
    @classmethod
    def _listed(cls, only: list[str] | None) -> list[str] | None:
        unknown = [name for name in only or () if name not in CATALOGUE]
        if unknown:
            raise ValueError(f"only has {unknown}; allowed: {', '.join(CATALOGUE)}")
        return only
