"""Streams of an RTP log by their SSRC, which may be decimal or hexadecimal (0x...)."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.columns import Arrays, Table, read_columns
from vcgym.network.traces.reading import TraceError, read_content

SSRC_COLUMN = "rtp.ssrc"
SSRC_BITS = 32  # RFC 3550, section 5.1

_SSRC = re.compile(r"(0[xX][0-9a-fA-F]{1,8})|[0-9]{1,10}")


def streams_of(path: str | Path, ssrc_column: str = SSRC_COLUMN, header: bool = True) -> list[str]:
    """Return the SSRC of each stream of a log, hexadecimal, in order of first arrival; none if the log has no such column."""
    path = Path(path)
    content = read_content(path)

    def ssrcs_of(block: Table) -> Arrays:
        return (ssrcs(block, ssrc_column) if ssrc_column in block.header else np.empty(0, np.int64),)

    [of_rows] = read_columns(path, content, ssrcs_of, header=header)
    found, first = np.unique(of_rows, return_index=True)
    return [f"0x{one:08x}" for one in found[np.argsort(first)].tolist()]


def ssrcs(block: Table, column: str) -> NDArray[np.int64]:
    """Return the SSRC of each row, int64 (rows,)."""
    cells = block.cells(column)
    values = {cell: _number(cell) for cell in set(cells)}
    if None in values.values():
        at = next(at for at, cell in enumerate(cells) if values[cell] is None)
        raise TraceError(block.path, f"line {block.lines[at]}, {column}", cells[at], f"0 to {2**SSRC_BITS - 1}, decimal or 0x...")
    return np.array([values[cell] for cell in cells], np.int64)


def one_stream(path: Path, column: str, of_rows: NDArray[np.int64], wanted: str | None) -> tuple[int, NDArray[np.bool_]]:
    """Return the SSRC of the wanted stream, of those of all rows (n,), and a mask (n,) of its packets."""
    found, packets = np.unique(of_rows, return_counts=True)
    shown = ", ".join(f"0x{one:08x} ({count} packets)" for one, count in zip(found.tolist(), packets.tolist(), strict=True))
    if wanted is None and len(found) > 1:
        raise TraceError(path, f"streams by {column}", len(found), f"one of {shown}, chosen by ssrc=")
    which = int(found[0]) if wanted is None else _number(wanted)
    if which is None or which not in found:
        raise TraceError(path, "ssrc", wanted, shown)
    return which, of_rows == which


def _number(text: str) -> int | None:
    match = _SSRC.fullmatch(text)
    value = int(text, 16 if match[1] else 10) if match else -1
    return value if 0 <= value < 2**SSRC_BITS else None
