"""Play the cells that are not there yet, in this process or on Ray, and keep each as soon as it is done."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from vcgym.agents.progress import Tell
from vcgym.leaderboard.evaluation.cells import Cell
from vcgym.leaderboard.evaluation.identity import code_hash
from vcgym.leaderboard.evaluation.rollout import RulePair
from vcgym.leaderboard.evaluation.shares import play_cells
from vcgym.leaderboard.results.files import replace_file

TOGETHER = 8  # rules in one piece: enough to pay for drawing its worlds, few enough that many workers have something to do


def evaluate(cells: list[Cell], folder: Path, tell: Tell, threads: int = 1, workers: int = 0, address: str | None = None) -> None:
    """Make the file of each of `cells` that is not in `folder`; a run that was killed goes on so.

    Args:
        cells: those of one share in a row.
        folder: of the cells' files.
        tell: told how many of `cells` are there, and what was done last.
        threads: how many threads of this process share the sessions, without Ray.
        workers: 0: play in this process; else a Ray of so many processes is started.
        address: of a running Ray cluster, which is then used whatever `workers` says.
    """
    missing = [cell for cell in cells if not (folder / cell.file).is_file()]
    names = {cell.file: f"{cell.name} on {cell.share.part.scenario}, {cell.share.part.mode}" for cell in missing}
    there = len(cells) - len(missing)
    tell(there, f"{there} cells were done before" if there else "playing")
    for done in _played(_pieces(missing), threads, workers, address) if missing else ():
        for file, content in done:
            replace_file(folder / file, content)
            there += 1
            tell(there, names[file])


def _played(pieces: list[list[Cell]], threads: int, workers: int, address: str | None) -> Iterator[list[tuple[str, bytes]]]:
    if workers == 0 and address is None:
        yield from (play_cells(piece, code_hash(), threads) for piece in pieces)
        return
    from vcgym.leaderboard.evaluation.on_ray import play_on_ray  # Ray is an extra, and slow to import

    yield from play_on_ray(pieces, code_hash(), workers, address)


def _pieces(cells: list[Cell]) -> list[list[Cell]]:
    """Cells that one process plays in one go: some rules on one share, or one agent."""
    pieces: list[list[Cell]] = []
    for _, of_share in groupby(cells, lambda cell: cell.share):
        here = list(of_share)
        rules = [cell for cell in here if isinstance(cell.system, RulePair)]
        pieces += [rules[cut : cut + TOGETHER] for cut in range(0, len(rules), TOGETHER)]
        pieces += [[cell] for cell in here if not isinstance(cell.system, RulePair)]
    return pieces
