"""The action log: what a policy decided, world by world, and a policy that decides it again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy


class Recorded:
    """A policy as it is, whose actions are kept."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self.reads, self._kept = policy, policy.reads, list[NDArray[np.int64]]()

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = False
    ) -> tuple[NDArray[Any], Any]:
        """Return the policy's actions, and keep them."""
        actions, state = self._policy.predict(observation, state, episode_start, deterministic=deterministic)
        self._kept.append(np.array(actions, np.int64).reshape(len(actions), -1))
        return actions, state

    @property
    def actions(self) -> NDArray[np.int64]:
        """(sessions, decisions, controls): path and level of every decision so far, or the one that the agent sets."""
        return np.stack(self._kept, axis=1)


class Replayed:
    """A policy that says what a log says, whatever it observes.

    Args:
        actions: (sessions, decisions, controls), as `Recorded` keeps them.
    """

    reads = "features"

    def __init__(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = True
    ) -> tuple[NDArray[Any], Any]:
        """Return the next actions of the log; `state` counts the decisions.

        Raises:
            ValueError: the log has no more.
        """
        decision = state or 0
        if decision == self._actions.shape[1]:
            raise ValueError(f"the log has {decision} decisions for each call; allowed: one for each time the policy is asked")
        actions = self._actions[:, decision]
        return actions if actions.shape[1] > 1 else actions[:, 0], decision + 1
