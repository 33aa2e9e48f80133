"""Tables of measured files: CSV read in blocks of rows, with the numbers of all blocks concatenated.

The separator is the first of tab, semicolon, comma and spaces in the first row; where it is no comma, a number may have a decimal comma.
Blank lines, lines that begin with # and the line `sep=` of a spreadsheet are left out, and so are spaces around a cell and a separator at
the end of a row.

A text cell takes ten times the memory of its number, so only one block of cells is in memory at a time.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Set
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.reading import TraceError, is_number, iso_us, lines, numbers, refuse_first

Arrays = tuple[NDArray[Any], ...]

_SEPARATORS = "\t;, "
_SEP_LINE = re.compile(r"sep=([\t;,])\s*")  # of a spreadsheet, above the header
_QUOTED = re.compile(r'"[^"]*"')
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]*,[0-9]+(?:[eE][-+]?[0-9]+)?")
_BLOCK_CELLS = 2**14
_TABLE_CELLS = 2**20  # maximum of a table kept as text


class Table(NamedTuple):
    """Rows of a file as text: the cells of each column, and the last line of each row."""

    path: Path
    header: list[str]
    columns: list[list[str]]
    lines: list[int]

    def cells(self, column: str) -> list[str]:
        """Return column `column` as text."""
        if column not in self.header:
            raise TraceError(self.path, "line 1, header", self.header, f"a column {column}")
        return self.columns[self.header.index(column)]

    def line_numbers(self) -> NDArray[np.int32]:
        """Return the last line of each row, int32 (rows,)."""
        return np.array(self.lines, np.int32)

    def pick(self, mask: NDArray[np.bool_]) -> "Table":
        """Return the rows with a true `mask`."""
        at = np.flatnonzero(mask).tolist()
        columns = [[column[i] for i in at] for column in self.columns]
        return self._replace(columns=columns, lines=[self.lines[i] for i in at])

    def numbers(self, column: str, low: float, high: float, *, missing: Set[str] = frozenset()) -> NDArray[np.float64]:
        """Return column `column`, float64 (rows,); a cell whose text is one of `missing` is NaN."""
        cells = self.cells(column)
        if not missing or missing.isdisjoint(cells):
            return numbers(self.path, column, cells, self.lines, low, high)
        filled = np.array([cell not in missing for cell in cells])
        values = np.full(len(cells), np.nan)
        values[filled] = self.pick(filled).numbers(column, low, high)
        return values

    def microseconds(self, column: str, low_us: int, high_us: int, *, missing: Set[str] = frozenset()) -> NDArray[np.int64]:
        """Return column `column` of milliseconds in whole microseconds, int64 (rows,); LOST where `numbers` has NaN."""
        ms = self.numbers(column, low_us / 1e3, high_us / 1e3, missing=missing)
        return np.where(np.isnan(ms), LOST, np.rint(np.nan_to_num(ms) * 1e3)).astype(np.int64)

    def times(self, column: str, scale_us: float | None, low: float, high: float) -> NDArray[np.float64]:
        """Return the times in column `column`, float64 (rows,), in units of `scale_us` microseconds (None: of a second).

        ISO 8601 times are since 1970 in UTC. Numbers must be in [low, high] and need a unit.
        """
        cells = self.cells(column)
        if scale_us is not None and (not cells or is_number(cells[0])):
            return self.numbers(column, low, high)
        times_us = [iso_us(cell) for cell in cells]
        allowed = "a number, or an ISO 8601 time such as 2024-05-01T12:00:00.010Z" + "; a number needs its unit" * (scale_us is None)
        refuse_first(self.path, column, np.array([time is None for time in times_us]), cells, self.lines, allowed)
        return np.array(times_us, np.float64) / (scale_us or 1e6)

    def whole_numbers(self, column: str, low: int, high: int) -> NDArray[np.int64]:
        """Return column `column`, int64 (rows,)."""
        values = self.numbers(column, low, high)
        refuse_first(self.path, column, values % 1 != 0.0, values, self.lines, "a whole number")
        return values.astype(np.int64)


def read_table(path: Path, content: bytes) -> Table:
    """Read a short CSV file with column names in the first line; every row must have all columns, and the last must end in a line break.

    A file truncated at the end of a row looks complete; only the hash of a card reveals it.

    Raises:
        TraceError: the file is malformed or has more than a million cells.
    """
    header, rows = _header_and_rows(path, content)
    whole = Table(path, header, [[] for _ in header], [])
    for block in blocks_of(path, header, rows):
        for column, more in zip(whole.columns, block.columns, strict=True):
            column.extend(more)
        whole.lines.extend(block.lines)
        if len(whole.lines) * len(header) > _TABLE_CELLS:
            raise TraceError(path, f"line {whole.lines[-1]}, number of cells", f"more than {_TABLE_CELLS}", f"at most {_TABLE_CELLS}")
    return whole


def read_header(path: Path, content: bytes) -> list[str]:
    """Return the column names of a CSV file in the format of `read_table`."""
    return _header_and_rows(path, content)[0]


def read_columns(path: Path, content: bytes, numbers_of: Callable[[Table], Arrays], *, header: bool = True) -> list[Any]:
    """Read a CSV file of any length in the format of `read_table`.

    Args:
        path: file name for errors.
        content: content of the file.
        numbers_of: converts a block of rows to the wanted arrays, one entry per row.
        header: True if the first row names the columns; otherwise their names are 1, 2, 3 and so on.

    Returns:
        The arrays over all rows.
    """
    return joined(map(numbers_of, blocks_of(path, *_header_and_rows(path, content, header))), content)


def blocks_of(path: Path, header: list[str], rows: Iterable[tuple[int, list[str]]]) -> Iterator[Table]:
    """Yield the rows, given with their lines, as tables of at least `_BLOCK_CELLS` cells; the last may be smaller."""
    # One flat list of cells: with a list per row the garbage collector would take three quarters of the time.
    flat: list[str] = []
    ended_on: list[int] = []

    def table() -> Table:
        return Table(path, header, [flat[i :: len(header)] for i in range(len(header))], ended_on)

    for line, row in rows:
        flat += row
        ended_on.append(line)
        if len(flat) >= _BLOCK_CELLS:
            yield table()
            flat, ended_on = [], []
    if ended_on:
        yield table()


def joined(blocks: Iterable[Arrays], content: bytes) -> list[Any]:
    """Join arrays that come in blocks, each held once; room for an entry per line of `content` takes no memory until it is used."""
    most = content.count(b"\n") + content.count(b"\r") + 1
    whole: list[NDArray[Any]] = []
    ends: list[int] = []
    for block in blocks:
        if not whole:
            whole, ends = [np.empty(most, array.dtype) for array in block], [0] * len(block)
        for number, array in enumerate(block):
            begin, ends[number] = ends[number], ends[number] + len(array)
            whole[number][begin : ends[number]] = array
    return [array[:end] for array, end in zip(whole, ends, strict=True)]


def _header_and_rows(path: Path, content: bytes, named: bool = True) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    separator = _separator_of(path, content)
    if content and not content.endswith((b"\n", b"\r")):
        last = content.count(b"\n") + 1
        raise TraceError(path, f"line {last}", content[-80:], "a line break at its end; the file may have been cut off")
    rows = _cells(path, content, separator)
    line, first = next(rows, (1, []))
    if not named:
        return [str(n) for n in range(1, len(first) + 1)], _rows(path, chain([(line, first)], rows), len(first), line, separator)
    if first and all(is_number(cell) or iso_us(cell) is not None for cell in first):
        allowed = "names of columns; for a file without them format=csv has format.header=false"
        raise TraceError(path, f"line {line}, header", first, allowed)
    while first and not first[-1]:
        first.pop()
    if len(set(first)) != len(first):
        raise TraceError(path, f"line {line}, header", first, "each name once")
    return first, _rows(path, rows, len(first), line, separator)


def _separator_of(path: Path, content: bytes) -> str:
    for line in lines(path, content):
        if said := _SEP_LINE.fullmatch(line):
            return said[1]
        if not line.isspace() and line[0] != "#":
            bare = _QUOTED.sub("", line.strip(" \r\n"))
            return next((separator for separator in _SEPARATORS if separator in bare), ",")
    return ","


def _cells(path: Path, content: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line and the cells of each row."""
    left_out = ("#", "sep=")
    rows: Iterator[tuple[int, list[str]]]
    if separator == " ":
        rows = ((at, line.split()) for at, line in enumerate(lines(path, content), 1) if not line.startswith(left_out))
    else:
        rows = _quoted_cells(path, ("\n" if line.startswith(left_out) else line for line in lines(path, content)), separator)
    spaces, commas = b" " in content, separator != "," and b"," in content
    for at, row in rows:
        if spaces:
            row[:] = map(str.strip, row)
        if commas:
            row[:] = (cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell for cell in row)
        if row:
            yield at, row


def _quoted_cells(path: Path, text: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(text, strict=True, delimiter=separator, skipinitialspace=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise TraceError(path, f"line {reader.line_num}", str(error), "separated values") from error


def _rows(
    path: Path, rows: Iterable[tuple[int, list[str]]], fields: int, header_line: int, separator: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield rows of `fields` cells; reject a table without rows."""
    none = True
    for line, row in rows:
        if len(row) == fields + 1 and not row[-1]:
            row.pop()
        if len(row) != fields:
            hint = "; a decimal comma needs another separator" if separator == "," and len(row) > fields else ""
            raise TraceError(path, f"line {line}, number of fields", len(row), f"{fields}, as in line {header_line}{hint}")
        none = False
        yield line, row
    if none:
        raise TraceError(path, "number of rows below the header", 0, "at least 1")
