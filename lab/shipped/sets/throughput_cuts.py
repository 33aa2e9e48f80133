"""Sets of many throughput traces in one file, cut from public repositories.

A set has the traces that `data/measured.json` names, in that order: a selection, which no rule gives again. Times and throughputs are
written as the source writes them.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.cards import Card, DataError
from vcgym.network.traces.columns import read_table
from vcgym.network.traces.reading import TraceError, lines, read_content
from vcgym.network.traces.trace_file import csv_content, write_with_card

_CARRIERS = {"starlink_mobility": "mob", "att": "att", "tmobile": "tm", "verizon": "vz"}
"""Name of a carrier in the set -> in the names of the source's files."""
_MAX_STEP_S = 5  # a longer step of the time, either way, begins another drive
_MIN_ROWS = 60  # of a drive; shorter ones are dropped before drives are numbered
_SPEED_DIGITS = 5  # characters of a speed that are kept

Rows = dict[str, Iterable[str]]
Cutter = Callable[[Path], Rows]


def files(folder: Path) -> Rows:
    """Return the rows `t_s,mbps` of each file of a folder by name; a file has a time in s, a tab and Mbit/s on each line."""
    return {_name_of(path): _rows_of(path) for path in sorted(folder.iterdir())}


def drives(folder: Path) -> Rows:
    """Return the rows `t_s,mbps,speed_mph,area` of each drive by carrier and number; positions are left out.

    The source has a file per carrier. A step of the time of more than 5 s, either way, begins another drive: the drives of a file are not
    in order of time. Drives of fewer than 60 rows are dropped, the others numbered. Times count from the first second of a drive.
    """
    return {
        f"{carrier}_{number:03d}": rows
        for carrier, short in _CARRIERS.items()
        for number, rows in enumerate(one for one in _drives_of(folder / f"{short}_all_area1.csv") if len(one) >= _MIN_ROWS)
    }


def _drives_of(path: Path) -> list[list[str]]:
    table = read_table(path, read_content(path))
    found: list[list[str]] = []
    begin = before = -math.inf
    cells = (table.cells(name) for name in ("time", "throughput", "speed", "area_type"))
    for line, time, mbps, speed, area in zip(table.lines, *cells, strict=True):
        at = _second(path, line, time)
        if abs(at - before) > _MAX_STEP_S:
            begin = at
            found.append([])
        found[-1].append(f"{at - begin},{mbps},{speed[:_SPEED_DIGITS]},{area}")
        before = at
    return found


FORMS: dict[str, tuple[Cutter, tuple[str, ...]]] = {
    "throughputs": (files, ("trace", "t_s", "mbps")),
    "drives": (drives, ("trace", "t_s", "mbps", "speed_mph", "area")),
}
"""Reader of a source and header of the set's file, by form."""


def cut_traces(form: str, folder: Path, traces: Sequence[str], source: str, licence: str, output: Path) -> Card:
    """Write the named traces of a source to the new file `output`, and its card.

    Args:
        form: key of `FORMS`.
        folder: folder of the source's files.
        traces: names of the traces.
        source: source for the card.
        licence: licence for the card.
        output: file of the set.

    Raises:
        DataError: the source lacks a trace or is broken, or the file exists.
    """
    read, header = FORMS[form]
    if not folder.is_dir():
        raise DataError(folder, "source", "no folder", "a folder of the repository")
    found = read(folder)
    if absent := [name for name in traces if name not in found]:
        raise DataError(folder, f"traces that are not there ({len(absent)} of {len(traces)})", absent[0], "those in data/measured.json")
    rows = (f"{name},{row}" for name in traces for row in found[name])
    content = b"".join(read_content(path) for path in sorted(folder.iterdir()))
    origin = card_beside(folder, content).model_copy(update={"source": source, "licence": licence})
    return write_with_card(output, csv_content(header, rows), origin, "t_s seconds, mbps Mbit/s")


def _rows_of(path: Path) -> Iterator[str]:
    for line in lines(path, read_content(path)):
        yield line.rstrip().replace("\t", ",")


def _second(path: Path, line: int, time: str) -> int:
    try:
        return int(datetime.fromisoformat(f"{time[:19]}+00:00").timestamp())
    except ValueError as error:
        raise TraceError(path, f"line {line}, time", time, "as in 2023-04-04 10:07:13 CDT") from error


def _name_of(path: Path) -> str:
    """Return the name of a trace: the file's, without the address that the measurement of a household fetched."""
    return re.sub(r"^(?:test_fcc_)?trace_(\d+)_http---(?:www\.)?", r"fcc_\1_", path.name)
