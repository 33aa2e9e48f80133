"""Settings of environments in groups, whose fields are keyword arguments of the environments.

This module loads neither numba nor gymnasium, so a command checks names and types of arguments before it loads an environment.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from vcgym.baselines.controls.control import PACING
from vcgym.network.kernels.ranges import is_number, one_of, require_number, require_whole
from vcgym.network.scenarios.settings import WorldSettings

if TYPE_CHECKING:
    from vcgym.network.bottleneck.shared_link import SharedLink
    from vcgym.network.scenarios.bottleneck.recipe import BottleneckRecipe

RELATIVE = ("relative", "relative_discrete", "relative_continuous")
Group = TypeVar("Group")


def _rule(name: str) -> Any:
    """Return a rule of `vcgym.baselines` with the parameters of its class, which is loaded only now."""
    return resolve_name(f"vcgym.baselines.{name}")()


@dataclass(frozen=True)
class BottleneckSettings:
    """Worlds of senders.

    Attributes:
        scenario: name, see `vcgym.network.scenarios.bottleneck.sending_scenarios`; a list of names, whose worlds are played in turn by
            seed; or any `BottleneckRecipe`.
        split: train or validation; test is reserved for the leaderboard.
        seconds: length of a call, 0.1 to 3600; None: set by the scenario.
        send_queue: capacity of the send queue in packets, 1 to 1024; None: set by the scenario.
        pacing: transmission opportunities per packet time at the target, 0 to 1000; 0: spaced by the mean packet size at the target.
        data: folder of measured data; None: the environment variable VCGYM_DATA.
        traces: scenario rate-replay only: a folder or files of capacity traces.
    """

    scenario: "str | Sequence[str] | BottleneckRecipe" = "rate"
    split: str = "train"
    seconds: float | None = None
    send_queue: int | None = None
    pacing: float = 0.0
    data: str | None = None
    traces: str | Sequence[str] | None = None

    def make(self) -> "BottleneckRecipe":
        """Return the scenario.

        Raises:
            ValueError: a value that is not allowed, or an unknown split.
            DataError: data is missing or broken.
        """
        from vcgym.network.scenarios.bottleneck.sending_scenarios import scenario_of  # imported here: it loads the worlds

        if self.send_queue is not None:
            require_whole(send_queue=(self.send_queue, 1, 1024))
        if self.seconds is not None:
            require_number("seconds", self.seconds, 0.1, 3600.0)
        require_number("pacing", self.pacing, 0.0, 1000.0)
        made = scenario_of(self.scenario, self.data, self.traces)
        made.draw(self.split, 0)  # rejects an unknown split
        return made

    def applied(self, link: "SharedLink") -> "SharedLink":
        """Return the world with the requested length and send queue."""
        if self.seconds is not None:
            link = link._replace(seconds=self.seconds, counts_from_s=link.counts_from_s if link.counts_from_s < self.seconds else 0.0)
        return link if self.send_queue is None else link._replace(send_queue=self.send_queue)


@dataclass(frozen=True)
class LocationSettings:
    """Location of the path's controller, and its feedback.

    Attributes:
        location: location of the path's controller: sender, central or receiver.
        feedback_loss: share of lost feedback, 0 <= share < 1.
        probe_rate: probes per second on each idle path, >= 0.
    """

    location: Literal["sender", "central", "receiver"] = "central"
    feedback_loss: float = 0.0
    probe_rate: float = 1.0

    def __post_init__(self) -> None:
        for name, bound in (("feedback_loss", "0 <= share < 1"), ("probe_rate", "0 to 100")):
            if not is_number(getattr(self, name)):
                raise ValueError(f"{name} = {getattr(self, name)!r}: allowed are numbers, {bound}")


@dataclass(frozen=True)
class AgentSettings:
    """Observation, action and reward of an agent.

    Attributes:
        reward: name, or parameters of a reward.
        observation: features (a flat Box) or dict (its parts).
        action: form of the action, see the environment.
        threads: number of threads; the result does not depend on it.
    """

    observations: ClassVar[tuple[str, ...]] = ("features", "dict")
    reward: Any = "impairment"
    observation: str = "features"
    action: Literal["relative_discrete", "relative_continuous", "relative", "discrete", "continuous", "exact"] = "relative_discrete"
    threads: int = 1

    def __post_init__(self) -> None:
        require_whole(threads=(self.threads, 1, 256))
        one_of("observation", self.observation, self.observations)


@dataclass(frozen=True)
class CallAgentSettings(AgentSettings):
    """Observation, action and reward of an agent of calls over paths.

    Attributes:
        reward: impairment, emodel, event, rating, or parameters of a reward (`vcgym.envs.call.rewards.reward`).
        observation: features (a flat Box), dict (its parts) or records.
        action: relative_discrete, relative_continuous, relative, discrete, continuous or exact.
        features: additional features of each path or of the call: objects of `vcgym.envs.call.features.added`, or names of plug-ins.
        predictor: adds predicted_e2e to the features of each path (Relay, Call): None, shipped, or parameters of `vcgym.predictors`.
        log: keep per-packet outcomes, for `played`.
    """

    observations = (*AgentSettings.observations, "records")
    features: Sequence[Any] | None = None
    predictor: Any = None
    log: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action in RELATIVE and self.observation == "records":
            raise ValueError(f"observation = 'records': allowed are features and dict with action {self.action}, which show its slots")


@dataclass(frozen=True)
class SenderAgentSettings(AgentSettings):
    """Observation, action and reward of an agent at a sender.

    Attributes:
        reward: its name, see the environment, or parameters of a reward (`vcgym.envs.call.rewards`).
        log_packets: number of packets of each call kept for `log`.
    """

    log_packets: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(log_packets=(self.log_packets, 0, 10_000_000))


@dataclass(frozen=True)
class RelaySettings:
    """Arguments of Relay alone."""

    playout: Any = field(default_factory=partial(_rule, "playout.wmjitter:WMJitter"))
    interval: int = 100


@dataclass(frozen=True)
class PlayoutSettings:
    """Arguments of Playout alone."""

    path: Any = field(default_factory=partial(_rule, "path.direct:Direct"))
    interval: int = 10


@dataclass(frozen=True)
class CallSettings:
    """Arguments of Call alone."""

    interval: int = 50
    path: Any = None
    playout: Any = None
    uplink: "str | BottleneckRecipe | None" = None
    rate: Any = None
    order: Any = None
    pacing: float = PACING
    protection: Any = False
    protection_budget: float = 0.1
    frame_ms: int = 10


@dataclass(frozen=True)
class RateSettings:
    """Arguments of Rate alone, or with another default."""

    order: Any = field(default_factory=partial(_rule, "order.fifo:Fifo"))
    pacing: float = PACING
    reward: Any = "utility"
    features: str = "reports"
    interval: int = 100


@dataclass(frozen=True)
class SendSettings:
    """Arguments of Send alone, or with another default."""

    pacing: float = PACING
    reward: Any = "timely"
    interval: int = 100


@dataclass(frozen=True)
class OrderSettings:
    """Arguments of SendOrder alone, or with another default."""

    rate: Any = field(default_factory=partial(_rule, "rate.tfrc.tfrc:Tfrc"))
    overflow: Any = None
    scenario: "str | Sequence[str] | BottleneckRecipe" = "order"
    reward: Any = "missed"
    interval: int = 10


OF_PATHS = (WorldSettings, LocationSettings, CallAgentSettings)
OF_SENDERS = (BottleneckSettings, SenderAgentSettings)
GROUPS: Mapping[str, tuple[Any, ...]] = {
    "Relay": (*OF_PATHS, RelaySettings),
    "Playout": (*OF_PATHS, PlayoutSettings),
    "Call": (*OF_PATHS, CallSettings),
    "Rate": (*OF_SENDERS, RateSettings),
    "Send": (*OF_SENDERS, SendSettings),
    "SendOrder": (*OF_SENDERS, OrderSettings),
}
"""Groups of settings by the name of the environment, its own last."""


def types_of(name: str) -> dict[str, Any]:
    """Return the arguments of an environment of `GROUPS` with their types; Any where a type is not loaded yet."""
    found = {one.name: Any if isinstance(one.type, str) else one.type for group in GROUPS[name] for one in fields(group)}
    return {**found, "max_episode_steps": int | None, "worlds": int | None}


def arguments_of(creator: Any) -> dict[str, inspect.Parameter]:
    """Return the arguments with defaults of a function or class, including those of its bases and settings, with their types."""
    found: dict[str, inspect.Parameter] = {}
    kinds = [vars(kind)["__init__"] for kind in creator.__mro__ if "__init__" in vars(kind)] if isinstance(creator, type) else [creator]
    for layer in kinds:  # the class's own constructor, then its bases'
        parameters = inspect.signature(layer).parameters.values()
        found = {p.name: p for p in parameters if p.default is not p.empty} | found
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return {one.name: _parameter(one) for group in getattr(creator, "settings", ()) for one in fields(group)} | found


def _parameter(one: Field[Any]) -> inspect.Parameter:
    default = one.default if one.default_factory is MISSING else one.default_factory()
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=one.type)


def taken(group: type[Group], arguments: dict[str, Any]) -> Group:
    """Take the fields of a group out of the keyword arguments of an environment."""
    names = [one.name for one in fields(group) if one.name in arguments]  # type: ignore[arg-type]
    return group(**{name: arguments.pop(name) for name in names})


def grouped(env: Any, arguments: dict[str, Any]) -> Any:
    """Return the groups of settings that environments share, given by keyword arguments of an environment.

    Raises:
        TypeError: an unknown argument.
        ValueError: a value is not allowed.
    """
    left = dict(arguments)
    found = [taken(group, left) for group in env.settings]
    if left:
        raise TypeError(f"unexpected keyword argument {next(iter(left))!r}: allowed are {', '.join(sorted(arguments_of(env)))}")
    return found
