"""A call whose packets come from outside: in the simulator's loop every packet is lost, and a live call puts in what it receives.

A policy acts in it as in its environment: it observes and answers with the environment's own code.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy
from vcgym.envs.environments.vector.paths import PathsVectorEnv
from vcgym.live.protocol.session import Session
from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.worlds.world import World, WorldDraw

_PAIR, _STRATUM = "sender-receiver", "live"
_ROW = np.zeros(1, np.int64)


def outside(session: Session, slots: int) -> Scenario:
    """Return the scenario of a call over the paths of a session, of `slots` slots."""
    return Scenario(partial(_Outside, paths=len(session.media)), "live", slots)


def draw_of(session: Session) -> WorldDraw:
    """Return the world of a session, which determines the random draws of its rules."""
    return WorldDraw(_PAIR, _STRATUM, session.seed, {})


class _Rows(NamedTuple):
    block: NDArray[np.int64]


class _Silent(World):
    """World in which every packet is lost."""

    def __init__(self, sessions: int, paths: int) -> None:
        super().__init__(sessions, paths)
        self.rows = _Rows(np.zeros(sessions, np.int64))
        self.delay_us[:] = LOST

    def _begin(self, row: int, draw: WorldDraw) -> None:
        pass

    def fill(self, which: NDArray[np.int64]) -> None:
        pass  # every block is the same


class _Outside(Recipe):
    """Recipe of the silent world."""

    modes = ("live",)

    def __init__(self, settings: WorldSettings, paths: int) -> None:
        self.strata = {_STRATUM: 1.0}
        self.layout = Layout(tuple(map(str, range(paths))), np.zeros((0, 1), np.int64), "")

    def pairs(self, split: str) -> list[str]:
        return [_PAIR]

    def world(self, sessions: int) -> World:
        return _Silent(sessions, len(self.layout.path_names))

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        return {}


class Actor:
    """A policy that acts in a call, which starts here, in an environment of one call over `outside`.

    The caller plays the loop of the environment's batch from one decision to the next.
    """

    def __init__(self, session: Session, policy: Policy, envs: PathsVectorEnv) -> None:
        self._policy, self._envs, self._state, self._is_first = policy, envs, None, True
        envs.batch.new_call["interval"] = 1
        envs.batch.start(0, draw_of(session), session.known)
        envs.observer.clear(0)
        envs.observer.begin(_ROW)
        self._observation, self._parts = _allocated(envs)

    def act(self) -> None:
        """Observe, decide and answer."""
        self._envs.observer.write(_ROW, self._parts)
        actions, self._state = self._policy.predict(self._observation, self._state, np.array([self._is_first]), deterministic=True)
        self._envs.apply_actions(np.asarray(actions), _ROW)
        self._is_first = False


def _allocated(envs: Any) -> tuple[Any, dict[str, Any]]:
    """Return an observation of one session, and views of its parts."""
    if envs.observation_kind == "features":
        flat = np.zeros(envs.observation_space.shape, np.float32)
        return flat, envs.layout.split(flat)
    parts = {name: np.zeros(space.shape, space.dtype) for name, space in envs.observation_space.items()}
    return parts, parts
