"""Metrics that a tracking server did not take: kept in a file beside the run, and sent when the run goes on."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FILE = "metrics_unsent.jsonl"


class Point(NamedTuple):
    """Metric values seen after `steps` transitions, at `at_ms` milliseconds of Unix time."""

    values: dict[str, float]
    steps: int
    at_ms: int


def keep(path: Path, point: Point) -> None:
    """Append a point to the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(point) + "\n")


def kept(path: Path) -> Iterator[Point]:
    """Yield the points of the file, if there is one; a last line that a kill cut short is passed over.

    Raises:
        ValueError: a line that is none.
    """
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    for number, line in enumerate(lines, 1):
        if line.endswith("\n"):
            try:
                yield Point(*json.loads(line))
            except (ValueError, TypeError) as error:
                raise ValueError(f"{path}: line {number} is {line[:80]!r}; allowed: metrics as {FILE} keeps them") from error
