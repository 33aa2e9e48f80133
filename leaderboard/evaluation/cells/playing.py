"""Play cells of one batch of worlds, in one process of this or another machine: systems together, so that they share each sampled world.

An agent that fails is left out of the board, with its name and the reason, and the run continues.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy
from vcgym.envs.environments.vector.checks import ActionError
from vcgym.leaderboard.cache import to_bytes
from vcgym.leaderboard.evaluation.cells.cells import Cell, failed
from vcgym.leaderboard.evaluation.kinds.kind import FinishedCalls, Kind
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
        piece: cells of one batch of worlds, by the names of their files.
        threads: threads that share the sessions; no effect on the results.

    Raises:
        ValueError: code or data of this process differ from those of the process that planned the cells.
    """
    for file, cell in piece.items():
        if cell.file != file:
            raise ValueError(f"file of {cell.name} is {cell.file} on this worker, {file} in the run; allowed: the same code and packages")
    first = next(iter(piece.values()))
    batch, scenario = first.batch, _scenario(first.kind, first.batch.part, first.batch.packets)
    if (card := first.kind.card(scenario)) != batch.card:
        raise ValueError(f"data of {batch.part.scenario} on this worker has hash {card}, the run's is {batch.card}")
    return [(file, to_bytes(table)) for file, table in _play_piece(piece, scenario, threads)]


def play_here(cell: Cell, threads: int) -> pa.Table:
    """Play a cell without saving it."""
    ((_, table),) = _play_piece({"": cell}, _scenario(cell.kind, cell.batch.part, cell.batch.packets), threads)
    return table


@lru_cache(maxsize=4)
def _scenario(kind: Kind, part: Part, packets: int) -> Any:
    return kind.open(part, packets)


def _play_piece(piece: Mapping[str, Cell], scenario: Any, threads: int) -> Iterator[tuple[str, pa.Table]]:
    players: dict[str, Any] = {file: cell.participant for file, cell in piece.items()}
    rules = {file: one for file, one in players.items() if isinstance(one, Rules)}
    if rules:
        first = next(iter(piece.values()))
        draws = first.kind.draw(first.batch.part, scenario, first.batch.worlds)
        rollouts = first.kind.play_rules([one.system for one in rules.values()], scenario, draws, threads)
        for (file, one), finished in zip(rules.items(), rollouts, strict=True):
            yield file, _table(piece[file], scenario, finished, one.cost)
    for file in players.keys() - rules.keys():
        yield file, _table_of_agent(piece[file], players[file], scenario, threads)


def _table_of_agent(cell: Cell, agent: Agent, scenario: Any, threads: int) -> pa.Table:
    try:
        judged = Judged(agent)
        finished = cell.kind.play_policy(agent, judged, cell.batch.part, scenario, cell.batch.worlds, threads)
    except EntrantError as error:
        return failed(cell.kind.columns, str(error))
    except ActionError as error:
        return failed(cell.kind.columns, _reason("failed in play", error))
    return _table(cell, scenario, finished, cost_of(judged.policy))


def _table(cell: Cell, scenario: Any, finished: FinishedCalls, cost: Mapping[str, int]) -> pa.Table:
    return cell.table(cell.kind.rows(cell.batch.part, scenario, cell.batch.worlds, finished), finished, cost)
