"""Fault-injection campaigns: kills, bad files, bad disks, lost nodes. `make campaign SCALE=small|medium|full` runs them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

SCALES = ("small", "medium", "full")


class Case(NamedTuple):
    """Outcome of one case.

    Attributes:
        name: name of the case.
        held: true if the required property held.
        found: figures and messages, by column.
    """

    name: str
    held: bool
    found: dict[str, str | int | float]


def table(cases: Iterable[Case]) -> str:
    """Return the cases as a table in Markdown with failed cases marked."""
    cases = list(cases)
    columns = list(dict.fromkeys(column for case in cases for column in case.found))
    found = [[str(case.found.get(column, "")).replace("|", "\\|") for column in columns] for case in cases]
    rows = [["case", *columns, "held"], ["---"] * (len(columns) + 2)]
    rows += [[case.name, *row, "yes" if case.held else "NO"] for case, row in zip(cases, found, strict=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def save(cases: Iterable[Case], path: Path) -> None:
    """Write the cases as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([case._asdict() for case in cases], indent=1) + "\n")
