"""The file in which an imported trace is kept: gzip CSV of send time and delay in milliseconds, its card beside it.

The columns are sent_ms and either rtt_ms or one_way_delay_ms, to the microsecond; an empty delay is a lost probe.
"""

import gzip
import hashlib
from pathlib import Path

import numpy as np

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.cards import Card, DataError, card_beside, card_path
from vcgym.network.traces.reading import TraceError, read_content, read_table
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_SPAN_US, Trace

ENDING = ".csv.gz"
_ROUND_TRIP = {"rtt_ms": True, "one_way_delay_ms": False}  # by name of the second column


def write_trace(trace: Trace, path: Path) -> Card:
    """Write `trace` to the new file `path` (`*.csv.gz`), with a card that tells where it came from; returns the card.

    Raises:
        DataError: another ending, or a file of that name.
    """
    if not path.name.endswith(ENDING):
        raise DataError(path, "name of the file", path.name, f"a name ending in {ENDING}")
    column = next(name for name, round_trip in _ROUND_TRIP.items() if round_trip == trace.round_trip)
    sent, delay = trace.sent_us.tolist(), trace.one_way_delay_us.tolist()
    rows = [f"{_ms(s)},{'' if d == LOST else _ms(d)}" for s, d in zip(sent, delay, strict=True)]
    return write_with_card(path, "\n".join([f"sent_ms,{column}", *rows, ""]).encode(), trace.card, "milliseconds")


def read_trace(path: Path) -> Trace:
    """The trace in a file of `write_trace`.

    Raises:
        DataError: content that is not of this form or does not match its card.
    """
    content = read_content(path)
    table = read_table(path, content)
    column = next((name for name in _ROUND_TRIP if table.header == ["sent_ms", name]), None)
    if column is None:
        raise TraceError(path, "line 1, header", table.header, "sent_ms and one of " + ", ".join(_ROUND_TRIP))
    sent_us = np.rint(table.numbers("sent_ms", 0.0, MAX_SPAN_US / 1e3) * 1e3).astype(np.int64)
    delay_ms = table.numbers(column, 0.0, MAX_DELAY_US / 1e3, may_be_empty=True)
    delay_us = np.where(np.isnan(delay_ms), LOST, np.rint(np.nan_to_num(delay_ms) * 1e3)).astype(np.int64)
    return Trace(path.name.removesuffix(ENDING), sent_us, delay_us, card_beside(path, content), _ROUND_TRIP[column])


def write_with_card(path: Path, content: bytes, origin: Card, units: str) -> Card:
    """Write `content` to the new file `path`, packed if its name ends in .gz, and beside it a card that names `origin`.

    Raises:
        DataError: a file of that name, or one that cannot be written.
    """
    card = Card(
        name=path.name.split(".")[0],
        description=f"imported from {origin.name} (sha256 {origin.sha256}): {origin.description}",
        source=origin.source,
        licence=origin.licence,
        sha256=hashlib.sha256(content).hexdigest(),
        kind=origin.kind,
        units=units,
    )
    refuse_existing(path)
    refuse_existing(card_path(path))
    write_new(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    write_card(path, card)
    return card


def write_card(path: Path, card: Card) -> None:
    """Write the card of `path` beside it."""
    write_new(card_path(path), (card.model_dump_json(indent=1) + "\n").encode())


def write_new(path: Path, content: bytes) -> None:
    """Write a file that must not be there yet: whole, or not at all.

    Raises:
        DataError: it is there, or it cannot be written.
    """
    refuse_existing(path)
    part = path.with_name(f".part-{path.name}")
    try:
        part.write_bytes(content)
        part.rename(path)
    except OSError as error:
        raise DataError(path, "file", f"{type(error).__name__}: {error.strerror}", "a new file in a folder that can be written") from error
    finally:
        part.unlink(missing_ok=True)


def refuse_existing(path: Path) -> None:
    """Refuse a file that is there already."""
    if path.exists():
        raise DataError(path, "file", "there already", "a new file; nothing is overwritten")


def _ms(us: int) -> str:
    return f"{us // 1000}.{us % 1000:03d}"
