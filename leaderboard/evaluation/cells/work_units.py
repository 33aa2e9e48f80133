"""A unit of work: some participants on one share of worlds, played by one process on this or another machine."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from vcgym.leaderboard.evaluation.cells.cells import Cell, CellContent, parsed
from vcgym.leaderboard.evaluation.cells.playing import play_piece
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plays.play import Play


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
    share, scenario = first.share, _scenario(first.play, first.share.part, first.share.packets)
    if (card := first.play.card(scenario)) != share.card:
        raise ValueError(f"data of {share.part.scenario} on this worker has hash {card}, the run's is {share.card}")
    return list(play_piece(piece, scenario, threads))


def play_here(cell: Cell, threads: int) -> CellContent:
    """Play a cell without saving it."""
    ((_, content),) = play_piece({"": cell}, _scenario(cell.play, cell.share.part, cell.share.packets), threads)
    return parsed(content)


@lru_cache(maxsize=4)
def _scenario(play: Play, part: Part, packets: int) -> Any:
    return play.open(part, packets)
