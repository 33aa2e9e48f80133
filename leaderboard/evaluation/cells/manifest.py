"""Manifest of a board: the cells of each system that was ever played on it. So a later run of a few systems hides no other.

`board.json` in the folder of results has them by system and batch. An entry is valid while its files exist and the worlds and the code that
played them are today's, for a system of vcgym its own code too; else it is stale. Delete a name in the file to take the system off the
board.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from pydantic import StringConstraints, TypeAdapter, ValidationError

from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import load_system
from vcgym.leaderboard.cache import FILE_NAME, file_name, to_bytes
from vcgym.leaderboard.evaluation.cells.cells import FOLDER, MADE_BY, Batch, Cell, failure_of
from vcgym.leaderboard.evaluation.published import participant
from vcgym.network.traces.plain_file import inside, read_json, replace_file
from vcgym.network.traces.refusal import faults, one_line

FILE = "board.json"
LOCK = ".board.lock"
"""File that a run locks (`vcgym.network.traces.plain_file.locked`) while it changes the board and what follows from it."""
STALE = "was played by other code or on other worlds: systems=[...] or agents.NAME=... plays it again"
"""Reason why a system whose cells are stale is left out."""
_LOCAL = "local-"
_Batch = Annotated[str, StringConstraints(pattern=f"^{FILE_NAME}$")]
_File = Annotated[str, StringConstraints(pattern=f"^({_LOCAL})?{FILE_NAME}$")]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=r"^[^\x00-\x1f\x7f]+$")]
_BOARD = TypeAdapter(dict[_Name, dict[_Batch, _File]])


def read_board(folder: Path) -> dict[str, dict[str, str]]:
    """Return the files of the cells of each system on the board in `folder`, by batch; empty without a board.

    Raises:
        ValueError: `board.json` is broken or names anything but files of cells, or a link leads out of the folder.
    """
    path, cells = folder / FILE, inside(folder, FOLDER)
    if not path.exists():
        return {}
    try:
        board = _BOARD.validate_python(read_json(path), strict=True)
    except ValidationError as error:
        raise ValueError(one_line(f"{path} names no cells of systems: {faults(error)}")) from error
    for files in board.values():
        for file in files.values():
            inside(cells, file)
    return board


def update_board(
    folder: Path, played: Sequence[tuple[Cell, pa.Table]], never: Collection[str]
) -> tuple[list[tuple[Cell, pa.Table]], list[str]]:  # fmt: skip
    """Add what a run has played to the board in `folder`; return all its valid cells, and the systems whose cells are stale.

    Args:
        folder: folder of results, whose `LOCK` is held.
        played: every cell of the run and its table. The table of a cell without a file is saved here.
        never: systems that the board must not show.

    Raises:
        ValueError: the file of a cell is not complete, or not that of the cell; see also `read_board`.
    """
    before = read_board(folder)
    batches = {cell.batch: cell for cell, _ in played}
    keys = {batch: file_name((batch, type(cell.kind), cell.kind.name), MADE_BY) for batch, cell in batches.items()}
    cells = [(cell, table) for cell, table in played if cell.name not in never]
    new: dict[str, dict[str, str]] = {}
    for cell, table in cells:
        new.setdefault(cell.name, {})[keys[cell.batch]] = cell.file or _save(folder, cell, table)
    earlier = {name: files for name, files in sorted(before.items()) if name not in new and name not in never}
    valid = {name: files for name, files in earlier.items() if _is_valid(folder, name, files, batches, keys)}
    for name, files in valid.items():
        cells += [_read(folder, cell._replace(name=name), files[keys[batch]]) for batch, cell in batches.items()]
    replace_file(folder / FILE, (json.dumps(earlier | new, indent=1, sort_keys=True) + "\n").encode())
    _remove(folder, before, earlier | new)
    return cells, sorted(earlier.keys() - valid.keys())


def _read(folder: Path, cell: Cell, file: str) -> tuple[Cell, pa.Table]:
    path = folder / FOLDER / file
    table = cell.read(path)
    if failure_of(table):
        raise ValueError(f"{path} is of a system that failed; delete {cell.name} in {folder / FILE}")
    return cell, table


def _save(folder: Path, cell: Cell, table: pa.Table) -> str:
    """Write the file of a local agent's cell, and return its name."""
    content = to_bytes(table)
    file = f"{_LOCAL}{file_name((cell.name, content), __name__)}"
    replace_file(folder / FOLDER / file, content)
    return file


def _is_valid(folder: Path, name: str, files: Mapping[str, str], batches: Mapping[Batch, Cell], keys: Mapping[Batch, str]) -> bool:
    """Return True if a system has a cell for every batch of the run, played by the same code."""
    if any(key not in files or not (folder / FOLDER / files[key]).is_file() for key in keys.values()):
        return False
    if name not in system_names() or next(iter(files.values())).startswith(_LOCAL):
        return True
    rules = participant(name, load_system(name))
    return all(cell._replace(name=name, participant=rules).file == files[keys[batch]] for batch, cell in batches.items())


def _remove(folder: Path, before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]) -> None:
    """Remove files of local agents that the board no longer names; others are found by their names and may serve again."""
    files, used = ({file for of_system in named.values() for file in of_system.values()} for named in (before, after))
    for file in files - used:
        if file.startswith(_LOCAL):
            (folder / FOLDER / file).unlink(missing_ok=True)
