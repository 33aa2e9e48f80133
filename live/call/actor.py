"""A policy in its environment, for one call whose packets come from outside: it observes and answers with the environment's own code."""

from typing import Any

import numpy as np

from vcgym.agents.evaluation.play import Policy
from vcgym.envs.faces.vector.paths import PathsVectorEnv
from vcgym.live.call.outside import draw_of
from vcgym.live.protocol.session import Session

_ROW = np.zeros(1, np.int64)


class Actor:
    """A policy that acts in a call; the caller plays the loop of the environment's batch from one decision to the next.

    Args:
        session: the call, which is started here.
        policy: decides through `predict`.
        envs: environment of one call, over the world of `vcgym.live.call.outside`.
    """

    def __init__(self, session: Session, policy: Policy, envs: PathsVectorEnv) -> None:
        self._policy, self._envs, self._state, self._is_first = policy, envs, None, True
        envs.batch.calls["interval"] = 1
        envs.batch.start(0, draw_of(session), session.known)
        envs.observer.clear(0)
        envs.observer.begin(_ROW)
        self._observation, self._parts = _allocated(envs)

    def act(self) -> None:
        """Observe, decide and answer."""
        self._envs.observer.write(_ROW, self._parts)
        actions, self._state = self._policy.predict(self._observation, self._state, np.array([self._is_first]), deterministic=True)
        self._envs.answer(np.asarray(actions), _ROW)
        self._is_first = False


def _allocated(envs: Any) -> tuple[Any, dict[str, Any]]:
    """Return an observation of one session, and views of its parts."""
    if envs.observation_kind == "features":
        flat = np.zeros(envs.observation_space.shape, np.float32)
        return flat, envs.layout.split(flat)
    parts = {name: np.zeros(space.shape, space.dtype) for name, space in envs.observation_space.items()}
    return parts, parts
