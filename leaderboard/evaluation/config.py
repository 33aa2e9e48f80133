"""Configs of `vcgym leaderboard` and of the commands that read or explain its results."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig, RayConfig
from vcgym.agents.config.names import AgentName, SystemName, Traces
from vcgym.agents.config.training import TrainConfig
from vcgym.leaderboard.evaluation.part import FITTED, declared

if TYPE_CHECKING:
    from vcgym.leaderboard.evaluation.suites import Suite

    SuiteName = str
else:
    SuiteName = Literal[*declared()["suites"], "replay", "rate-replay", FITTED]
    """Every suite, and those of your own traces."""


class SystemsConfig(Config):
    """Systems of rules on a suite.

    Attributes:
        suite: name of a suite (docs/rank.md); replay, rate-replay for your own traces, fitted for a scenario file fitted to them.
        traces: only with these three suites: a folder or files of traces, see docs/worlds.md; of capacity traces, see
            `vcgym.network.bottleneck.capacity.files`; or the file that `vcgym fit` wrote.
        packets: with suite=replay or fitted, length of the calls in slots of 10 ms.
        split: with traces of replay or rate-replay: all of them, or test, the part on which nothing is trained; by default test if the run
            trains on traces of your own, or plays an agent that was trained on some, else all.
        offsets: with suite=replay: own offsets of the paths' traces, or a common one for paths that were measured at one time.
        direct: with suite=replay: name of the path of `Direct`; None: the first by file name.
        systems: names of systems, at least one; None: those of the suite; [all]: all that fit it.
        data: folder of measured series and capacity traces; without it their worlds are left out.
    """

    suite: SuiteName = "default"
    traces: Traces | Annotated[list[Traces], Field(min_length=1)] | None = None
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = 6000
    split: Literal["test", "all"] | None = None
    offsets: Literal["own", "common"] = "own"
    direct: str | None = None
    systems: Annotated[list[SystemName], Field(min_length=1)] | None = None
    data: DataConfig = Field(default_factory=DataConfig)

    @model_validator(mode="after")
    def _only_replays_take_traces(self) -> Self:
        from vcgym.leaderboard.evaluation.kinds.paths import PATHS  # imported here, as below: they load the worlds
        from vcgym.leaderboard.evaluation.suites import PACKETS, REPLAYS
        from vcgym.network.scenarios.paths.fitted import ENDING

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
        return self

    def played_suite(self, on_traces: bool = False) -> "Suite":
        """Return the suite that is played; `on_traces` says that one of its agents was trained on traces of the user's own.

        Raises:
            DataError: the traces cannot be played.
        """
        from vcgym.leaderboard.evaluation.suites import SUITES, replay_suite

        if self.traces is None:
            return SUITES[self.suite]
        files = self.traces if isinstance(self.traces, list) else [self.traces]
        split = self.split or ("test" if on_traces or self.suite == FITTED else "all")
        return replay_suite(self.suite, [str(file) for file in files], self.packets, split, self.offsets, self.direct)


class BoardConfig(SystemsConfig):
    """Systems of rules on a suite, and the folder of its board.

    Attributes:
        folder: folder of results, tables, pictures and page; None: outputs/leaderboard/SUITE.
    """

    folder: AbsolutePath = Field(default_factory=lambda given: Path("outputs/leaderboard") / given.get("suite", "default"))


class SwapsConfig(BoardConfig):
    """Two systems are compared with those that take one control of the other.

    Attributes:
        systems: two different names, such as [CALL-PLAIN,CALL-LEARNED].
        threads: threads that share the calls; no effect on the results.
    """

    systems: Annotated[list[SystemName], Field(min_length=2, max_length=2)]
    threads: Annotated[int, Field(ge=1, le=256)] = 2

    @field_validator("systems")
    @classmethod
    def _differ(cls, systems: list[str]) -> list[str]:
        if len(set(systems)) < 2:
            raise ValueError(f"systems is {systems}; allowed: two different names, such as [CALL-PLAIN,CALL-LEARNED]")
        return systems


class OwnConfig(Config):
    """Methods of the user's own.

    Attributes:
        agents: your own methods by name on the board: agents.NAME=ONE or agents.NAME=[ONE,ANOTHER,...], one for each seed: a .zip saved by
            Stable-Baselines3, the folder of a finished study (`vcgym train folder=...`, every seed of it plays), module:name (also of a
            System of rules) or, over a bottleneck, an .onnx of the Bandwidth Estimation Challenge. Seeds are pooled into one row.
        agent_options: agent_options.NAME={interval: 50, ...}: arguments of the environment, as in training; a study and a zip of
            `vcgym.agents.sb3` carry them, and without `action` the form follows from the action space. Two more: env_id, id of the
            environment, of a function vcgym/Call-v1; normalize, the file of a VecNormalize, by default vecnormalize.pkl beside the zip.
    """

    agents: dict[str, Annotated[list[AgentName], Field(min_length=1)]] = Field(default_factory=dict)
    agent_options: dict[str, dict[str, Any]] = Field(default_factory=dict)

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


class LeaderboardConfig(BoardConfig, OwnConfig):
    """Ranking of systems and agents on a suite. For suites over paths a small agent is trained if there is none.

    Attributes:
        train: training of the agent of calls over paths, done once and resumed if interrupted; None: no training.
        threads: threads that share the calls played in this process; no effect on the results.
        workers: processes of a local Ray that play the calls; 0: play in this process. No effect on the results.
        ray: cluster to play on, regardless of `workers`; no effect on the results.
    """

    train: TrainConfig | None = Field(default_factory=TrainConfig)
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    workers: Annotated[int, Field(ge=0, le=1024)] = 0
    ray: RayConfig = Field(default_factory=RayConfig)

    def played_suite(self, on_traces: bool = False) -> "Suite":
        """Return the suite that is played, see `SystemsConfig.played_suite`."""
        return super().played_suite(on_traces or (self.train is not None and self.train.env.options.get("traces") is not None))

    def suites_of_traces(self) -> list["Suite"]:
        """Return the suite of the user's own traces for each split; none without traces."""
        splits = ("test",) if self.suite == FITTED else ("test", "all")
        return [self.model_copy(update={"split": split}).played_suite() for split in splits] if self.traces is not None else []

    @field_validator("train")
    @classmethod
    def _plays_the_suite(cls, train: TrainConfig | None) -> TrainConfig | None:
        from vcgym.leaderboard.evaluation.published import AGENT_ENV

        if train is not None:
            action = train.env.options.get("action")
            if train.env.id != AGENT_ENV or action not in ("discrete", "relative", "relative_discrete"):
                allowed = f"{AGENT_ENV} with action 'discrete', 'relative' or 'relative_discrete'"
                raise ValueError(f"train.env is {train.env.id} with action {action!r}; allowed: {allowed}")
        return train


