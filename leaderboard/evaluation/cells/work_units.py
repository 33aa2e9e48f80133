"""A unit of work: some participants on one share of worlds, played by one process on this or another machine."""

from collections.abc import Mapping
from functools import lru_cache

from vcgym.leaderboard.evaluation.cells.call_cells import play_call_cells
from vcgym.leaderboard.evaluation.cells.cells import Cell, Found, parsed
from vcgym.leaderboard.evaluation.cells.conference_cells import play_conference_cells
from vcgym.leaderboard.evaluation.cells.sender_cells import play_sender_cells
from vcgym.leaderboard.evaluation.suites import AnyScenario, Part, data_hash
from vcgym.network.scenarios.conference import ConferenceScenario
from vcgym.network.scenarios.scenario import Scenario


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
    share = next(iter(piece.values())).share
    scenario = _scenario(share.part, share.packets)
    if data_hash(scenario) != share.card:
        raise ValueError(f"data of {share.part.scenario} on this worker has hash {data_hash(scenario)}, the run's is {share.card}")
    return _played(piece, scenario, threads)


def play_here(cell: Cell, threads: int) -> Found:
    """Play a cell without saving it."""
    ((_, content),) = _played({"": cell}, _scenario(cell.share.part, cell.share.packets), threads)
    return parsed(content)


def _played(piece: Mapping[str, Cell], scenario: AnyScenario, threads: int) -> list[tuple[str, bytes]]:
    if isinstance(scenario, Scenario):
        return list(play_call_cells(piece, scenario, threads))
    if isinstance(scenario, ConferenceScenario):
        return list(play_conference_cells(piece, scenario))
    return list(play_sender_cells(piece, scenario, threads))


@lru_cache(maxsize=4)
def _scenario(part: Part, packets: int) -> AnyScenario:
    return part.open(packets)
