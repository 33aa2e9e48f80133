"""Measured series of delays: validation, 10-ms slots, and the reader of the folder `leo_ping_10ms`.

A trace keeps what was measured, one entry per probe in order of sending. `to_slots` turns it into what a world replays.
"""

import csv
import gzip
import io
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.cards import Card, DataError, card_beside
from vcgym.network.world import LOST, SLOT_US

MAX_DELAY_US = 60_000_000  # a longer "delay" is a wrong unit or a broken clock
MAX_SPAN_US = 86_400_000_000  # one day: a longer span is a wrong unit
MAX_TIME_US = 2**53  # whole microseconds are exact in a float64 below this
MAX_PROBES = MAX_SPAN_US // SLOT_US
MAX_CONTENT_BYTES = 2**30  # unpacked; a gzip file may grow a thousandfold

SERIES_FOLDER = "leo_ping_10ms"
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?:nan|inf|infinity)", re.IGNORECASE)


class TraceError(DataError):
    """A trace that cannot be used; names file, line or index, field, value and what is allowed."""


@dataclass(frozen=True, eq=False)
class Trace:
    """One measured series, in order of sending.

    Attributes:
        name: what errors and result rows call it.
        sent_us: int64 (n,), starts at 0, never falls.
        one_way_delay_us: int64 (n,), delay in [0, MAX_DELAY_US], or LOST. A ping gives the round trip: it stands here undivided, and
            `to_slots` takes the share of it that counts as one way.
        card: source, licence, hash.

    Raises:
        TraceError: wrong type or shape, empty, unsorted, negative or too long.
    """

    name: str
    sent_us: NDArray[np.int64]
    one_way_delay_us: NDArray[np.int64]
    card: Card

    def __post_init__(self) -> None:
        sent, delay = self.sent_us, self.one_way_delay_us
        for field, values in (("sent_us", sent), ("one_way_delay_us", delay)):
            if values.dtype != np.int64 or values.ndim != 1 or len(values) != len(sent):
                raise TraceError(self.name, f"{field} dtype and shape", (str(values.dtype), values.shape), f"int64 ({len(sent)},)")
        if not len(sent):
            raise TraceError(self.name, "number of probes", 0, "at least 1")
        self._refuse_first("sent_us", np.diff(sent, prepend=0) < 0, f"sorted, 0 to {MAX_SPAN_US}")
        if sent[0] != 0 or sent[-1] > MAX_SPAN_US:
            raise TraceError(self.name, "sent_us first and last", (int(sent[0]), int(sent[-1])), f"first 0, last at most {MAX_SPAN_US}")
        wrong = (delay != LOST) & ((delay < 0) | (delay > MAX_DELAY_US))
        self._refuse_first("one_way_delay_us", wrong, f"0 to {MAX_DELAY_US}, or {LOST} for lost")
        if np.all(delay == LOST):
            raise TraceError(self.name, "number of answered probes", 0, "at least 1")

    def _refuse_first(self, field: str, wrong: NDArray[np.bool_], allowed: str) -> None:
        if wrong.any():
            at = int(np.argmax(wrong))
            raise TraceError(self.name, f"{field}[{at}]", int(getattr(self, field)[at]), allowed)


def to_slots(trace: Trace, slot_us: int = SLOT_US, rtt_share: float = 0.5) -> NDArray[np.int64]:
    """One delay per slot of send time.

    A slot holds the last answered value sent in it. A slot in which only lost probes were sent is LOST. A slot in which nothing was sent
    holds the last known value (before the first known one: LOST).

    Args:
        trace: n probes.
        slot_us: width of a slot, 1,000 to 1,000,000 microseconds.
        rtt_share: share of the measured delay that counts as one way, above 0 and at most 1: 0.5 is half a round trip, 1 is for a trace
            that was measured one way.

    Returns:
        int64 (last send time // slot_us + 1,): delay in whole microseconds, or LOST.
    """
    if not 1_000 <= slot_us <= 1_000_000:
        raise TraceError(trace.name, "slot_us", slot_us, "1000 to 1000000")
    if not 0.0 < rtt_share <= 1.0:
        raise TraceError(trace.name, "rtt_share", rtt_share, "above 0, at most 1")
    slot = trace.sent_us // slot_us
    answered = trace.one_way_delay_us != LOST
    value = np.full(slot[-1] + 1, LOST, np.int64)
    # With a repeated index the last assignment stays, and the trace is in order of sending.
    value[slot[answered]] = np.rint(trace.one_way_delay_us[answered] * rtt_share).astype(np.int64)
    known = value != LOST
    holder = np.maximum.accumulate(np.where(known, np.arange(len(value)), -1))
    held = np.where(holder >= 0, value[holder], LOST)
    only_lost = np.zeros(len(value), bool)
    only_lost[slot[~answered]] = True
    held[only_lost & ~known] = LOST
    return held


def read_series(root: Path, names: list[str]) -> list[Trace]:
    """The series `names` of the folder `leo_ping_10ms` under `root`: gzip CSV of t_ms (arrival of the reply), rtt_ms and, in some, seq.

    The send time is t_ms - rtt_ms; the few replies that overtook another (t_ms still rises, send time falls) are sorted back into send
    order. A lost ping is a row without rtt_ms or, where seq stands, a missing number. It has no send time of its own (the t_ms of such a
    row is when the sender gave up, and is not used): it is spaced evenly, by number, between its answered neighbours. Without seq each
    row counts as one ping, and a loss that left no row cannot be seen. Pings lost before the first or after the last answered one are
    left out.

    Raises:
        TraceError: a name without a file, or content as in `vcgym.network.importers`.
    """
    folder = root / SERIES_FOLDER
    if not folder.is_dir():
        raise TraceError(folder, "folder", "missing", f"a folder {SERIES_FOLDER} under the data root")
    return [_read_one(folder / f"{name}.csv.gz", name) for name in names]


