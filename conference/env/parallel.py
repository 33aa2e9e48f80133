"""Conference in PettingZoo's parallel form: one agent per source."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from vcgym.conference.env.central import ConferenceVectorEnv
from vcgym.conference.env.picture import RENDER
from vcgym.envs.environments.render import Rendered


class ParallelConference(Rendered, ParallelEnv[str, NDArray[np.float32], NDArray[np.float32]]):
    """Rate allocation in a conference: each source changes the rates of its session on all overlay links, every 300 ms.

    Observation: ``Box(0, 100, (6 P^2 + 3,))`` float32: rate in Mbit/s, one-way delay in s (2: the link is dead), loss, queueing in s, life
        and age in s of the report of each overlay link, by feature, tail and head; min-cut and packed rate in Mbit/s, presence.
    Action: ``Box(-1, 1, (P, P))`` float32 by tail and head, times 40 kbps; entries without an overlay link are ignored.
    Reward: shared by all: the change of the sum over sessions of ln(rate + 10 kbps), minus each session's share of packets later than
        200 ms and its share of lost packets.
    End of episode: truncation after `seconds`.
    Source: Celerity's control of link rates, with an agent in place of its gradient.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "vcgym/Conference-v0", **RENDER}

    def __init__(self, scenario: str = "dumbbell", parties: int = 4, seconds: float = 60.0, render_mode: str | None = None) -> None:
        super().__init__(render_mode)
        self.native = ConferenceVectorEnv(1, scenario, parties, seconds, autoreset_mode=AutoresetMode.DISABLED)
        self.possible_agents = [f"source_{m}" for m in range(parties)]
        self.agents: list[str] = []
        seen = spaces.Box(0.0, 100.0, self.native.layout.parts["sources"].shape[1:], np.float32)
        self.observation_spaces = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces = {agent: spaces.Box(-1.0, 1.0, (parties, parties), np.float32) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the conference of world `seed`; None: a new one. Options are ignored, as PettingZoo's test demands."""
        observations, _ = self.native.reset(seed=seed)
        self.agents = list(self.possible_agents)
        self._show()
        return self._each(observations), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Play to the next decision.

        Raises:
            ResetNeeded: the conference is done or has not started.
            ValueError: an action outside the space.
        """
        joint = np.concatenate([np.ravel(actions[agent]) for agent in self.possible_agents])
        observations, rewards, _, truncated, _ = self.native.step(joint[None])
        agents, done = self.agents, bool(truncated[0])
        self._show()
        if done:
            self.agents = []
        none: dict[str, Any] = {agent: {} for agent in agents}
        shared = dict.fromkeys(agents, float(rewards[0])), dict.fromkeys(agents, False), dict.fromkeys(agents, done)
        return self._each(observations), *shared, none

    def _each(self, observations: NDArray[np.float32]) -> dict[str, Any]:
        return dict(zip(self.possible_agents, observations.reshape(len(self.possible_agents), -1), strict=True))

    def _draw(self, axes: Any) -> None:
        """Draw the last 1.5 s."""
        self.native.draw(axes, 0)
