"""Arguments of an environment, carried by its space of actions: libraries save spaces with a model, and a board reads them."""

from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from vcgym.baselines.configured import ROOMS, mapping_of, target
from vcgym.envs import without_difficulty

MADE_WITH = "vcgym_made_with"
"""Attribute of a space of actions: id and arguments (`env`, `options`) of its environment, as plain values."""
_OF_THE_RUN = {"num_envs", "vectorization_mode", "autoreset_mode", "threads", "split", "worlds", "render_mode"}
"""Arguments that are not of the calls which rank an agent."""


def made_with(env_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a space carries; a rule, reward or feature of the project as its class and parameters."""
    return {
        "env": without_difficulty(env_id)[0],
        "options": {name: _plain(value) for name, value in arguments.items() if name not in _OF_THE_RUN},
    }


def _plain(value: Any) -> Any:
    if type(value) in (list, tuple):
        return [_plain(one) for one in value]
    return mapping_of(value, complete=True) if target(value).startswith(ROOMS) else value


class Marking:
    """Environment that marks its space of actions as soon as gymnasium sets its `spec`."""

    action_space: spaces.Space[Any]
    _spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """Return id and arguments."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = spec
        if spec is not None:
            setattr(getattr(self, "single_action_space", self.action_space), MADE_WITH, made_with(spec.id, spec.kwargs))
