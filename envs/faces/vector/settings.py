"""Settings of environments of calls over paths, in groups; environments take their fields as keyword arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from vcgym.envs.faces.vector.actions import FORMS
from vcgym.envs.faces.vector.episodes import OBSERVATIONS, require_whole
from vcgym.network.kernels.ranges import one_of
from vcgym.network.scenarios.scenario import TAU_MS, RecipeMaker, Scenario

G = TypeVar("G", "WorldSettings", "LocationSettings", "EpisodeSettings")


@dataclass(frozen=True)
class WorldSettings:
    """The worlds that calls are played on.

    Attributes:
        scenario: name, see `vcgym.network.scenarios.scenario`; a class of `Recipe` from anywhere; or a `Scenario`, whose settings hold.
        mode: how its statistics become packets: correlated, paper or replay.
        split: train or validation; test is the leaderboard's.
        packets: length of a call, 1 to 1,000,000.
        data: folder of measured data; None: the environment variable VCGYM_DATA.
        burst: of mode paper: which measured burst its draws are fitted to, worst or median.
        tau_ms: of mode correlated: correlation time of queueing, 0 to 60,000.
        traces: of scenario replay: a folder or files of traces.
    """

    scenario: str | RecipeMaker | Scenario = "wonderproxy"
    mode: str = "correlated"
    split: str = "train"
    packets: int = 6000
    data: str | None = None
    burst: str = "worst"
    tau_ms: float = TAU_MS
    traces: str | Sequence[str] | None = None

    def make(self) -> Scenario:
        """Return the scenario.

        Raises:
            ValueError: a value that is not allowed, or an unknown split.
            DataError: data that is missing or broken.
        """
        require_whole(packets=(self.packets, 1, 1_000_000))
        made = self.scenario
        if not isinstance(made, Scenario):
            made = Scenario(made, self.mode, self.packets, self.data, self.burst, self.tau_ms, self.traces)
        made.pairs(self.split)  # refuses an unknown split
        return made


@dataclass(frozen=True)
class LocationSettings:
    """The location of the router's controller, and what reaches it.

    Attributes:
        place: location of the router's controller: sender, central or receiver.
        feedback_loss: share of feedback that is lost, 0 <= share < 1.
        probe_rate: probes per second on each idle path, >= 0.
    """

    place: str = "central"
    feedback_loss: float = 0.0
    probe_rate: float = 1.0

    def __post_init__(self) -> None:
        for name, bound in (("feedback_loss", "0 <= share < 1"), ("probe_rate", "0 to 100")):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, float | int | np.floating | np.integer):
                raise ValueError(f"{name} = {value!r}: allowed are numbers, {bound}")


@dataclass(frozen=True)
class EpisodeSettings:
    """Observation, action and reward of an agent.

    Attributes:
        reward: emodel, event, or parameters of a reward (`vcgym.envs.call.rewards.reward`).
        observation: features (a flat Box), dict (its parts) or records.
        action: discrete, continuous or exact.
        features: added to those of each path or of the call: objects of `vcgym.envs.call.features.added`, or names of plug-ins.
        predictor: adds predicted_e2e to the features of each path (Relay, Call): None, shipped, or parameters of `vcgym.predictors`.
        threads: how many threads share the sessions; without effect on the result.
        log: keep per-packet outcomes, for `played`.
    """

    reward: Any = "emodel"
    observation: str = "features"
    action: str = "discrete"
    features: Sequence[Any] | None = None
    predictor: Any = None
    threads: int = 1
    log: bool = False

    def __post_init__(self) -> None:
        require_whole(threads=(self.threads, 1, 256))
        one_of("observation", self.observation, OBSERVATIONS)
        one_of("action", self.action, FORMS)


GROUPS = (WorldSettings, LocationSettings, EpisodeSettings)


def grouped(arguments: Mapping[str, Any]) -> tuple[WorldSettings, LocationSettings, EpisodeSettings]:
    """Return the groups that keyword arguments make.

    Raises:
        TypeError: an unknown argument.
        ValueError: a value that is not allowed.
    """
    known = {field.name for group in GROUPS for field in fields(group)}
    if unknown := [name for name in arguments if name not in known]:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}: allowed are {', '.join(sorted(known))}")
    return _pick(WorldSettings, arguments), _pick(LocationSettings, arguments), _pick(EpisodeSettings, arguments)


def _pick(group: type[G], arguments: Mapping[str, Any]) -> G:
    return group(**{field.name: arguments[field.name] for field in fields(group) if field.name in arguments})
