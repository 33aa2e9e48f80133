"""Play cells of one share: first the systems together, so that they share each sampled world, then the agents.

An agent that fails is left out of the board, with its name and the reason, and the run continues.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.cells.cells import Cell, content, verdict
from vcgym.leaderboard.evaluation.plays.play import AnyRollout
from vcgym.leaderboard.evaluation.published import LocalAgent, PublishedAgent, cost_of
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


def play_piece(piece: Mapping[str, Cell], scenario: Any, threads: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the file of each cell; all cells have the same share."""
    first = next(iter(piece.values()))
    systems = {file: cell.system for file, cell in piece.items() if isinstance(cell.system, System)}
    draws = first.play.draw(first.share.part, scenario, first.share.worlds) if systems else []
    rollouts = first.play.play(list(systems.values()), scenario, draws, threads)
    for (file, system), rollout in zip(systems.items(), rollouts, strict=True):
        yield file, _content(piece[file], scenario, rollout, cost_of(piece[file].name, system))
    for file, cell in piece.items():
        if not isinstance(cell.system, System):
            yield file, _agent_content(cell, cell.system, scenario, threads)


def _agent_content(cell: Cell, agent: PublishedAgent | LocalAgent, scenario: Any, threads: int) -> bytes:
    try:
        judged = Judged(agent)
        rollout = cell.play.play_agent(agent, judged, cell.share.part, scenario, cell.share.worlds, threads)
    except EntrantError as error:
        return verdict(cell.columns, str(error))
    return _content(cell, scenario, rollout, cost_of(cell.name, judged.policy))


def _content(cell: Cell, scenario: Any, rollout: AnyRollout, cost: dict[str, int]) -> bytes:
    played = cell.play.rows(cell.share.part, scenario, cell.share.worlds, rollout)
    identity = cell.identity(played.strata)
    rows = [
        {name: value[row] if isinstance(value, list) else value for name, value in identity.items()} | {**cost, **measured}
        for row, measured in enumerate(played.rows)
    ]
    return content(cell.columns, rows, (rollout.decision_us, rollout.wall_clock_s), played.delays, played.timelines, played.actions)
