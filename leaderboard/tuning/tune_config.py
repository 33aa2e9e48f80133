"""Config of vcgym tune."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from vcgym.agents.config.base import AbsolutePath, Config, RayConfig

REPLAY, RATE_REPLAY = "replay", "rate-replay"
"""Scenarios of your own traces."""


_SYSTEMS = [
    "DRT-BF", "DRT-BFP", "DRT-CNT", "DRT-EWMA", "DRT-FIX", "DRT-NEQ", "DRT-QTL", "DRT-WM", "DTS-WM", "GRD-WM", "GRD-WMR", "LIN-WM",
    "SWTS-WM", "VCR-WM", "VCR2-WM", "VCR5O-WM", "VIA-WM",
]  # fmt: skip
_KINDS = {
    "correlated": ["wonderproxy correlated", "table1 correlated", "synthetic-9 correlated"],
    "paper": ["wonderproxy paper", "table1 paper", "cloud paper", "synthetic-9 paper"],
    "world": ["world correlated", "world paper"],
    "stress": ["stress correlated"],
    "5g": ["5g-urban replay", "5g-weak replay"],
    "satellites": ["starlink-ping replay", "leo replay"],
}
_SENDERS = ["FIXED", "GCC-DRAFT", "GCC-WEBRTC", "NADA", "NADA-XMAX", "SBPN2", "SCREAM-V1", "SCREAM-V2", "UNMOD"]
_SENDERS_KINDS = {
    "order": {
        "rtt30": ["order rtt30-q5", "order rtt30-q32"],
        "rtt80": ["order rtt80-q5", "order rtt80-q32"],
        "rtt150": ["order rtt150-q5", "order rtt150-q32"],
        "loss": ["order loss0", "order loss0.5", "order loss1", "order loss2", "order loss5", "order loss10"],
    },
    "rate": {
        "steps": ["rate steps"],
        "cellular": ["rate cellular"],
        "cubic": ["rate cubic"],
        "wifi": ["rate wifi"],
        "calls": ["calls gcc", "calls tfrc", "calls fixed"],
        "measured": [f"rate-measured {name}" for name in ("us-cellular", "norway-hsdpa", "us-broadband", "us-drive")],
    },
}
_ROUTERS = ["BEST-WM", "DRT-WM", "DTS-WM", "GRD-WM", "LIN-WM", "SWTS-WM", "VCR-WM", "VCR2-WM", "VCR5O-WM", "VIA-WM"]
_RECEIVERS = [
    "DRT-BF", "DRT-BFP", "DRT-CNT", "DRT-EWMA", "DRT-FIX", "DRT-NEQ", "DRT-QTL", "DRT-WM", "GRD-WMR", "GRD-EWMAH", "GRD-QTLH", "GRD-WMH",
]  # fmt: skip


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

    senders: list[str] = Field(default=_SENDERS)
    scenarios: Annotated[list[Literal["order", "rate", "rate-replay"]], Field(min_length=1)] = Field(default=["order", "rate"])
    kinds: dict[str, dict[str, list[str]]] = Field(default=_SENDERS_KINDS)
    trials: Annotated[int, Field(ge=2, le=100_000)] = 48
    worlds: Annotated[int, Field(ge=2, le=100_000)] = 4
    validation_worlds: Annotated[int, Field(ge=2, le=100_000)] = 12

    @model_validator(mode="after")
    def _kinds_are_named(self) -> Self:
        if missing := [scenario for scenario in self.scenarios if self.senders and scenario not in (RATE_REPLAY, *self.kinds)]:
            raise ValueError(f"kinds has {list(self.kinds)}, not {missing}; allowed: kinds of each of the scenarios")
        return self


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


def _rounds(*rounds: tuple[int, int, int]) -> list[RoundConfig]:
    return [RoundConfig(trials=trials, worlds=worlds, left=left) for trials, worlds, left in rounds]


_MODES = [
    PairModeConfig(
        mode="correlated", router="GRD-WM-tuned", receiver="DRT-EWMA-tuned", rounds=_rounds((48, 60, 12), (64, 120, 5), (160, 240, 5))
    ),
    PairModeConfig(mode="paper", router="DTS-WM-tuned", receiver="DTS-WM-tuned", rounds=_rounds((48, 60, 12), (64, 120, 5), (144, 120, 1))),
]


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

    routers: list[str] = Field(default=_ROUTERS)
    receivers: list[str] = Field(default=_RECEIVERS)
    starts: list[str] = Field(default=[f"{name}-tuned" for name in _SYSTEMS if name != "VIA-WM"])
    modes: list[PairModeConfig] = Field(default=_MODES)
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

    systems: list[str] = Field(default=_SYSTEMS)
    sending: SendersConfig = Field(default_factory=SendersConfig)
    pairs: PairsConfig = Field(default_factory=PairsConfig)
    kinds: dict[str, list[str]] = Field(default=_KINDS)
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
