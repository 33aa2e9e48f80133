"""Call in PettingZoo's parallel form: one agent chooses the path, the other the receiver's lag."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from vcgym.baselines.controls.control import CENTRAL, Control
from vcgym.baselines.from_agent import in_place_of
from vcgym.envs.call.paths.state import awaits_level
from vcgym.envs.call.stages import DONE
from vcgym.envs.faces.playout import MECHANISMS
from vcgym.envs.faces.vector.actions import action_space, options_of
from vcgym.envs.faces.vector.observer import Observer
from vcgym.envs.faces.vector.paths import PathsVectorEnv
from vcgym.network.kernels.ranges import one_of

ROUTER, RECEIVER = AGENTS = ("router", "receiver")


class ParallelCall(ParallelEnv[str, Any, Any]):
    """A call with one agent per location; see `vcgym.envs.Relay` and `vcgym.envs.Playout`, whose arguments it takes.

    A step is one decision of one agent, whose entry `acts` of the infos is True: of the router every `interval` packets, of the receiver at
    each arrival, before the watermark moves. The action of the other agent is ignored and may be absent; its observation is that of its
    last decision.

    Observation: those of Relay for the router and of Playout for the receiver, at their decisions and at the end of the call.
    Action: those of Relay for the router and of Playout for the receiver.
    Reward: shared: ``rating`` (default), the change of R since the last step, which sums to R - 93.2; or another reward of Relay.
    End of episode: truncation of both at the end of the call; the infos then hold R as `rating`, and what it follows from.
    Source: VCRoute with WMJitter (arXiv 2310.05054), an agent in place of each.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "vcgym/Call-v0", "render_modes": []}

    def __init__(self, interval: int = 10, mechanism: str = "watermark", reward: Any = "rating", **arguments: Any) -> None:
        one_of("mechanism", mechanism, tuple(MECHANISMS))
        self.native = _TwoAgents(interval, mechanism, reward=reward, **arguments)
        self.render_mode = None
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        form, paths = self.native.agent.action, self.native.batch.scenario.paths
        self.observation_spaces = {ROUTER: self.native.single_observation_space, RECEIVER: self.native.receiver_space}
        controlled = {ROUTER: Control.PATH, RECEIVER: Control.PLAYOUT}
        self.action_spaces = {agent: action_space(form, options_of([control], paths)) for agent, control in controlled.items()}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the call of world `seed`; None: a new one. Options: pair, stratum; others are ignored, as PettingZoo's test demands."""
        known = {name: value for name, value in (options or {}).items() if name in self.native.reset_options}
        observations, infos = self.native.reset(seed=seed, options=known)
        self.agents = list(AGENTS)
        return self._both(observations), self._infos(infos)

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Play to the next decision of either agent.

        Raises:
            ResetNeeded: the call is done or has not started.
            ValueError: an action outside the space.
        """
        acting = self.native.acting
        nothing = {agent: np.zeros(space.shape or (), space.dtype) for agent, space in self.action_spaces.items()}
        joint = np.concatenate([np.ravel(actions[agent] if agent in acting else nothing[agent]) for agent in AGENTS])
        observations, rewards, _, truncated, infos = self.native.step(joint[None])
        agents, done = self.agents, bool(truncated[0])
        if done:
            self.agents = []
        shared = dict.fromkeys(agents, float(rewards[0])), dict.fromkeys(agents, False), dict.fromkeys(agents, done)
        return self._both(observations), *shared, self._infos(infos)

    def _both(self, observations: Any) -> dict[str, Any]:
        """Return the observation of each agent, of the router's as the native batch of one call returns them."""
        if not isinstance(observations, dict):
            return {ROUTER: observations[0], RECEIVER: self.native.receiver.layout.flatten(self.native.heard)[0]}
        both = {ROUTER: observations, RECEIVER: self.native.heard}
        return {agent: {name: value[0].copy() for name, value in parts.items()} for agent, parts in both.items()}

    def _infos(self, infos: dict[str, Any]) -> dict[str, dict[str, Any]]:
        shared = {name: value[0] for name, value in infos.items() if not name.startswith("_")}
        return {agent: {"acts": agent in self.native.acting, **shared} for agent in AGENTS}


class _TwoAgents(PathsVectorEnv):
    """Call with two agents; a step is a decision of one, and the loop reads only its action.

    Attributes:
        receiver: observer at the receiver; the inherited one is the router's.
        receiver_space: space of the receiver's observations.
        heard: the receiver's last observation by part, (1, *shape) each.
    """

    def __init__(self, interval: int, mechanism: str, **arguments: Any) -> None:
        setters = {Control.PATH: in_place_of(Control.PATH, CENTRAL), Control.PLAYOUT: MECHANISMS[mechanism]}
        super().__init__(1, setters, tuple(setters), interval, False, autoreset_mode=AutoresetMode.DISABLED, **arguments)
        self.receiver = Observer(self.batch, self.agent, at_arrivals=True)
        parts = spaces.Dict(self.receiver.records()) if self.agent.observation == "records" else self.receiver.layout.space
        self.receiver_space: spaces.Space[Any] = self.receiver.layout.box if self.agent.observation == "features" else parts
        self.heard = {name: np.zeros((1, *(space.shape or ())), space.dtype) for name, space in parts.items()}

    @property
    def acting(self) -> tuple[str, ...]:
        """Return the agent that decides next; none when the call is done."""
        if self.batch.why[0] == DONE:
            return ()
        return (RECEIVER,) if awaits_level(self.batch.calls[0]) else (ROUTER,)

    def _start(self, row: int, seed: int, kind: str | None = None, **options: Any) -> None:
        super()._start(row, seed, kind, **options)
        self.receiver.clear(row)

    def _begun(self, rows: NDArray[np.int64]) -> None:
        super()._begun(rows)
        self.receiver.begin(rows)
        self.receiver.write(rows, self.heard)

    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        if RECEIVER not in self.acting:
            super()._write_observations(rows, shown)
        if ROUTER not in self.acting:
            self.receiver.write(rows, self.heard)
