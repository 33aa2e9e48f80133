"""Metric values in a file, one point per line: values that a tracking server did not accept, and reports of a trial of a sweep."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from vcgym.network.traces.plain_file import read_plain
from vcgym.network.traces.refusal import shown

MAX_POINTS_BYTES = 1 << 30


class MetricPoint(NamedTuple):
    """Metric values seen after `steps` transitions, at `at_ms` milliseconds of Unix time."""

    values: dict[str, float]
    steps: int
    at_ms: int


_POINT = TypeAdapter(MetricPoint)


def append(path: Path, point: MetricPoint) -> None:
    """Append a point to the file, after removing a line truncated by a kill."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = read_plain(path, MAX_POINTS_BYTES, links=False) if os.path.lexists(path) else b""
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(point) + "\n")


def read(path: Path) -> Iterator[MetricPoint]:
    """Yield the points of the file, if it exists; skip a last line truncated by a kill.

    Raises:
        ValueError: a line is not a point, or the file is a link or no file.
    """
    content = read_plain(path, MAX_POINTS_BYTES, links=False) if os.path.lexists(path) else b""
    for number, line in enumerate(content.splitlines(keepends=True), 1):
        if line.endswith(b"\n"):
            try:
                yield _POINT.validate_json(line)
            except ValidationError as error:
                raise ValueError(f"{path}: line {number} is {shown(line)}; allowed: values by name, steps, milliseconds") from error
