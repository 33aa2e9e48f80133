"""Reading of measured files from outside: bounded decompression, lines of UTF-8 text, numbers.

Nothing is guessed: invalid input is rejected with file, line, field, value and allowed values. Only the line or block of lines being read
is kept as text (`vcgym.network.traces.columns`).
"""

import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import read_plain

MAX_CONTENT_BYTES = 2**28  # uncompressed; a gzip file may grow a thousandfold
MAX_LINES = 10_000_000  # a day of probes every 10 ms has 8.64 million
MAX_LINE_CHARACTERS = 2**16
UNIT_US = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_CHARACTERS_OF_NUMBERS = re.compile(r"[-+.0-9eE\n]*")
_ISO_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?|[0-9]{8}T[0-9]{6}(?:[.,][0-9]+)?)"
    r" ?(?:(Z|UTC|GMT)|([-+][0-9]{2}(?::?[0-9]{2})?)(?: [A-Z]{3,5})?)?",
    re.IGNORECASE,
)
_1970 = datetime(1970, 1, 1, tzinfo=UTC)
_MARKS = {  # byte-order marks; that of UTF-16 begins that of UTF-32
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


class TraceError(DataError):
    """Unusable measured file or trace; names file, line or index, field, value and allowed values."""


def read_content(path: Path) -> bytes:
    """Read a file and decompress it if its name ends in .gz or .xz; reject more than `MAX_CONTENT_BYTES` before it fills the memory."""
    try:
        content = read_plain(path, MAX_CONTENT_BYTES)
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(MAX_CONTENT_BYTES + 1)
        elif path.suffix == ".xz":
            with lzma.open(io.BytesIO(content)) as packed:
                content = packed.read(MAX_CONTENT_BYTES + 1)
    except DataError as error:
        raise TraceError(*error.args) from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise TraceError(path, "file", f"{type(error).__name__}: {error}", "a whole, readable file") from error
    if len(content) > MAX_CONTENT_BYTES:
        raise TraceError(path, "unpacked size in bytes", f"more than {MAX_CONTENT_BYTES}", f"at most {MAX_CONTENT_BYTES}")
    return content


def lines(path: Path, content: bytes) -> Iterator[str]:
    """Yield the lines of UTF-8 text, each with its line break, without a byte-order mark.

    Raises:
        TraceError: another encoding, more than `MAX_LINES` lines, or a line of more than `MAX_LINE_CHARACTERS`.
    """
    _refuse_wide(path, content)
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    count = 0
    try:
        while line := text.readline(MAX_LINE_CHARACTERS + 1):
            count += 1
            if len(line) > MAX_LINE_CHARACTERS:
                allowed = f"at most {MAX_LINE_CHARACTERS}"
                raise TraceError(path, f"line {count}, number of characters", f"more than {MAX_LINE_CHARACTERS}", allowed)
            if count > MAX_LINES:
                raise TraceError(path, "number of lines", f"more than {MAX_LINES}", f"at most {MAX_LINES}")
            yield line
    except UnicodeDecodeError as error:
        raise _no_text(path, content) from error


def _refuse_wide(path: Path, content: bytes) -> None:
    """Reject text of two or four bytes per character, which Windows writes, by its byte-order mark or by zeros in every other byte."""
    head = content[:64]
    name = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if name is None and len(head) > 1:
        halves = head[::2], head[1 : len(head) // 2 * 2 : 2]
        name = "UTF-16" if any(not any(zeros) and 0 not in others for zeros, others in (halves, halves[::-1])) else None
    if name is not None:
        raise TraceError(path, "encoding", name, f"UTF-8 text; iconv -f {name} -t UTF-8 FILE converts it")


def _no_text(path: Path, content: bytes) -> TraceError:
    """Return the error for the first bytes that are not UTF-8 text."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        allowed = "UTF-8 text; iconv -f ENCODING -t UTF-8 FILE converts another, such as LATIN1"
        return TraceError(path, f"line {line}", content[error.start : error.end], allowed)
    raise AssertionError("bytes that are no text line by line only")


def is_number(text: str) -> bool:
    """Return True for a number in decimal or exponent notation with a decimal point."""
    return _NUMBER.fullmatch(text) is not None


def iso_us(text: str) -> int | None:
    """Return the microseconds since 1970 of an ISO 8601 date and time, in UTC unless it has an offset; None if the text is none.

    Digits beyond the microsecond are dropped. Besides T a space may part date and time, and stand before an offset, UTC or GMT.
    """
    if not (found := _ISO_TIME.fullmatch(text)):
        return None
    time, _, offset = found.groups()
    try:
        at = datetime.fromisoformat(f"{time.upper()}{offset or '+00:00'}")
    except ValueError:  # such as 31 February
        return None
    return (at - _1970) // timedelta(microseconds=1)


def number(path: Path, where: str, text: str, low: float, high: float) -> float:
    """Return the number in `text`, in decimal or exponent notation with a decimal point; reject NaN and values outside [low, high]."""
    value = float(text) if is_number(text) else None
    if value is None or not low <= value <= high:
        raise TraceError(path, where, text, f"a number from {low:.15g} to {high:.15g}")
    return value


def numbers(path: Path, field: str, cells: Sequence[str], lines: Sequence[int], low: float, high: float) -> NDArray[np.float64]:
    """Return the `number` of each cell, float64 (cells,); `lines` are their lines in the file."""
    if _CHARACTERS_OF_NUMBERS.fullmatch("\n".join(cells)):
        with suppress(ValueError):
            values = np.array(cells, np.float64)
            if np.all((low <= values) & (values <= high)):
                return values
    # A cell is wrong: parse one by one to name the first.
    return np.array([number(path, f"line {line}, {field}", cell, low, high) for cell, line in zip(cells, lines, strict=True)])


def refuse_first(
    path: Path, field: str, wrong: NDArray[np.bool_], values: Sequence[Any] | NDArray[Any], lines: Sequence[int] | NDArray[Any],
    allowed: str,
) -> None:  # fmt: skip
    """Reject the first of `values` (n,) of a field that is `wrong` (n,); `lines` (n,) are their lines in the file."""
    if wrong.any():
        at = int(np.argmax(wrong))
        value = values[at].item() if isinstance(values, np.ndarray) else values[at]
        raise TraceError(path, f"line {lines[at]}, {field}", value, allowed)


def refuse_falling(path: Path, column: str, values: NDArray[Any], lines: NDArray[np.int32], *, may_stand: bool = True) -> None:
    """Reject `values` (n,) of a column that fall or, unless `may_stand`, repeat; `lines` (n,) are their lines in the file."""
    before, after = values[:-1], values[1:]
    falls = after < before if may_stand else after <= before
    if falls.any():
        at = int(np.argmax(falls))
        allowed = f"{'at least' if may_stand else 'above'} {before[at].item()}, the one before"
        raise TraceError(path, f"line {lines[at + 1]}, {column}", after[at].item(), allowed)
