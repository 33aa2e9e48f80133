"""The table of algorithms: one row each, with the class that learns, its policy over features, and the kinds of action that it takes.

An algorithm fits an environment if it takes a form of its actions; `fitting` finds the form. Which state a row has beside its networks and
optimisers is read off its class, see `vcgym.agents.training.checkpoint`.
"""

import inspect
from typing import Any, NamedTuple

from gymnasium import spaces
from sb3_contrib import ARS, QRDQN, TQC, TRPO, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm

from vcgym.agents.config.algorithms import (
    Algorithm,
    InsidePPOConfig,
    LibraryConfig,
    MaskablePPOConfig,
    SACConfig,
)
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.environments import make_envs

FORMS = ("relative_discrete", "relative_continuous")
"""The forms of actions for standard algorithms: one number to choose, and a box."""
_SET_BY_US = frozenset({"self", "policy", "env", "seed", "device", "verbose", "tensorboard_log", "_init_setup_model"})


class ARSBetween(ARS):
    """ARS that can go on: a rollout begins before its directions are drawn, and progress counts what was learned before."""

    def _do_one_update(self, callback: Any, async_eval: Any) -> None:
        self._update_current_progress_remaining(self.num_timesteps, self._total_timesteps)
        callback.on_rollout_start()
        super()._do_one_update(callback, async_eval)


class Row(NamedTuple):
    """An algorithm.

    Attributes:
        learner: class that learns.
        takes: kinds of spaces of actions.
        policy: name of its policy over features, in the library.
    """

    learner: type[BaseAlgorithm]
    takes: tuple[type[spaces.Space[Any]], ...]
    policy: str = "MlpPolicy"

    def arguments(self) -> list[str]:
        """Return the names of the arguments that a config may set."""
        return sorted(inspect.signature(self.learner).parameters.keys() - _SET_BY_US)


_CHOICES = (spaces.Discrete, spaces.MultiDiscrete)
TABLE = {
    "PPO": Row(PPO, (*_CHOICES, spaces.Box)),
    "A2C": Row(A2C, (*_CHOICES, spaces.Box)),
    "TRPO": Row(TRPO, (*_CHOICES, spaces.Box)),
    "RecurrentPPO": Row(RecurrentPPO, (*_CHOICES, spaces.Box), "MlpLstmPolicy"),
    "MaskablePPO": Row(MaskablePPO, _CHOICES),
    "DQN": Row(DQN, (spaces.Discrete,)),
    "QRDQN": Row(QRDQN, (spaces.Discrete,)),
    "SAC": Row(SAC, (spaces.Box,)),
    "TD3": Row(TD3, (spaces.Box,)),
    "TQC": Row(TQC, (spaces.Box,)),
    "ARS": Row(ARSBetween, (spaces.Discrete, spaces.Box)),
}


def row_name(algorithm: Algorithm) -> str:
    """Return the name of the row of an algorithm that learns in an environment."""
    if isinstance(algorithm, LibraryConfig):
        return algorithm.name
    return "SAC" if isinstance(algorithm, SACConfig) else "MaskablePPO" if isinstance(algorithm, MaskablePPOConfig) else "PPO"


def name_of(algorithm: Algorithm) -> str:
    """Return the name of the algorithm for a card; those of the library, as they come, begin with SB3."""
    if isinstance(algorithm, InsidePPOConfig):
        return "InsidePPO"
    return f"SB3-{algorithm.name}" if isinstance(algorithm, LibraryConfig) else row_name(algorithm)


def fitting(name: str, env: EnvConfig) -> str | None:
    """Return the form of the actions of an environment that an algorithm takes, its own or one of `FORMS`; None if none fits."""
    for form in dict.fromkeys((env.options.get("action"), *FORMS)):
        if form is not None and isinstance(_space(env, form), TABLE[name].takes):
            return str(form)
    return None


def require_taken(name: str, env: EnvConfig, space: spaces.Space[Any]) -> None:
    """Raise ValueError unless an algorithm takes a space of actions; the message says which form of the environment it takes."""
    if isinstance(space, TABLE[name].takes):
        return
    kinds, form = " or ".join(kind.__name__ for kind in TABLE[name].takes), fitting(name, env)
    other = f"env.options.action={form}" if form else f"{env.id} has none"
    raise ValueError(f"algorithm is {name} and action space is {space}; allowed: {kinds} ({other})")


def _space(env: EnvConfig, form: str) -> spaces.Space[Any] | None:
    try:
        envs = make_envs(env.model_copy(update={"options": env.options | {"action": form}}), 1, "train")
    except ValueError:
        return None  # the environment has no such form, or not with its other arguments
    envs.close()
    return envs.single_action_space
