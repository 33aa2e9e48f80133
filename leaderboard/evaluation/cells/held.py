"""Content of a board: the cells of each system that was ever played on it. So a later run of a few systems hides no other.

`board.json` in the folder of results has them by system and share. An entry counts while its files exist and the worlds and the code that
played them are today's; for a system of vcgym its own code too. Delete a name in the file to take the system off the board.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import StringConstraints, TypeAdapter, ValidationError

from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import load_system
from vcgym.leaderboard.cache import FILE_NAME, file_name, to_bytes
from vcgym.leaderboard.evaluation.cells.cells import FOLDER, MADE_BY, Cell, CellContent, Share, read
from vcgym.leaderboard.evaluation.published import participant
from vcgym.network.traces.plain_file import inside, read_json, replace_file
from vcgym.network.traces.refusal import faults, one_line

FILE = "board.json"
LOCK = ".board.lock"
"""File that a run locks (`vcgym.network.traces.plain_file.locked`) while it changes the board and what follows from it."""
STALE = "was played by other code or on other worlds: systems=[...] or agents.NAME=... plays it again"
"""Reason why a system whose cells no longer count is left out."""
_LOCAL = "local-"
_Share = Annotated[str, StringConstraints(pattern=f"^{FILE_NAME}$")]
_File = Annotated[str, StringConstraints(pattern=f"^({_LOCAL})?{FILE_NAME}$")]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=r"^[^\x00-\x1f\x7f]+$")]
_BOARD = TypeAdapter(dict[_Name, dict[_Share, _File]])


class Held(NamedTuple):
    """Content of a cell on a board, with the name of its system and its share."""

    name: str
    share: Share
    found: CellContent


def read_board(folder: Path) -> dict[str, dict[str, str]]:
    """Return the files of the cells of each system on the board in `folder`, by share; empty without a board.

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


def hold(folder: Path, played: Sequence[tuple[Cell, CellContent]], never: Collection[str]) -> tuple[list[Held], list[str]]:
    """Add what a run has played to the board in `folder`; return all that it holds now, and the systems whose cells no longer count.

    Args:
        folder: folder of results, whose `LOCK` is held.
        played: every cell of the run and its content. The content of a local agent, which has no file, is saved here.
        never: systems that the board must not show.

    Raises:
        ValueError: the file of a cell is not complete, or not that of the cell; see also `read_board`.
    """
    before = read_board(folder)
    plays = {cell.share: cell for cell, _ in played}
    keys = {share: file_name((share, type(cell.kind), cell.kind.name), MADE_BY) for share, cell in plays.items()}
    now: dict[str, dict[str, str]] = {}
    for cell, found in played:
        if cell.name not in never:
            now.setdefault(cell.name, {})[keys[cell.share]] = _file(folder, cell, found)
    others = {name: files for name, files in sorted(before.items()) if name not in now and name not in never}
    whole = {name: files for name, files in others.items() if _counts(folder, name, files, plays, keys)}
    earlier = [_earlier(folder, name, plays[share], files[keys[share]]) for name, files in whole.items() for share in plays]
    replace_file(folder / FILE, (json.dumps(others | now, indent=1, sort_keys=True) + "\n").encode())
    _remove(folder, before, others | now)
    fresh = [Held(cell.name, cell.share, found) for cell, found in played if cell.name in now]
    return fresh + earlier, sorted(others.keys() - whole.keys())


def _earlier(folder: Path, name: str, like: Cell, file: str) -> Held:
    path = folder / FOLDER / file
    found = read(path, like._replace(name=name))
    if found.verdict:
        raise ValueError(f"{path} is of a system that failed; delete {name} in {folder / FILE}")
    return Held(name, like.share, found)


def _file(folder: Path, cell: Cell, found: CellContent) -> str:
    """Return the file of a cell, relative to the folder of cells; write that of a local agent."""
    if cell.file:
        return cell.file
    content = to_bytes(found.rows)
    file = f"{_LOCAL}{file_name((cell.name, content), __name__)}"
    replace_file(folder / FOLDER / file, content)
    return file


def _counts(folder: Path, name: str, files: Mapping[str, str], plays: Mapping[Share, Cell], keys: Mapping[Share, str]) -> bool:
    """Return True if a system has a valid cell for every share of the run."""
    if any(not (folder / FOLDER / files[key]).is_file() if key in files else True for key in keys.values()):
        return False
    if name not in system_names() or next(iter(files.values())).startswith(_LOCAL):
        return True
    rules = participant(name, load_system(name))
    return all(cell._replace(name=name, participant=rules).file == files[keys[share]] for share, cell in plays.items())


def _remove(folder: Path, before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]) -> None:
    """Remove files of local agents that the board no longer names; others are found by their names and may serve again."""
    files, used = ({file for of_system in named.values() for file in of_system.values()} for named in (before, after))
    for file in files - used:
        if file.startswith(_LOCAL):
            (folder / FOLDER / file).unlink(missing_ok=True)
