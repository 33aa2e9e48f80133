"""Settings of worlds of calls over paths. A new one is a field of `WorldSettings` and a use of it, and nothing else.

Environments, their configs, suites and saved states take the fields from there.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from vcgym.network.kernels.ranges import one_of, require_number, require_whole

if TYPE_CHECKING:
    from vcgym.network.scenarios.recipe import Recipe

OFFSETS = ("own", "common")
TAU_MS = 200.0
MAX_LOSS_RUN = 10_000.0
REPLAY = "replay"
"""Scenario of traces of your own."""

RecipeMaker = Callable[["WorldSettings"], "Recipe"]
"""A class of Recipe, or a partial of one."""

_OF_REPLAY = "traces", "offsets", "direct"  # other scenarios take the defaults alone
_IDENTIFIED_ELSEWHERE = "scenario", "data", "traces"  # a scenario by its name, files by the card of their content


@dataclass(frozen=True)
class WorldSettings:
    """Settings of the worlds of calls over paths.

    Attributes:
        scenario: name, see `vcgym.network.scenarios.scenario`; any subclass of `Recipe`; a `Scenario`, which keeps its settings; or for
            environments a list of kinds of worlds, each a name, or name and mode such as "stress correlated", see `kinds`.
        mode: generation of delays from statistics: correlated, paper or replay, which is the only one of scenario replay.
        packets: length of a call in 10-ms slots, 1 to 1,000,000.
        data: folder of measured data; None: the environment variable VCGYM_DATA.
        burst: mode paper only: the measured burst to which draws are fitted, worst or median.
        tau_ms: mode correlated only: correlation time of queueing, declared, 0 (independent slots) to 60,000; studies sweep 0 to 1000.
        loss_run_slots: L, 1 to 10,000: losses of a link are in runs of L / (1 - loss) slots on average, with the same loss; 1: independent;
            3: about as measured (`vcgym.network.worlds.losses`). In mode replay and for scenario files only 1: their losses are measured.
        traces: scenario replay only: a folder or files of traces.
        offsets: scenario replay only: own cuts each path's trace at its own offset, common cuts all at one time of their common clock.
        direct: scenario replay only: name of the path of `Direct`; None: the first by file name.

    Raises:
        ValueError: a value out of range, or one that another scenario takes.
    """

    scenario: str | RecipeMaker | Sequence[str] = "wonderproxy"
    mode: str = "correlated"
    packets: int = 6000
    data: str | None = None
    burst: Literal["worst", "median"] = "worst"
    tau_ms: float = TAU_MS
    traces: str | Sequence[str] | None = None
    loss_run_slots: float = 1.0
    offsets: Literal["own", "common"] = "own"
    direct: str | None = None

    def __post_init__(self) -> None:
        from vcgym.network.worlds.correlated import MAX_TAU_MS  # imported here: names and types of the fields are read without worlds
        from vcgym.network.worlds.links import BURSTS

        require_whole(packets=(self.packets, 1, 1_000_000))
        one_of("burst", self.burst, BURSTS)
        require_number("tau_ms", self.tau_ms, 0.0, MAX_TAU_MS)
        require_number("loss_run_slots", self.loss_run_slots, 1.0, MAX_LOSS_RUN)
        if self.loss_run_slots != 1.0 and self.mode not in ("paper", "correlated"):
            raise ValueError(f"loss_run_slots = {self.loss_run_slots!r}: allowed is 1 in mode {self.mode}, whose losses are as measured")
        one_of("offsets", self.offsets, OFFSETS)
        if isinstance(self.scenario, list | tuple):
            self._require_kinds(self.scenario)
            return
        if self.scenario == REPLAY and self.mode == WorldSettings.mode:
            object.__setattr__(self, "mode", REPLAY)
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in _OF_REPLAY and self.scenario != REPLAY and value != one.default:
                allowed = f"allowed is {one.default} in scenario {self.scenario}; scenario {REPLAY} takes {one.name}"
                raise ValueError(f"{one.name} = {value!r}: {allowed}")
        for name in ("tau_ms", "loss_run_slots"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "traces", absolute(self.traces))

    def _require_kinds(self, names: Sequence[str]) -> None:
        if not names or len(set(names)) < len(names) or not all(isinstance(one, str) for one in names):
            raise ValueError(f"scenario = {names!r}: allowed is a list of different names, each SCENARIO or 'SCENARIO MODE'")
        object.__setattr__(self, "scenario", tuple(names))
        _ = self.kinds  # rejects settings that a kind does not take

    @property
    def kinds(self) -> tuple[Self, ...]:
        """Return the settings of each kind of worlds of a list; else these alone. What only a replay takes goes to none but a replay."""
        if not isinstance(self.scenario, tuple):
            return (self,)
        usual: dict[str, Any] = {one.name: one.default for one in fields(self) if one.name in _OF_REPLAY}
        named = [one.partition(" ") for one in self.scenario]
        return tuple(
            replace(self, scenario=scenario, mode=mode or self.mode, **({} if scenario == REPLAY else usual)) for scenario, _, mode in named
        )

    @property
    def share_of_rtt(self) -> float:
        """Return the share of a measured round trip that counts as one-way delay: all of it in mode paper, as in the paper's own log."""
        return 1.0 if self.mode == "paper" else 0.5

    @property
    def decisive(self) -> tuple[tuple[str, Any], ...]:
        """Return name and value of each setting on which worlds depend beyond the name of the scenario and the card of its data."""
        return tuple((one.name, getattr(self, one.name)) for one in fields(self) if one.name not in _IDENTIFIED_ELSEWHERE)

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> Self:
        """Return the settings of worlds among the arguments of an environment."""
        return cls(**{one.name: arguments[one.name] for one in fields(cls) if one.name in arguments})


def absolute(traces: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the absolute path of each file or folder of traces, because workers may have other working directories."""
    if traces is None:
        return None
    return tuple(str(Path(os.path.expanduser(one)).absolute()) for one in ([traces] if isinstance(traces, str) else traces))
