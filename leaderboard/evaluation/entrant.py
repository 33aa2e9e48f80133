"""Verdicts on learned agents: a failing agent is left out of the board, with its name and the reason, and the run continues."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy
from vcgym.leaderboard.evaluation.published import LocalAgent, PublishedAgent
from vcgym.network.traces.refusal import shown


class EntrantError(Exception):
    """Failure of an agent to load or to play; the message is the reason."""


class Judged:
    """Policy of an agent that turns every failure into an `EntrantError`.

    Args:
        agent: published or local agent.

    Raises:
        EntrantError: it cannot be loaded.
    """

    def __init__(self, agent: PublishedAgent | LocalAgent) -> None:
        try:
            self.policy: Policy = agent.policy()
        except Exception as error:
            raise EntrantError(_reason("cannot be loaded", error)) from error
        self.reads = self.policy.reads

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = False
    ) -> tuple[NDArray[Any], Any]:
        """Return the policy's actions.

        Raises:
            EntrantError: the policy failed.
        """
        try:
            return self.policy.predict(observation, state, episode_start, deterministic=deterministic)
        except Exception as error:
            raise EntrantError(_reason("failed in play", error)) from error


def _reason(what: str, error: Exception) -> str:
    return f"{what}: {type(error).__name__} {shown(str(error), 200)}"
