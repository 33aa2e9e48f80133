"""Trace files: the reader of everything that can be replayed, and the writer for importers. Each file has a card in the same folder.

A file is CSV, plain or gzip, in one of two forms:

    sent_ms and rtt_ms, or sent_ms and one_way_delay_ms    written by importers, to the microsecond, on the log's clock; an empty delay is
                                                           a lost probe
    t_ms, rtt_ms and optionally seq                        ping replies in order of arrival
"""

import gzip
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.cards import Card, DataError, card_path
from vcgym.network.traces.columns import Arrays, Table, read_columns, read_header
from vcgym.network.traces.plain_file import replace_file
from vcgym.network.traces.reading import TraceError, read_content, refuse_falling
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_TIME_US, Trace, from_replies, refuse_long

ENDING = ".csv.gz"
_ROUND_TRIP = {"rtt_ms": True, "one_way_delay_ms": False}  # by name of the second column


def write_trace(trace: Trace, path: Path) -> Card:
    """Write `trace` to the new file `path` (`*.csv.gz`), with a card that names its origin, and return the card.

    Raises:
        DataError: the name has another ending, or the file exists.
    """
    if not path.name.endswith(ENDING):
        raise DataError(path, "name of the file", path.name, f"a name ending in {ENDING}")
    column = next(name for name, round_trip in _ROUND_TRIP.items() if round_trip == trace.round_trip)
    probes = zip((trace.start_us + trace.sent_us).data, trace.one_way_delay_us.data, strict=True)
    rows = (f"{_ms(sent)},{'' if delay == LOST else _ms(delay)}" for sent, delay in probes)
    return write_with_card(path, csv_content(("sent_ms", column), rows), trace.card, "milliseconds")


def read_trace(path: Path) -> Trace:
    """Read the trace in a file of either form.

    Raises:
        DataError: the file is missing or broken, does not match its card, or is not a valid `Trace`.
    """
    content = read_content(path)
    header, name = read_header(path, content), path.name.removesuffix(ENDING)
    if header in (["t_ms", "rtt_ms"], ["t_ms", "rtt_ms", "seq"]):
        return _from_arrivals(name, path, content, card_beside(path, content))
    column = next((name for name in _ROUND_TRIP if header == ["sent_ms", name]), None)
    if column is None:
        allowed = "sent_ms and one of " + ", ".join(_ROUND_TRIP) + "; or t_ms, rtt_ms and perhaps seq"
        raise TraceError(path, "line 1, header", header, allowed)

    def numbers_of(block: Table) -> Arrays:
        sent_us = block.microseconds("sent_ms", -MAX_TIME_US, MAX_TIME_US)
        return block.line_numbers(), sent_us, block.microseconds(column, 0, MAX_DELAY_US, missing={""})

    lines, sent_us, delay_us = read_columns(path, content, numbers_of)
    refuse_falling(path, "sent_ms in us", sent_us, lines)
    start_us = int(sent_us[0])
    sent_us -= start_us
    refuse_long(path, "sent_ms, us after the first", sent_us, lines)
    if np.all(delay_us == LOST):
        raise TraceError(path, "number of answered probes", 0, "at least 1")
    return Trace(name, sent_us, delay_us, card_beside(path, content), _ROUND_TRIP[column], start_us)


def _from_arrivals(name: str, path: Path, content: bytes, card: Card) -> Trace:
    """Make a trace from replies in order of arrival.

    The send time is t_ms - rtt_ms; replies that overtook others are sorted into send order. A lost ping is a row without rtt_ms or, with
    seq, a missing number. Its send time is unknown (the t_ms of such a row is the sender's timeout and is ignored), so lost pings are
    spaced evenly, by number, between their answered neighbours. Without seq each row counts as one ping, and a loss without a row is
    invisible. Pings lost before the first or after the last answered one are left out.
    """

    def numbers_of(block: Table) -> Arrays:
        rtt_us = block.microseconds("rtt_ms", 0, MAX_DELAY_US, missing={""})
        answered = rtt_us != LOST
        t_ms = block.pick(answered).numbers("t_ms", -MAX_TIME_US / 1e3, MAX_TIME_US / 1e3)
        numbered = [block.whole_numbers("seq", 0, MAX_TIME_US)[answered]] if "seq" in block.header else []
        return answered, block.line_numbers()[answered], t_ms, rtt_us[answered], *numbered

    answered, lines, t_ms, rtt_us, *numbered = read_columns(path, content, numbers_of)
    refuse_falling(path, "t_ms", t_ms, lines)
    seq = numbered.pop() if numbered else np.flatnonzero(answered)
    t_ms *= 1e3
    sent_us = np.rint(t_ms, out=t_ms).astype(np.int64)
    del t_ms
    sent_us -= rtt_us
    return from_replies(name, path, card, lines, seq, sent_us, rtt_us)


def csv_content(header: Iterable[str], rows: Iterable[str]) -> bytes:
    """Return the content of a CSV file, built row by row."""
    content = bytearray(f"{','.join(header)}\n".encode())
    for row in rows:
        content += row.encode()
        content += b"\n"
    return bytes(content)


def write_with_card(path: Path, content: bytes, origin: Card, units: str) -> Card:
    """Write `content` to the new file `path`, compressed if its name ends in .gz, and its card, which names `origin`.

    Raises:
        DataError: the file exists or cannot be written.
    """
    described = f"imported from {origin.name} (sha256 {origin.sha256}): {origin.description}"
    sha256, name = hashlib.sha256(content).hexdigest(), path.name.split(".")[0]
    card = origin.model_copy(update={"name": name, "description": described, "sha256": sha256, "units": units})
    refuse_existing(path)
    refuse_existing(card_path(path))
    write_new(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    write_card(path, card)
    return card


def write_card(path: Path, card: Card) -> None:
    """Write the card of `path` to the same folder."""
    write_new(card_path(path), (card.model_dump_json(indent=1) + "\n").encode())


def write_new(path: Path, content: bytes) -> None:
    """Write a new file atomically and create its folder.

    Raises:
        DataError: the file exists or cannot be written.
    """
    refuse_existing(path)
    try:
        replace_file(path, content)
    except OSError as error:
        raise DataError(path, "file", f"{type(error).__name__}: {error.strerror}", "a new file in a folder that can be written") from error


def refuse_existing(path: Path) -> None:
    """Raise DataError if the file exists already."""
    if os.path.lexists(path):
        raise DataError(path, "file", "existing", "a new file; nothing is overwritten")


def _ms(us: int) -> str:
    return f"{us / 1000:.3f}"
