"""The table of all trainings so far: one row per evaluation, in a file to which each run of the zoo adds."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

from vcgym.network.traces.card_file import replace_with_card
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain
from vcgym.scripts.zoo.cell import CurvePoint
from vcgym.scripts.zoo.config import INSIDE, ZooTraining

Curves = Mapping[ZooTraining, list[CurvePoint]]
"""Training -> its curve."""
_COLUMNS = (*ZooTraining._fields, *CurvePoint._fields)


def read_runs(path: Path) -> dict[ZooTraining, list[CurvePoint]]:
    """Read the table; nothing if there is none.

    Raises:
        ValueError: the file is something else.
    """
    found: dict[ZooTraining, list[CurvePoint]] = {}
    if not path.is_file():
        return found
    try:
        for row in csv.DictReader(StringIO(read_plain(path, MAX_JSON_BYTES).decode())):
            point = CurvePoint(int(row["decisions"]), float(row["cpu_s"]), float(row["score"]))
            found.setdefault(ZooTraining(row["env"], row["algorithm"], int(row["seed"]), int(row["planned"])), []).append(point)
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise ValueError(f"{path} is no table of trainings: {type(error).__name__} {error}; allowed: {', '.join(_COLUMNS)}") from error
    return found


def write_runs(path: Path, curves: Curves) -> None:
    """Write the table, sorted, and its card."""
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_COLUMNS)
    table.writerows((*cell, *point) for cell in sorted(curves) for point in curves[cell])
    path.parent.mkdir(parents=True, exist_ok=True)
    description = "Scores of all trainings of the zoo, one row per evaluation"
    replace_with_card(path, text.getvalue().encode(), description, "vcgym zoo", "as in lab/notes/zoo.md")


def planned_for(runs: Curves, decisions: int) -> dict[ZooTraining, list[CurvePoint]]:
    """Return the trainings that were planned for so many decisions, and those inside the loop, which have their own number."""
    return {cell: curve for cell, curve in runs.items() if cell.algorithm == INSIDE or cell.planned == decisions}


def at_end(cell: ZooTraining, curve: Sequence[CurvePoint]) -> CurvePoint | None:
    """Return the first point with all decisions of a training; None if it ended before, or has twice as many."""
    return next((point for point in curve if cell.planned <= point.decisions < 2 * cell.planned), None)