def _read_one(path: Path, name: str) -> Trace:
    if not path.is_file():
        there = ", ".join(sorted(file.name.removesuffix(".csv.gz") for file in path.parent.glob("*.csv.gz")))
        raise TraceError(path, "series", name, f"one of {there or '(the folder holds none)'}")
    content = read_content(path)
    table = read_table(path, content)
    rtt_ms = table.numbers("rtt_ms", 0.0, MAX_DELAY_US / 1e3, may_be_empty=True)
    answered = ~np.isnan(rtt_ms)
    t_ms = table.pick(answered).numbers("t_ms", -MAX_TIME_US / 1e3, MAX_TIME_US / 1e3)
    table.pick(answered).refuse_falling("t_ms", t_ms)
    seq = table.whole_numbers("seq", 0, MAX_TIME_US) if "seq" in table.header else np.arange(len(table.rows))
    rtt_us = np.rint(rtt_ms[answered] * 1e3).astype(np.int64)
    sent_us = np.rint(t_ms * 1e3).astype(np.int64) - rtt_us
    return from_replies(name, path, card_beside(path, content), seq[answered], sent_us, rtt_us)


def from_replies(
    name: str, file: Path, card: Card, seq: NDArray[np.int64], sent_us: NDArray[np.int64], delay_us: NDArray[np.int64]
) -> Trace:
    """A trace from answered probes: numbers missing in `seq` are lost, spaced evenly between their neighbours; all sorted by send time.

    Args:
        name: of the trace.
        file: what errors name.
        card: of the file.
        seq: (n,) numbers of the answered probes, each once.
        sent_us: (n,) send times on any clock.
        delay_us: (n,) delays.
    """
    if not len(seq):
        raise TraceError(file, "number of answered probes", 0, "at least 1")
    by_number = np.argsort(seq, kind="stable")
    seq, sent_us, delay_us = seq[by_number], sent_us[by_number], delay_us[by_number]
    twice = np.flatnonzero(np.diff(seq) == 0)
    if len(twice):
        raise TraceError(file, "seq", int(seq[twice[0]]), "each number answered once")
    if seq[-1] - seq[0] >= MAX_PROBES:
        raise TraceError(file, "seq first and last", (int(seq[0]), int(seq[-1])), f"fewer than {MAX_PROBES} apart")
    sent_us = sent_us - sent_us.min()
    every = np.arange(seq[0], seq[-1] + 1)
    sent = np.rint(np.interp(every, seq, sent_us)).astype(np.int64)
    delay = np.full(len(every), LOST, np.int64)
    delay[seq - seq[0]] = delay_us
    order = np.argsort(sent, kind="stable")
    return Trace(name, sent[order], delay[order], card)


def read_content(path: Path, limit_bytes: int = MAX_CONTENT_BYTES) -> bytes:
    """Content of a file, unpacked if its name ends in .gz; more than `limit_bytes` is refused before it fills the memory."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as file:
            content: bytes = file.read(limit_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise TraceError(path, "file", f"{type(error).__name__}: {error}", "a whole, readable file") from error
    if len(content) > limit_bytes:
        raise TraceError(path, "unpacked size in bytes", f"more than {limit_bytes}", f"at most {limit_bytes}")
    return content


def decode(path: Path, content: bytes) -> str:
    """UTF-8 text of `content`."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TraceError(path, f"line {line}", content[error.start : error.end], "UTF-8 text") from error


def number(path: Path, where: str, text: str, low: float, high: float) -> float:
    """The number in `text`, plain or with an exponent; refuses NaN and what is out of [low, high]."""
    value = float(text) if _NUMBER.fullmatch(text) else None
    if value is None or not low <= value <= high:
        raise TraceError(path, where, text, f"a number from {low:.15g} to {high:.15g}")
    return value


class Table(NamedTuple):
    """A CSV file as text: header, rows, and the line each row ended on."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def pick(self, mask: NDArray[np.bool_]) -> "Table":
        """The rows where `mask` is true."""
        at = np.flatnonzero(mask).tolist()
        return self._replace(rows=[self.rows[i] for i in at], lines=[self.lines[i] for i in at])

    def numbers(self, column: str, low: float, high: float, *, may_be_empty: bool = False) -> NDArray[np.float64]:
        """Column `column`, float64 (rows,); an empty cell is NaN where it may be empty."""
        if column not in self.header:
            raise TraceError(self.path, "line 1, header", self.header, f"a column {column}")
        at = self.header.index(column)
        values = np.empty(len(self.rows))
        for i, (row, line) in enumerate(zip(self.rows, self.lines, strict=True)):
            empty = may_be_empty and row[at] == ""
            values[i] = np.nan if empty else number(self.path, f"line {line}, {column}", row[at], low, high)
        return values

    def whole_numbers(self, column: str, low: int, high: int) -> NDArray[np.int64]:
        """Column `column`, int64 (rows,)."""
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
    """Rows of a CSV file whose first line names the columns; every row must have them all."""
    reader = csv.reader(io.StringIO(decode(path, content), newline=""), strict=True)
    rows, lines = [], []
    try:
        header = next(reader, [])
        for row in reader:
            if len(row) not in (0, len(header)):
                raise TraceError(path, f"line {reader.line_num}, number of fields", len(row), f"{len(header)}, as in the header")
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise TraceError(path, f"line {reader.line_num}", str(error), "comma-separated values") from error
    if not rows:
        raise TraceError(path, "number of rows below the header", 0, "at least 1")
    if len(set(header)) != len(header):
        raise TraceError(path, "line 1, header", header, "each name once")
    return Table(path, header, rows, lines)
