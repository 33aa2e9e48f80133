"""Reading measured files that others wrote: bounded unpacking, UTF-8, numbers, and CSV by column.

Nothing is guessed: what is not understood is refused with file, line, field, value and what is allowed.
"""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import read_plain

MAX_CONTENT_BYTES = 2**30  # unpacked; a gzip file may grow a thousandfold
UNIT_US = {"s": 1e6, "ms": 1e3, "us": 1.0}

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_CHARACTERS_OF_NUMBERS = re.compile(r"[-+.0-9eE\n]*")
_SHOWN = 80  # characters of a value that an error repeats


class TraceError(DataError):
    """A measured file or trace that cannot be used; names file, line or index, field, value and what is allowed."""


def read_content(path: Path, limit_bytes: int = MAX_CONTENT_BYTES) -> bytes:
    """Read a file, unpacked if its name ends in .gz; more than `limit_bytes` is refused before it fills the memory."""
    try:
        content = read_plain(path, limit_bytes)
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(limit_bytes + 1)
    except DataError as error:
        raise TraceError(*error.args) from error
    except (OSError, EOFError, zlib.error) as error:
        raise TraceError(path, "file", f"{type(error).__name__}: {error}", "a whole, readable file") from error
    if len(content) > limit_bytes:
        raise TraceError(path, "unpacked size in bytes", f"more than {limit_bytes}", f"at most {limit_bytes}")
    return content


def decode(path: Path, content: bytes) -> str:
    """Return the UTF-8 text of `content`, without a byte-order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TraceError(path, f"line {line}", content[error.start : error.end], "UTF-8 text") from error


def number(path: Path, where: str, text: str, low: float, high: float) -> float:
    """Return the number in `text`, plain or with an exponent, a point before its decimals; refuse NaN and what is out of [low, high]."""
    value = float(text) if _NUMBER.fullmatch(text) else None
    if value is None or not low <= value <= high:
        raise TraceError(path, where, text[:_SHOWN], f"a number from {low:.15g} to {high:.15g}")
    return value


def numbers(path: Path, field: str, cells: Sequence[str], lines: Sequence[int], low: float, high: float) -> NDArray[np.float64]:
    """Return the `number` of each cell, float64 (cells,); `lines` are their lines in the file."""
    if _CHARACTERS_OF_NUMBERS.fullmatch("\n".join(cells)):
        with suppress(ValueError):
            values = np.array(cells, np.float64)
            if np.all((low <= values) & (values <= high)):
                return values
    # Something is wrong: the cells one by one, to name the first.
    return np.array([number(path, f"line {line}, {field}", cell, low, high) for cell, line in zip(cells, lines, strict=True)])


class Table(NamedTuple):
    """Rows of a CSV file as text: for each column its cells, and the line each row ended on."""

    path: Path
    header: list[str]
    columns: list[list[str]]
    lines: list[int]

    def cells(self, column: str) -> list[str]:
        """Return column `column` as text."""
        if column not in self.header:
            raise TraceError(self.path, "line 1, header", self.header, f"a column {column}")
        return self.columns[self.header.index(column)]

    def pick(self, mask: NDArray[np.bool_]) -> "Table":
        """Return the rows where `mask` is true."""
        at = np.flatnonzero(mask).tolist()
        columns = [[column[i] for i in at] for column in self.columns]
        return self._replace(columns=columns, lines=[self.lines[i] for i in at])

    def numbers(self, column: str, low: float, high: float, *, may_be_empty: bool = False) -> NDArray[np.float64]:
        """Return column `column`, float64 (rows,); an empty cell is NaN where it may be empty."""
        cells = self.cells(column)
        if not may_be_empty or "" not in cells:
            return numbers(self.path, column, cells, self.lines, low, high)
        filled = np.array([cell != "" for cell in cells])
        values = np.full(len(cells), np.nan)
        values[filled] = self.pick(filled).numbers(column, low, high)
        return values

    def whole_numbers(self, column: str, low: int, high: int) -> NDArray[np.int64]:
        """Return column `column`, int64 (rows,)."""
        values = self.numbers(column, low, high)
        broken = np.flatnonzero(values % 1)
        if len(broken):
            at = int(broken[0])
            raise TraceError(self.path, f"line {self.lines[at]}, {column}", values[at].item(), "a whole number")
        return values.astype(np.int64)

    def refuse_falling(self, column: str, values: NDArray[np.float64]) -> None:
        """Refuse `values` of `column` if one is below the one before it."""
        falls = np.flatnonzero(np.diff(values) < 0)
        if len(falls):
            before, value = values[falls[0] : falls[0] + 2].tolist()
            line = self.lines[int(falls[0]) + 1]
            raise TraceError(self.path, f"line {line}, {column}", value, f"at least {before}, the one before")


def read_table(path: Path, content: bytes) -> Table:
    """Read a CSV file whose first line names the columns; every row must have them all, and the last must end in a line break.

    A file cut off at the end of a row looks whole: only a card beside it (its hash) can tell.
    """
    (table,) = read_blocks(path, content, None)
    return table


def read_blocks(path: Path, content: bytes, rows: int | None) -> Iterator[Table]:
    """Yield a table in blocks of `rows` rows (None: all in one), for files too long to be held as text cells; see `read_table`."""
    decode(path, content)
    if content and not content.endswith((b"\n", b"\r")):
        last = content.count(b"\n") + 1
        raise TraceError(path, f"line {last}", content[-_SHOWN:], "a line break at its end; the file may have been cut off")
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline=""), strict=True)
    try:
        header = next(reader, [])
        if len(set(header)) != len(header):
            raise TraceError(path, "line 1, header", header, "each name once")
        first = _next_block(path, reader, header, rows)
        if first is None:
            raise TraceError(path, "number of rows below the header", 0, "at least 1")
        yield first
        while block := _next_block(path, reader, header, rows):
            yield block
    except csv.Error as error:
        raise TraceError(path, f"line {reader.line_num}", str(error), "comma-separated values") from error


def _next_block(path: Path, reader: Any, header: list[str], rows: int | None) -> Table | None:
    """Read the next rows, empty lines passed over; None at the end of the file."""
    # One flat list of cells: a list per row would keep the garbage collector busy for three quarters of the time.
    cells: list[str] = []
    lines: list[int] = []
    for row in reader:
        if row and len(row) != len(header):
            raise TraceError(path, f"line {reader.line_num}, number of fields", len(row), f"{len(header)}, as in the header")
        if row:
            cells += row
            lines.append(reader.line_num)
        if len(lines) == rows:
            break
    return Table(path, header, [cells[i :: len(header)] for i in range(len(header))], lines) if lines else None
