"""Play missing cells in this process or on Ray and save each when it is done; cells of local agents are played in every run."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from vcgym.agents.tracking.progress import BEFORE, OnProgress
from vcgym.leaderboard.evaluation.cells.cells import Cell
from vcgym.leaderboard.evaluation.cells.playing import play_cells, play_here
from vcgym.leaderboard.evaluation.compile_ahead import compile_ahead
from vcgym.leaderboard.evaluation.published import Rules
from vcgym.network.traces.plain_file import replace_file

TOGETHER = 8  # rules per piece: enough to amortise the sampling of worlds, few enough to keep many workers busy


def evaluate(
    cells: list[Cell], folder: Path, on_progress: OnProgress, threads: int = 1, workers: int = 0, address: str | None = None
) -> list[tuple[Cell, pa.Table]]:  # fmt: skip
    """Return the table of each of `cells`. Cells missing in `folder` are played and saved there, so a killed run resumes.

    Cells of local agents are played in this process every time.

    Args:
        cells: cells to evaluate, with cells of the same batch adjacent.
        folder: folder of the cells' files.
        on_progress: called with the number of finished cells and the last one.
        threads: threads of this process that share the sessions, without Ray.
        workers: processes of a local Ray; 0: play in this process.
        address: address of a running Ray cluster, which is used regardless of `workers`.

    Raises:
        ValueError: the file of a cell is not complete.
    """
    local = [cell for cell in cells if not cell.file]
    files = {cell.file: cell for cell in cells if cell.file}
    missing = {file: cell for file, cell in files.items() if not (folder / file).is_file()}
    finished = len(files) - len(missing)
    on_progress(finished, BEFORE if finished else "")
    for done in _play(_pieces(missing), threads, workers, address) if missing else ():
        for file, content in done:
            replace_file(folder / file, content)
            finished += 1
            on_progress(finished, _described(missing[file]))
    played_here = {}
    for cell in local:
        played_here[cell.name, cell.batch] = play_here(cell, threads)
        finished += 1
        on_progress(finished, _described(cell))
    return [(cell, cell.read(folder / cell.file) if cell.file else played_here[cell.name, cell.batch]) for cell in cells]


def _described(cell: Cell) -> str:
    return f"{cell.name} on {cell.batch.part.scenario}, {cell.batch.part.mode}"


def _play(pieces: list[dict[str, Cell]], threads: int, workers: int, address: str | None) -> Iterator[list[tuple[str, bytes]]]:
    if workers == 0 and address is None:
        players = [cell.participant for piece in pieces for cell in piece.values()]
        compile_ahead([one.system for one in players if isinstance(one, Rules)], threads)
        for piece in pieces:
            yield play_cells(piece, threads)
        return
    from vcgym.leaderboard.evaluation.on_ray import play_on_ray  # Ray is an extra, and slow to import

    yield from play_on_ray(pieces, workers, address)


def _pieces(cells: Mapping[str, Cell]) -> list[dict[str, Cell]]:
    """Group cells into units for one process: some rules on one batch, or one agent."""
    pieces = []
    for _, of_batch in groupby(cells.items(), lambda item: item[1].batch):
        files = [file for file, _ in of_batch]
        rules = [file for file in files if isinstance(cells[file].participant, Rules)]
        pieces += [rules[cut : cut + TOGETHER] for cut in range(0, len(rules), TOGETHER)]
        pieces += [[file] for file in files if file not in rules]
    return [{file: cells[file] for file in piece} for piece in pieces]
