"""An evaluation: its plan, after a check that the suite can play every participant, and its play.

Missing cells are played in this process or on Ray, each is saved when it is done; cells of local agents are played in every run.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from vcgym.agents.tracking.progress import BEFORE, OnProgress
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.cells.cells import WORLDS_PER_CELL, Batch, Cell
from vcgym.leaderboard.evaluation.cells.playing import play_cells, play_here
from vcgym.leaderboard.evaluation.compile_ahead import compile_ahead
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import Entrant, Rules, participant
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.network.traces.plain_file import replace_file

TOGETHER = 8  # rules per piece: enough to amortise the sampling of worlds, few enough to keep many workers busy


def plan(suite: Suite, parts: Sequence[tuple[Part, Any]], players: Mapping[str, Entrant]) -> list[Cell]:
    """Return all cells of an evaluation, with cells of the same batch adjacent.

    Raises:
        ValueError: see `require_controls`.
    """
    require_controls(suite, players)
    participants = {name: participant(name, player) for name, player in players.items()}
    batches = [batch for part in parts for batch in _batches(suite, *part)]
    return [Cell(name, one, batch, suite.kind) for batch in batches for name, one in participants.items()]


def _batches(suite: Suite, part: Part, scenario: Any) -> list[Batch]:
    which = suite.kind.worlds(part, scenario)
    cuts = range(0, len(which), WORLDS_PER_CELL)
    of_suite = (suite.name, suite.version, suite.packets, part, suite.kind.card(scenario))
    return [Batch(*of_suite, tuple(which[cut : cut + WORLDS_PER_CELL])) for cut in cuts]


def require_controls(suite: Suite, players: Mapping[str, Entrant]) -> None:
    """Refuse systems that lack a control of the suite's calls, or have one that its calls lack and that would not be played.

    Raises:
        ValueError: naming each such system, its controls and those of the suite.
    """
    systems = {name: one for name, one in players.items() if isinstance(one, System)}
    others = {name: ", ".join(one.rules) for name, one in sorted(systems.items()) if not one.fits(suite.kind.controls)}
    if others:
        found = "; ".join(f"{name} has {controls or 'none'}" for name, controls in others.items())
        raise ValueError(
            f"systems has {list(others)}, which suite {suite.name}-{suite.version} cannot play: {found}; "
            f"allowed: systems with {' and '.join(suite.kind.controls)} alone"
        )


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
