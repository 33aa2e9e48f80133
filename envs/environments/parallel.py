"""SharedRate in PettingZoo's parallel form: one agent per call."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from vcgym.envs.environments.shared_rate import SharedRateVectorEnv
from vcgym.network.kernels.ranges import one_of

LOG_PACKETS = 1 << 17  # two minutes at 8 Mbit/s


class SharedRate(ParallelEnv[str, NDArray[np.float32], Any]):
    """Rate control of calls that share a bottleneck, `call_0` to `call_{n - 1}`, each by an agent of its own.

    Observation, action and reward of an agent: those of Rate for its call, with the relative actions; it sees nothing of the other calls.
        All agents act at the same time, that of Rate for `call_0`.
    Agents: `call_0` from the beginning to the end; the others join within the first 10 s, and leave within the last 10 s. SCReAM drives
        from the beginning of a call to the agent's first action.
    End of episode: truncation of an agent at the end of its call. The last infos of an agent are those of Rate; those of `call_0` also say
        how the calls shared while all were present: `used`, `jain`, `least`, `queueing_ms` (`vcgym.network.bottleneck.sharing`).
    Source: the worlds of Rate, with n times the capacity for n calls.

    Args:
        calls: number of agents, 2 to 32.
        arguments: those of Rate.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "vcgym/SharedRate", "render_modes": []}
    render_mode = None

    def __init__(self, calls: int = 4, **arguments: Any) -> None:
        self.native = SharedRateVectorEnv(1, calls, autoreset_mode=AutoresetMode.DISABLED, **{"log_packets": LOG_PACKETS, **arguments})
        one = self.native
        self.possible_agents = [f"call_{i}" for i in range(calls)]
        self.agents: list[str] = []
        self._observed = dict.fromkeys(self.possible_agents, one.single_observation_space)
        self._acted = {agent: deepcopy(one.single_action_space) for agent in self.possible_agents}  # each with draws of its own
        self._unused = np.zeros(one.action_space.shape or (), one.action_space.dtype)  # drives calls before their first action: SCReAM

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations."""
        return self._observed[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions."""
        return self._acted[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the calls of world `seed`; None: new ones. Of the options `kind` restricts the worlds."""
        kind = {"kind": options["kind"]} if options and "kind" in options else None
        observations, infos = self.native.reset(seed=seed, options=kind)
        self.agents = self._present()
        return self._of(self.agents, observations), {agent: self._own(infos, agent) for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Play to the next action, with one of each agent in `agents`.

        Raises:
            ResetNeeded: the calls are done or have not started.
            ValueError: an action outside the space, or of an agent that is not present.
        """
        joint = self._unused.copy()
        for agent, action in actions.items():
            one_of("agent", agent, tuple(self.agents))
            joint[self.possible_agents.index(agent)] = action
        observations, rewards, _, truncated, _ = self.native.step(joint)
        before, self.agents = self.agents, [] if truncated[0] else self._present()
        left = {agent: agent not in self.agents for agent in self.possible_agents if agent in {*before, *self.agents}}
        outcomes = self.native.outcomes() if any(left.values()) else {}
        earned = dict(zip(self.possible_agents, rewards.tolist(), strict=True))
        infos = {agent: self._own(outcomes, agent) if is_left else {} for agent, is_left in left.items()}
        return self._of(left, observations), {agent: earned[agent] for agent in left}, dict.fromkeys(left, False), left, infos

    def _present(self) -> list[str]:
        return [agent for agent, is_present in zip(self.possible_agents, self.native.present, strict=True) if is_present]

    def _of(self, agents: Iterable[str], observations: Any) -> dict[str, Any]:
        """Return the observations of some agents, in the form of their space."""
        each = {agent: self.possible_agents.index(agent) for agent in agents}
        if isinstance(observations, dict):
            return {agent: {name: part[i] for name, part in observations.items()} for agent, i in each.items()}
        return {agent: observations[i] for agent, i in each.items()}

    def _own(self, infos: dict[str, Any], agent: str) -> dict[str, Any]:
        """Return the infos of one agent."""
        i = self.possible_agents.index(agent)
        return {name: value[i] for name, value in infos.items() if not name.startswith("_")}