class FairnessConfig(OwnConfig):
    """Calls of each rate rule share a bottleneck; or `systems` and `agents` share one with each rule, CUBIC and their like.

    Attributes:
        systems: names of senders; None: the rules alone.
        data: folder of measured series, as in `vcgym leaderboard`.
        folder: folder of the page, sending_fairness.md.
    """

    systems: Annotated[list[SystemName], Field(min_length=1)] | None = None
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/leaderboard/rate-v0")


class PageConfig(Config):
    """Page of all boards in a folder.

    Attributes:
        results: folder of the folders of the boards; report.html is written there.
    """

    results: AbsolutePath = Path("outputs/leaderboard")


class ExportConfig(Config):
    """A board as a table.

    Attributes:
        results: folder of the board.
        output: file to write: .tex for a LaTeX table of the systems that the terminal shows, .csv for the numbers of all of them.
        systems: names of systems that are shown as well.
    """

    results: AbsolutePath = Path("outputs/leaderboard/default")
    output: AbsolutePath
    systems: Annotated[list[str], Field(min_length=1)] | None = None


class ScoreConfig(Config):
    """Score of one rule on a small suite of training worlds, played in a process of its own.

    Attributes:
        rule: FILE.py with a class under the decorator `rule`, which is made with its defaults; FILE.py:NAME names one of several.
        compile_seconds: processor time in which it must be compiled.
        play_seconds: processor time in which it must have played.
    """

    rule: Annotated[str, Field(min_length=1)]
    compile_seconds: Annotated[float, Field(gt=0, le=3600)] = 120.0
    play_seconds: Annotated[float, Field(gt=0, le=3600)] = 5.0

    @property
    def place(self) -> tuple[Path, str]:
        """The absolute path of the file, and the name of the class; "" if the file has only one."""
        file, name = self.rule, ""
        if not file.endswith(".py"):
            file, _, name = file.rpartition(":")
        return Path(os.path.expanduser(file)).absolute(), name
