"""Arguments of vcgym leaderboard: typed counterpart of conf/leaderboard.yaml."""

import builtins
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig, RayConfig
from vcgym.agents.config.names import AgentName, SystemName, Traces
from vcgym.agents.config.training import TrainConfig
from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.evaluation.part import FITTED
from vcgym.leaderboard.evaluation.published import AGENT_ENV
from vcgym.leaderboard.evaluation.suites import PACKETS, REPLAYS, SUITES, Suite, replay_suite
from vcgym.network.scenarios.paths.fitted import ENDING

SuiteName = Literal[
    "default", "paper-v0", "correlated-v0", "measured-v0", "replay-v0", "stress-v1", "scale-v0", "order-v0", "rate-v0", "calls-v0",
    "rmcat-v0", "rmcat-v1", "whole-v0", "protected-v0", "protected-link-v0", "conference-v0", "replay", "rate-replay", "fitted",
]  # fmt: skip
"""Every suite, and those of your own traces."""


class LeaderboardConfig(Config):
    """Ranking of systems, agents and submissions on a suite.

    Attributes:
        do: run: play the suite; add: add a submission and play its calls; verify: check the agents' scores by replaying their actions;
            page: write one page over all suites with results in the same parent folder; fairness: let calls of each rate rule share a
            bottleneck, or `systems` and `agents` with each rule, CUBIC and their like; courses: draw `systems` over time, in each case of
            rmcat-v0, or of suite rmcat-v1, or with suite conference-v0 on the dumbbell; swaps: say which control explains the difference of
            two `systems`, by taking one control at a time from the other; export: write the board in `folder` to `output`.
        list: only print the systems that play the suite, with their rules, parameters and sources.
        suite: default, paper-v0, correlated-v0, measured-v0, replay-v0, stress-v1, scale-v0; of senders order-v0, rate-v0, calls-v0,
            rmcat-v0, rmcat-v1; whole-v0; protected-v0, protected-link-v0; conference-v0; or replay, rate-replay for your own traces,
            fitted for a scenario file fitted to them. See docs/rank.md.
        traces: only with these three suites: a folder or files of traces, see docs/worlds.md; of capacity traces, see
            `vcgym.network.bottleneck.capacity.files`; or the file that `vcgym data do=fit` wrote.
        packets: with suite=replay or fitted, length of the calls in slots of 10 ms.
        split: with traces of replay or rate-replay: all of them, or test, the part on which nothing is trained; by default test if the run
            trains on traces of your own, or plays an agent that was trained on some, else all.
        offsets: with suite=replay: own offsets of the paths' traces, or a common one for paths that were measured at one time.
        direct: with suite=replay: name of the path of `Direct`; None: the first by file name.
        systems: names of systems, at least one; None: those of the suite; [all]: all that fit it.
        train: training of the agent of calls over paths, done once and resumed if interrupted; None: no training.
        agents: your own methods by name on the board: agents.NAME=ONE or agents.NAME=[ONE,ANOTHER,...], one for each seed: a .zip saved by
            Stable-Baselines3, the folder of a finished study (`vcgym train folder=...`, every seed of it plays), module:name (also of a
            System of rules) or, over a bottleneck, an .onnx of the Bandwidth Estimation Challenge. Seeds are pooled into one row.
        agent_options: agent_options.NAME={interval: 50, ...}: arguments of the environment, as in training; a study and a zip of
            `vcgym.agents.sb3` carry them, and without `action` the form follows from the action space. Two more: env_id, id of the
            environment, of a function vcgym/Call-v1; normalize, the file of a VecNormalize, by default vecnormalize.pkl beside the zip.
        data: folder of measured series and capacity traces; without it their worlds are left out.
        folder: folder of results, table and page; with do=add, of the submission; with do=page, of one of the suites.
        board: with do=add, folder of the results that the submission joins.
        output: with do=export, a file: .tex for a LaTeX table of the systems that the terminal shows, .csv for the numbers of all of them.
        threads: threads that share the calls played in this process; no effect on the results.
        workers: processes of a local Ray that play the calls; 0: play in this process. No effect on the results.
        ray: cluster to play on, regardless of `workers`; no effect on the results.
    """

    do: Literal["run", "add", "verify", "page", "fairness", "courses", "swaps", "export"] = "run"
    list: Literal["systems"] | None = None
    suite: SuiteName = "default"
    traces: Traces | Annotated[builtins.list[Traces], Field(min_length=1)] | None = None
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = PACKETS
    split: Literal["test", "all"] | None = None
    offsets: Literal["own", "common"] = "own"
    direct: str | None = None
    systems: Annotated[builtins.list[SystemName], Field(min_length=1)] | None = None
    train: TrainConfig | None = Field(default_factory=TrainConfig)
    agents: dict[str, Annotated[builtins.list[AgentName], Field(min_length=1)]] = Field(default_factory=dict)
    agent_options: dict[str, dict[str, Any]] = Field(default_factory=dict)
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/leaderboard/default")
    board: AbsolutePath = Path("outputs/leaderboard/default")
    output: AbsolutePath | None = None
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    workers: Annotated[int, Field(ge=0, le=1024)] = 0
    ray: RayConfig = Field(default_factory=RayConfig)

    @field_validator("agents", mode="before")
    @classmethod
    def _lists(cls, agents: Any) -> Any:
        return {name: [one] if isinstance(one, str) else one for name, one in agents.items()} if isinstance(agents, dict) else agents

    @field_validator("agent_options", mode="before")
    @classmethod
    def _by_method(cls, options: Any, info: ValidationInfo) -> Any:
        if unknown := sorted((options or {}).keys() - info.data.get("agents", options or {}).keys()):
            raise ValueError(f"agent_options has {', '.join(unknown)}; allowed: agent_options.NAME={{...}} with a NAME of agents")
        return options or {}

    @model_validator(mode="after")
    def _only_replays_take_traces(self) -> Self:
        if (self.suite in REPLAYS) != (self.traces is not None):
            allowed = "traces=FOLDER with suite=replay or rate-replay, traces=FILE.json with suite=fitted, and only then"
            raise ValueError(f"suite is {self.suite!r}, traces is {self.traces}; allowed: {allowed}")
        if self.suite == FITTED and not (isinstance(self.traces, Path) and self.traces.suffix == ENDING):
            raise ValueError(f"suite is {self.suite!r}, traces is {self.traces}; allowed: one scenario file, *{ENDING}")
        if REPLAYS.get(self.suite) != PATHS and self.packets != PACKETS:
            raise ValueError(f"suite is {self.suite!r}, packets is {self.packets}; allowed: {PACKETS}, but with suite=replay or fitted")
        if self.suite != "replay" and (self.offsets, self.direct) != ("own", None):
            raise ValueError(f"suite is {self.suite!r}, offsets is {self.offsets!r}, direct is {self.direct!r}; allowed: with suite=replay")
        if self.split == "all" and (self.traces is None or self.suite == FITTED):
            raise ValueError("split is 'all'; allowed: with suite=replay or rate-replay and traces=FOLDER")
        if (self.do == "export") != (self.output is not None and self.output.suffix in (".tex", ".csv")):
            raise ValueError(f"do is {self.do!r}, output is {self.output}; allowed: do=export output=FILE.tex or FILE.csv, and only then")
        if self.do == "swaps" and (len(self.systems or ()) != 2 or len(set(self.systems or ())) != 2):
            raise ValueError(f"systems is {self.systems}; allowed with do=swaps: two different names, such as [CALL-PLAIN,CALL-LEARNED]")
        return self

    def played_suite(self, on_traces: bool = False) -> Suite:
        """Return the suite that is played; `on_traces` says that one of its agents was trained on traces of the user's own.

        Raises:
            DataError: the traces cannot be played.
        """
        if self.traces is None:
            return SUITES[self.suite]
        files = self.traces if isinstance(self.traces, builtins.list) else [self.traces]
        trains = self.train is not None and self.train.env.options.get("traces") is not None
        split = self.split or ("test" if on_traces or trains or self.suite == FITTED else "all")
        return replay_suite(self.suite, [str(file) for file in files], self.packets, split, self.offsets, self.direct)

    def suites_of_traces(self) -> builtins.list[Suite]:
        """Return the suite of the user's own traces for each split; none without traces."""
        splits = ("test",) if self.suite == FITTED else ("test", "all")
        return [self.model_copy(update={"split": split}).played_suite() for split in splits] if self.traces is not None else []

    @field_validator("train")
    @classmethod
    def _plays_the_suite(cls, train: TrainConfig | None) -> TrainConfig | None:
        if train is not None:
            action = train.env.options.get("action")
            if train.env.id != AGENT_ENV or action not in ("discrete", "relative", "relative_discrete"):
                allowed = f"{AGENT_ENV} with action 'discrete', 'relative' or 'relative_discrete'"
                raise ValueError(f"train.env is {train.env.id} with action {action!r}; allowed: {allowed}")
        return train
