"""Play cells of one share, in one process of this or another machine: systems together, so that they share each sampled world.

An agent that fails is left out of the board, with its name and the reason, and the run continues.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy
from vcgym.leaderboard.evaluation.cells.cells import Cell, CellContent, content, parsed, verdict
from vcgym.leaderboard.evaluation.kinds.kind import Kind, Rollout
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import Agent, Rules, cost_of
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

    def __init__(self, agent: Agent) -> None:
        try:
            self.policy: Policy = agent.policy()
        except Exception as error:
            raise EntrantError(_reason("cannot be loaded", error)) from error
        self.reads, self.masked = self.policy.reads, getattr(self.policy, "masked", False)

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = False, **masks: Any
    ) -> tuple[NDArray[Any], Any]:
        """Return the policy's actions.

        Raises:
            EntrantError: the policy failed.
        """
        try:
            return self.policy.predict(observation, state, episode_start, deterministic=deterministic, **masks)
        except Exception as error:
            raise EntrantError(_reason("failed in play", error)) from error


def _reason(what: str, error: Exception) -> str:
    return f"{what}: {type(error).__name__} {shown(str(error), 200)}"


def play_cells(piece: Mapping[str, Cell], threads: int = 1) -> list[tuple[str, bytes]]:
    """Play cells and return name and content of the file of each.

    Args:
        piece: cells of one share, by the names of their files.
        threads: threads that share the sessions; no effect on the results.

    Raises:
        ValueError: code or data of this process differ from those of the process that planned the cells.
    """
    for file, cell in piece.items():
        if cell.file != file:
            raise ValueError(f"file of {cell.name} is {cell.file} on this worker, {file} in the run; allowed: the same code and packages")
    first = next(iter(piece.values()))
    share, scenario = first.share, _scenario(first.kind, first.share.part, first.share.packets)
    if (card := first.kind.card(scenario)) != share.card:
        raise ValueError(f"data of {share.part.scenario} on this worker has hash {card}, the run's is {share.card}")
    return list(_play_piece(piece, scenario, threads))


def play_here(cell: Cell, threads: int) -> CellContent:
    """Play a cell without saving it."""
    ((_, content),) = _play_piece({"": cell}, _scenario(cell.kind, cell.share.part, cell.share.packets), threads)
    return parsed(content)


@lru_cache(maxsize=4)
def _scenario(kind: Kind, part: Part, packets: int) -> Any:
    return kind.open(part, packets)


def _play_piece(piece: Mapping[str, Cell], scenario: Any, threads: int) -> Iterator[tuple[str, bytes]]:
    players: dict[str, Any] = {file: cell.participant for file, cell in piece.items()}
    rules = {file: one for file, one in players.items() if isinstance(one, Rules)}
    if rules:
        first = next(iter(piece.values()))
        draws = first.kind.draw(first.share.part, scenario, first.share.worlds)
        rollouts = first.kind.play_rules([one.system for one in rules.values()], scenario, draws, threads)
        for (file, one), rollout in zip(rules.items(), rollouts, strict=True):
            yield file, _content(piece[file], scenario, rollout, one.cost)
    for file in players.keys() - rules.keys():
        yield file, _agent_content(piece[file], players[file], scenario, threads)


def _agent_content(cell: Cell, agent: Agent, scenario: Any, threads: int) -> bytes:
    try:
        judged = Judged(agent)
        rollout = cell.kind.play_policy(agent, judged, cell.share.part, scenario, cell.share.worlds, threads)
    except EntrantError as error:
        return verdict(cell.kind.columns, str(error))
    return _content(cell, scenario, rollout, cost_of(judged.policy))


def _content(cell: Cell, scenario: Any, rollout: Rollout, cost: Mapping[str, int]) -> bytes:
    played = cell.kind.rows(cell.share.part, scenario, cell.share.worlds, rollout)
    rows = cell.rows(played, cost)
    return content(cell.kind.columns, rows, (rollout.decision_us, rollout.wall_clock_s), played.delays, played.timelines, rollout.actions)
