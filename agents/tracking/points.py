"""Metric values in a file, one point per line: values that a tracking server did not accept, and reports of a trial of a sweep."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class MetricPoint(NamedTuple):
    """Metric values seen after `steps` transitions, at `at_ms` milliseconds of Unix time."""

    values: dict[str, float]
    steps: int
    at_ms: int


def append(path: Path, point: MetricPoint) -> None:
    """Append a point to the file, after removing a line truncated by a kill."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = path.read_bytes() if path.exists() else b""
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(point) + "\n")


def read(path: Path) -> Iterator[MetricPoint]:
    """Yield the points of the file, if it exists; skip a last line truncated by a kill.

    Raises:
        ValueError: a line is not a point.
    """
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    for number, line in enumerate(lines, 1):
        if line.endswith("\n"):
            try:
                yield MetricPoint(*json.loads(line))
            except (ValueError, TypeError) as error:
                raise ValueError(f"{path}: line {number} is {line[:80]!r}; allowed: values by name, steps, milliseconds") from error
