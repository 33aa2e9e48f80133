"""References of the scores of the zoo: rules, random actions and a bound for each environment, on the same validation worlds."""

import csv
from collections.abc import Iterable
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vcgym.network.traces.card_file import replace_with_card
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain

ROLES = ("published", "tuned", "learned", "random", "bound")


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
