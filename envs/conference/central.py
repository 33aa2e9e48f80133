"""Conference with one central agent."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from vcgym.envs.conference.picture import RENDER, RenderedConference
from vcgym.envs.conference.session import ConferenceSession


class ConferenceEnv(RenderedConference, gym.Env[NDArray[np.float32], NDArray[np.float32]]):
    """Rate allocation in a conference by one agent with the observations of all sources; see `ParallelConference`.

    Observation: those of all sources, concatenated, ``Box(0, 100, (P (6 P^2 + 3),))``.
    Action: ``Box(-1, 1, (P^3,))`` by session, tail and head, times 40 kbps.
    Reward: that of `ParallelConference`.
    End of episode: truncation after `seconds`.
    """

    metadata = RENDER

    def __init__(self, scenario: str = "dumbbell", parties: int = 4, seconds: float = 60.0, render_mode: str | None = None) -> None:
        super().__init__(ConferenceSession(scenario, parties, seconds), render_mode)
        self.observation_space = spaces.Box(0.0, 100.0, (parties * self.session.size,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (parties**3,), np.float32)
        self._done = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start the conference of world `seed`; None: a new one."""
        super().reset(seed=seed)
        self.session.start(int(self.np_random.integers(1 << 31)) if seed is None else seed)
        self._done = False
        self._show()
        return self._observe(), {}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play to the next decision.

        Raises:
            ResetNeeded: the conference is done or has not started.
        """
        if self._done:
            raise ResetNeeded("the conference is done or has not started; call reset")
        parties = self.session.parties
        reward = self.session.step(np.asarray(action, np.float64).reshape(parties, parties, parties))
        self._done = self.session.done
        self._show()
        return self._observe(), reward, False, self._done, {}

    def _observe(self) -> NDArray[np.float32]:
        return np.concatenate([self.session.observe(m) for m in range(self.session.parties)])
