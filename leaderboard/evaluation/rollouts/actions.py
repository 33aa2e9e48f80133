"""Action log: a policy wrapper that records actions, and a policy that replays them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy


class Recorded:
    """Wrapper that records the actions of a policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self.reads, self._kept = policy, policy.reads, list[NDArray[np.int64]]()

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = False
    ) -> tuple[NDArray[Any], Any]:
        """Return and record the policy's actions."""
        actions, state = self._policy.predict(observation, state, episode_start, deterministic=deterministic)
        self._kept.append(np.array(actions, np.int64).reshape(len(actions), -1))
        return actions, state

    @property
    def actions(self) -> NDArray[np.int64]:
        """Recorded actions (sessions, decisions, controls): path and level of every decision, or the one control of the agent."""
        return np.stack(self._kept, axis=1)


class Replayed:
    """Policy that replays a log, whatever it observes.

    Args:
        actions: (sessions, decisions, controls), see `Recorded.actions`.
    """

    reads = "features"

    def __init__(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = True
    ) -> tuple[NDArray[Any], Any]:
        """Return the next actions of the log; `state` counts the decisions.

        Raises:
            ValueError: the log has no more decisions.
        """
        decision = state or 0
        if decision == self._actions.shape[1]:
            raise ValueError(f"the log has {decision} decisions for each call; allowed: one for each time the policy is asked")
        actions = self._actions[:, decision]
        return actions if actions.shape[1] > 1 else actions[:, 0], decision + 1
