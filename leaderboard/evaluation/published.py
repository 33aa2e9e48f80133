"""Participants of a suite: systems of rules, published agents as file content that any process can load, and local agents."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

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

AGENT_ENV, RATE_ENV, ORDER_ENV = IDS["Call"], IDS["Rate"], IDS["SendOrder"]
PATHS_ENVS = AGENT_ENV, IDS["Relay"], IDS["Playout"]
"""Ids of the agents of paths that a board ranks; the first is that of a policy that names none."""
LOGGED_FORM: Mapping[str, Any] = MappingProxyType({"action": "discrete", "interval": 10})
"""Arguments of the agents of `AGENT_ENV` whose actions are logged: the indices of path and level, every tenth of a second."""
AGENT_KINDS = ("agent", "local")
"""Kinds of participants that somebody has trained, see `kind_of`."""
NOT_PLAYED = frozenset(one.name for one in fields(WorldSettings)) | {
    "uplink", "seconds", "send_queue", "threads", "max_episode_steps", "reward", "protection", "protection_budget",
    "frame_ms",
}  # fmt: skip
"""Arguments of environments that a board does not take from an agent: the suite chooses them, and a reward has no effect on play."""
_MAX_FILE_BYTES = 1 << 28


class PublishedAgent(NamedTuple):
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

    def policy(self) -> Policy:
        """Make the policy.

        Raises:
            ValueError: see `load`.
        """
        return self.load(dict(self.files))


class LocalAgent(NamedTuple):
    """A user's own policy, played in this process in every run; nothing of it is saved, logged or verified.

    Attributes:
        own: the policy.
        env: id of its environment.
        arguments: arguments of the environment without those that the suite sets; sorted by name.
    """

    own: OwnPolicy
    env: str
    arguments: tuple[tuple[str, Any], ...]
    rule: str = ""
    is_logged: bool = False

    def policy(self) -> Policy:
        """Return the policy."""
        return self.own


Participant = System | PublishedAgent | LocalAgent


def is_beside(name: str) -> bool:
    """Return True if a rule of a system may play together with an agent that lacks its control."""
    return name in system_names() and load_system(name).fits(controls_of(PATHS)) and not load_system(name).is_oracle


def held_by(control: str, name: str) -> tuple[tuple[str, Any], ...]:
    """Return the arguments of Call that take the rule of a control from a system; the agent sets the others."""
    return ((control, load_system(name).rules[control]),)


def env_class(env_id: str) -> Any:
    """Return the class of a registered id; it is code that plays an agent but is imported only by name."""
    entry = gymnasium.spec(env_id).vector_entry_point
    return load_env_creator(entry) if isinstance(entry, str) else entry


def kind_of(name: str, participant: Participant) -> str:
    """Return the column `kind`: "local" for a user's own, else "agent" if learned, "oracle", "tuned" if searched, or "rule"."""
    if isinstance(participant, LocalAgent) or (isinstance(participant, System) and participant.is_local):
        return "local"
    if not isinstance(participant, System) or participant.is_learned:
        return "agent"
    return "oracle" if participant.is_oracle else "tuned" if tuning_trials(name) else "rule"


def cost_of(name: str, player: System | Policy) -> dict[str, int]:
    """Return the columns `training_decisions`, `tuning_trials` and `parameters`.

    Args:
        name: name of the participant.
        player: a system or a loaded policy; the `training_decisions` and `parameters` (or `tensors`) of a policy count if it has them.
    """
    if isinstance(player, System):
        rules = tuple(player.rules.values()), player.pacing
        return {"training_decisions": player.trained_packets, "tuning_trials": tuning_trials(name), "parameters": numbers_in(rules)}
    size = getattr(player, "parameters", sum(map(numbers_in, getattr(player, "tensors", {}).values())))
    return {"training_decisions": int(getattr(player, "training_decisions", 0)), "tuning_trials": 0, "parameters": size}


def numbers_in(value: Any) -> int:
    """Count the numbers in an array or a rule, which is a (nested) tuple of numbers and arrays."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, tuple):
        return sum(map(numbers_in, value))
    return int(isinstance(value, int | float | np.number))
