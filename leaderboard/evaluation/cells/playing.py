"""Play cells of one share: first the systems together, so that they share each sampled world, then the agents."""

from collections.abc import Iterator, Mapping
from typing import Any

from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.cells.cells import Cell, content, verdict
from vcgym.leaderboard.evaluation.entrant import EntrantError, Judged
from vcgym.leaderboard.evaluation.plays.play import AnyRollout
from vcgym.leaderboard.evaluation.published import LocalAgent, PublishedAgent, cost_of


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
