"""The files of the zoo: all trainings so far, one row per evaluation, to which each run adds; and the references of their scores.

References are rules, random actions and a bound for each environment, on the same validation worlds.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

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


HUNDRED = "told-100"
"""Role with score 100, where an environment has it; elsewhere the bound has."""
ROLES = ("random", "constant", "published", "tuned", "learned", "told-0", HUNDRED, "told-500", "told-2000", "bound")
"""Steps of the ladder of an environment; told-h is a controller that is told what comes in the next h ms."""


class Reference(NamedTuple):
    """Scores of one system on the first validation worlds of an environment."""

    env: str
    role: str
    name: str
    scores: list[float]


def references_path() -> Path:
    """Return the file of the shipped references."""
    return Path(str(files("vcgym.data").joinpath("zoo_references.csv")))


def write_references(found: Iterable[Reference], path: Path, module: str) -> None:
    """Write references, one row each, and the card of the file, which names the module that made them."""
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(Reference._fields)
    for one in found:
        table.writerow((*one[:3], " ".join(f"{score:.3f}" for score in one.scores)))
    source = f"simulated worlds of the validation split, made by python -m {module}"
    description = "Scores that those of the zoo lie between, world by world"
    replace_with_card(path, text.getvalue().encode(), description, source, "as in lab/notes/zoo.md")


def read_references(path: Path) -> list[Reference]:
    """Read what `write_references` wrote."""
    table = csv.DictReader(StringIO(read_plain(path, MAX_JSON_BYTES).decode()))
    return [Reference(row["env"], row["role"], row["name"], [float(score) for score in row["scores"].split()]) for row in table]


def means(found: Iterable[Reference], worlds: int) -> dict[tuple[str, str], float]:
    """Return the mean score of each environment and role on the first `worlds` worlds.

    Raises:
        ValueError: a reference has fewer worlds.
    """
    result = {}
    for one in found:
        if worlds > len(one.scores):
            raise ValueError(f"worlds is {worlds}; the references of {one.env} have {len(one.scores)}")
        result[one.env, one.role] = float(np.mean(one.scores[:worlds]))
    return result
