"""Participants of a suite: systems of rules, published agents as file content that any process can load, and local agents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import gymnasium
import numpy as np
from gymnasium.envs.registration import load_env_creator

from vcgym.agents.evaluation.own_policy import OwnPolicy
from vcgym.agents.evaluation.play import Policy
from vcgym.agents.published.new_folder import CARD, WEIGHTS
from vcgym.baselines.controls.control import PATHS, controls_of
from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import System, load_system, tuning_trials
from vcgym.envs import IDS
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.plain_file import read_plain

AGENT_ENV, RATE_ENV, ORDER_ENV, SEND_ENV = IDS["Call"], IDS["Rate"], IDS["SendOrder"], IDS["Send"]
PATHS_ENVS = AGENT_ENV, IDS["Relay"], IDS["Playout"]
"""Ids of the agents of paths that a board ranks; the first is that of a policy that names none."""
LOGGED_FORM: Mapping[str, Any] = MappingProxyType({"action": "discrete", "interval": 10})
"""Arguments of the agents of `AGENT_ENV` whose actions are logged: the indices of path and level, every tenth of a second."""
AGENT_KINDS = ("agent", "local")
"""Kinds of participants that somebody has trained, see `Rules.kind`."""
NOT_PLAYED = frozenset(one.name for one in fields(WorldSettings)) | {
    "uplink", "seconds", "send_queue", "threads", "max_episode_steps", "worlds", "reward", "protection", "protection_budget",
    "frame_ms",
}  # fmt: skip
"""Arguments of environments that a board does not take from an agent: the suite chooses them, and a reward has no effect on play."""
_MAX_FILE_BYTES = 1 << 28


@dataclass(frozen=True)
class Rules:
    """System as a participant, with the number of settings that were tried before its parameters were chosen."""

    system: System
    tuning_trials: int

    @property
    def kind(self) -> str:
        """Column `kind`: "local" for a user's own, else "agent" if learned, "oracle", "tuned" if searched, or "rule"."""
        if self.system.is_local:
            return "local"
        if self.system.is_learned:
            return "agent"
        return "oracle" if self.system.is_oracle else "tuned" if self.tuning_trials else "rule"

    def cache_key(self) -> tuple[Any, ...] | None:
        """Return what its results follow from; None: it is played in every run, and nothing of it is saved."""
        return (self,)

    @property
    def cost(self) -> dict[str, int]:
        """Columns `training_decisions`, `tuning_trials` and `parameters`."""
        system, rules = self.system, (tuple(self.system.rules.values()), self.system.pacing)
        return {"training_decisions": system.trained_packets, "tuning_trials": self.tuning_trials, "parameters": numbers_in(rules)}


@dataclass(frozen=True)
class PublishedAgent:
    """Published agent.

    Attributes:
        load: makes the policy of the files by name; a module-level function, so that other processes can import it.
        files: name and content of each file of the folder, sorted by name.
        env: id of its environment.
        arguments: arguments of the environment, as in training, without those that the suite sets; sorted by name.
        rule: system whose rule, one of the arguments, sets the control that the agent does not set; "" if there is none.
    """

    load: Callable[[Mapping[str, bytes]], Policy]
    files: tuple[tuple[str, bytes], ...]
    env: str = AGENT_ENV
    arguments: tuple[tuple[str, Any], ...] = ()
    rule: str = ""

    @classmethod
    def read(
        cls, folder: Path, load: Callable[[Mapping[str, bytes]], Policy], env: str = AGENT_ENV, arguments: tuple[tuple[str, Any], ...] = ()
    ) -> Self:  # fmt: skip
        """Read the agent in `folder`: its weights and its card; other files are none of the agent's."""
        files = tuple((name, read_plain(folder / name, _MAX_FILE_BYTES)) for name in (WEIGHTS, CARD))
        return cls(load, files, env, arguments)

    @property
    def is_logged(self) -> bool:
        """Return True if it acts in `LOGGED_FORM`, alone or next to a named rule: a log of its actions can be verified."""
        given = dict(self.arguments)
        form = {name: given.pop(name, None) for name in LOGGED_FORM}
        return self.env == AGENT_ENV and form == LOGGED_FORM and (not given or self.rule != "")

    @property
    def kind(self) -> str:
        return "agent"

    def cache_key(self) -> tuple[Any, ...] | None:
        """Return what its results follow from: the class of its environment too, which is imported only by name."""
        entry = gymnasium.spec(self.env).vector_entry_point
        return self, load_env_creator(entry) if isinstance(entry, str) else entry

    def policy(self) -> Policy:
        """Make the policy.

        Raises:
            ValueError: see `load`.
        """
        return self.load(dict(self.files))


@dataclass(frozen=True)
class LocalAgent:
    """A user's own policy, played in this process in every run; nothing of it is saved, logged or verified.

    Attributes:
        own: the policy.
        env: id of its environment.
        arguments: arguments of the environment without those that the suite sets; sorted by name.
    """

    own: OwnPolicy
    env: str
    arguments: tuple[tuple[str, Any], ...]
    rule: ClassVar[str] = ""
    is_logged: ClassVar[bool] = False

    @property
    def kind(self) -> str:
        return "local"

    def cache_key(self) -> None:
        return None

    def policy(self) -> Policy:
        """Return the policy."""
        return self.own


Agent = PublishedAgent | LocalAgent
Participant = Rules | Agent
"""Participant of a board: rules, which decide inside the loop, or an agent, which decides outside it."""
Entrant = System | Agent
"""Participant as a user or a suite names it."""


def participant(name: str, player: Entrant) -> Participant:
    """Return the participant that a name stands for."""
    return Rules(player, tuning_trials(name)) if isinstance(player, System) else player


def is_beside(name: str) -> bool:
    """Return True if a rule of a system may play together with an agent that lacks its control."""
    return name in system_names() and load_system(name).fits(controls_of(PATHS)) and not load_system(name).is_oracle


def held_by(control: str, name: str) -> tuple[tuple[str, Any], ...]:
    """Return the arguments of Call that take the rule of a control from a system; the agent sets the others."""
    return ((control, load_system(name).rules[control]),)


def cost_of(policy: Policy) -> dict[str, int]:
    """Return the columns of the cost of an agent; the `training_decisions` and `parameters` (or `tensors`) of its policy count."""
    size = getattr(policy, "parameters", sum(map(numbers_in, getattr(policy, "tensors", {}).values())))
    return {"training_decisions": int(getattr(policy, "training_decisions", 0)), "tuning_trials": 0, "parameters": size}


def numbers_in(value: Any) -> int:
    """Count the numbers in an array or a rule, which is a (nested) tuple of numbers and arrays."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, tuple):
        return sum(map(numbers_in, value))
    return int(isinstance(value, int | float | np.number))
