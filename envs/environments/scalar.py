"""The scalar environment: a native vector environment of one call."""

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.envs.environments.made_with import Marking
from vcgym.envs.environments.render import RENDER_MODES, Rendered
from vcgym.envs.environments.vector.branches import BranchVectorEnv
from vcgym.envs.environments.vector.checks import ActionError, checked_alternatives
from vcgym.envs.environments.vector.settings import arguments_of

_OF_BATCHES = {"num_envs", "autoreset_mode", "max_episode_steps"}
METADATA: dict[str, Any] = {"render_modes": [*RENDER_MODES], "render_fps": 2}  # a decision of Call takes half a second


class ScalarEnv(Marking, Rendered, gym.Env[Any, Any]):
    """Environment of one call with the arguments of `vector_class`, except those of batches; `render_mode`: rgb_array or human."""

    metadata = METADATA
    vector_class: ClassVar[Callable[..., BranchVectorEnv]]
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        """Give the class the docstring of its batch, and a signature of its arguments, for `help`."""
        cls.__doc__ = cls.__doc__ or cls.vector_class.__doc__
        found = {name: one for name, one in arguments_of(cls.vector_class).items() if name not in _OF_BATCHES}
        cls.__signature__ = inspect.Signature([one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in found.values()])

    def __init__(self, render_mode: str | None = None, **arguments: Any) -> None:
        super().__init__(render_mode)
        self.native = self.vector_class(1, autoreset_mode=AutoresetMode.DISABLED, **arguments)
        self.observation_space = self.native.single_observation_space
        self.action_space = self.native.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new call; `seed` determines its world, options restrict the choice of worlds, and infos name the sampled world."""
        super().reset(seed=seed)
        if seed is None and not self.native.has_begun:
            seed = int(self.np_random.integers(1 << 31))
        observations, infos = self.native.reset(seed=seed, options=options)
        self._show()
        return self._first(observations), self._own(infos)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play to the next decision, or to the end of the call (truncated)."""
        try:
            observations, rewards, _, truncated, infos = self.native.step(np.expand_dims(np.asarray(action), 0))
        except ActionError:
            raise ActionError(np.asarray(action), self.action_space) from None
        self._show()
        return self._first(observations), float(rewards[0]), False, bool(truncated[0]), self._own(infos)

    def branch(self, actions: Any, policy: Any = None, gamma: float = 1.0) -> NDArray[np.float64]:
        """Return what each of `actions` (alternatives, ...) leads to, float64 (alternatives,), see `BranchVectorEnv.branch`.

        Its policy gets a batch of one observation. Wrappers play no part.
        """
        alternatives = checked_alternatives(actions, self.action_space)
        return self.native.branch(np.expand_dims(alternatives, 1), policy, gamma)[:, 0]

    def _draw(self, axes: Any) -> None:
        self.native.draw(axes, 0)

    @staticmethod
    def _own(infos: dict[str, Any]) -> dict[str, Any]:
        """Return the infos of the only session."""
        return {name: value[0] for name, value in infos.items() if not name.startswith("_")}

    def _first(self, observations: Any) -> Any:
        """Return the observation of the only session, with the types of its space."""
        if isinstance(self.observation_space, spaces.Dict):
            return {name: np.asarray(value[0]) for name, value in observations.items()}
        return observations[0]
