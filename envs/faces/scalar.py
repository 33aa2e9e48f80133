"""The scalar face: a native vector environment of one call."""

from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.envs.faces.vector.episodes import EpisodeVectorEnv
from vcgym.network.kernels.ranges import one_of

METADATA: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # a decision of Relay and Call is 100 ms


class ScalarEnv(gym.Env[Any, Any]):
    """Environment of a call, with the arguments of `vector_class` but num_envs and autoreset_mode; ``render_mode="rgb_array"`` draws it."""

    metadata = METADATA
    vector_class: ClassVar[Callable[..., EpisodeVectorEnv]]

    def __init__(self, render_mode: str | None = None, **arguments: Any) -> None:
        if render_mode is not None:
            one_of("render_mode", render_mode, ("rgb_array",))
        self.native = self.vector_class(1, autoreset_mode=AutoresetMode.DISABLED, **arguments)
        self.render_mode = render_mode
        self.observation_space = self.native.single_observation_space
        self.action_space = self.native.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a new call; `seed` names its world, options choose among worlds, and infos name the world drawn."""
        super().reset(seed=seed)
        if seed is None and not self.native.has_begun:
            seed = int(self.np_random.integers(1 << 31))
        observations, infos = self.native.reset(seed=seed, options=options)
        return self._first(observations), self._own(infos)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play to the next decision, or to the end of the call (truncated)."""
        observations, rewards, _, truncated, infos = self.native.step(np.expand_dims(np.asarray(action), 0))
        return self._first(observations), float(rewards[0]), False, bool(truncated[0]), self._own(infos)

    def render(self) -> NDArray[np.uint8] | None:
        """Draw the call so far; None without a render mode."""
        return None if self.render_mode is None else self.native.picture(0)

    @staticmethod
    def _own(infos: dict[str, Any]) -> dict[str, Any]:
        """Return the infos of the only session."""
        return {name: value[0] for name, value in infos.items() if not name.startswith("_")}

    def _first(self, observations: Any) -> Any:
        """Return the observation of the only session, in the types of its space."""
        if isinstance(self.observation_space, spaces.Dict):
            return {name: np.asarray(value[0]) for name, value in observations.items()}
        return observations[0]
