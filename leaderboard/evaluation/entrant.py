"""Verdicts on entrants: whatever a learned agent does wrong leaves it out of a board, by name and with the reason, and ends no run."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy
from vcgym.leaderboard.evaluation.published import LocalAgent, PublishedAgent
from vcgym.network.traces.refusal import shown


class EntrantError(Exception):
    """An agent that cannot be loaded or failed in play; the text is the reason."""


class Judged:
    """An agent as a policy, whose every failure is an `EntrantError`.

    Args:
        agent: as published, or local.

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
