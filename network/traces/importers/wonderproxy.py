"""WonderProxy's public pings of 19-20 July 2020: the raw file, and its published grouping by pair.

Source: WonderProxy, "A day in the life of the Internet" (28 October 2020). About 250 servers ran `ping -c 30` to each other every hour. A
row is one burst: source and destination (server ids), time of the burst (time zone unknown), and min, avg, max, mdev of its round trips in
ms. Loss is unknown. The grouped file has one row per ordered pair: medians over its bursts, without a time.

`mdev` is used unchanged: ping computed it from truncated integers, so in a steady burst it may exceed the limit given by min and max.
"""

from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.cards import Card
from vcgym.network.traces.columns import Arrays, Table, read_columns
from vcgym.network.traces.importers.units import DELAY_US, refuse_unit
from vcgym.network.traces.reading import TraceError, iso_us, read_content, refuse_first
from vcgym.network.traces.trace import MAX_DELAY_US
from vcgym.network.traces.trace_file import csv_content, write_with_card

MAX_SERVER = 1_000_000

_AVERAGES = "avg, median in ms"  # column used to check the unit
_STATISTICS = ("min", "avg", "max", "mdev")

Statistic = Literal["medians", "pooled"]  # medians of each statistic over the bursts; all pings of two days pooled

_COLUMNS = {"medians": ("min_ms", "avg_ms", "max_ms", "mdev_ms"), "pooled": ("min_ms", "mean_ms", "max_ms", "std_ms")}


class Bursts(NamedTuple):
    """Arrays with one entry per burst, in the order of the file."""

    card: Card
    source: NDArray[np.int32]
    destination: NDArray[np.int32]
    started: NDArray[np.datetime64]  # to the millisecond
    min_ms: NDArray[np.float64]
    avg_ms: NDArray[np.float64]
    max_ms: NDArray[np.float64]
    mdev_ms: NDArray[np.float64]


class Pairs(NamedTuple):
    """Arrays with one entry per ordered pair of different servers, sorted by source, then destination; round trips in ms."""

    statistic: Statistic
    card: Card
    source: NDArray[np.int32]
    destination: NDArray[np.int32]
    min_ms: NDArray[np.float64]
    mean_ms: NDArray[np.float64]
    max_ms: NDArray[np.float64]
    sd_ms: NDArray[np.float64]


def import_raw(path: str | Path) -> Bursts:
    """Read all bursts of the raw file (columns source, destination, timestamp, min, avg, max, mdev), plain or .gz.

    Raises:
        TraceError: an unreadable or truncated file, a missing column, a value out of range, min, avg and max out of order, a wrong unit.
    """
    path = Path(path)
    content = read_content(path)
    columns = read_columns(path, content, lambda block: (*_ids(block), _times(block), *_statistics(block)))
    refuse_unit(path, _AVERAGES, float(np.median(columns[4])) * 1e3, DELAY_US, 1e3)
    return Bursts(card_beside(path, content), *columns)


def import_grouped(path: str | Path) -> Pairs:
    """Read the medians of the grouped file (columns source, destination, min, avg, max, mdev), plain or .gz.

    Pings of servers to themselves are left out.

    Raises:
        TraceError: see `import_raw`; also a duplicate pair.
    """
    path = Path(path)
    content = read_content(path)

    def numbers_of(block: Table) -> Arrays:
        return *_ids(block), block.line_numbers(), *_statistics(block)

    source, destination, lines, *statistics = read_columns(path, content, numbers_of)
    refuse_unit(path, _AVERAGES, float(np.median(statistics[1])) * 1e3, DELAY_US, 1e3)
    order = np.lexsort((destination, source))
    order = order[source[order] != destination[order]]
    source, destination = source[order], destination[order]
    twice = np.flatnonzero((np.diff(source) == 0) & (np.diff(destination) == 0))
    if len(twice):
        at = int(twice[0]) + 1
        first, again = lines[order[at - 1]], lines[order[at]]
        pair = (int(source[at]), int(destination[at]))
        raise TraceError(path, f"line {again}, source and destination", pair, f"each pair once; line {first} has it too")
    return Pairs("medians", card_beside(path, content), source, destination, *(values[order] for values in statistics))


def burst_medians(bursts: Bursts) -> Pairs:
    """Return the median of each statistic over the bursts of a pair, the content of the grouped file."""
    order, starts = _by_pair(bursts)
    counts = np.diff(np.append(starts, len(order)))
    medians = []
    for values in (bursts.min_ms, bursts.avg_ms, bursts.max_ms, bursts.mdev_ms):
        ranked = order[np.lexsort((values[order], np.repeat(np.arange(len(starts)), counts)))]
        medians.append((values[ranked[starts + (counts - 1) // 2]] + values[ranked[starts + counts // 2]]) / 2)
    first = order[starts]
    return Pairs("medians", bursts.card, bursts.source[first], bursts.destination[first], *medians)


def pooled(bursts: Bursts) -> Pairs:
    """Pool all pings of a pair: minimum, mean, maximum, and standard deviation from mean squares; all bursts have equal weight."""
    order, starts = _by_pair(bursts)
    counts = np.diff(np.append(starts, len(order)))
    mean = np.add.reduceat(bursts.avg_ms[order], starts) / counts
    from_mean = bursts.avg_ms[order] - np.repeat(mean, counts)
    variance = np.add.reduceat(bursts.mdev_ms[order] ** 2 + from_mean**2, starts) / counts
    low, high = np.minimum.reduceat(bursts.min_ms[order], starts), np.maximum.reduceat(bursts.max_ms[order], starts)
    first = order[starts]
    return Pairs("pooled", bursts.card, bursts.source[first], bursts.destination[first], low, mean, high, np.sqrt(variance))


def write_pairs(pairs: Pairs, path: Path) -> Card:
    """Write `pairs` to the new file `path` as CSV (compressed if it ends in .gz), with a card of its origin; return the card.

    Columns are src_id, dst_id and the four statistics, named as in `lab.shipped.sets.link_fits`, to a thousandth of a
    ms.
    """
    rows = zip(*(column.data for column in pairs[2:]), strict=True)
    lines = (f"{source},{destination},{low:.3f},{mean:.3f},{high:.3f},{sd:.3f}" for source, destination, low, mean, high, sd in rows)
    content = csv_content(("src_id", "dst_id", *_COLUMNS[pairs.statistic]), lines)
    return write_with_card(path, content, pairs.card, "round-trip milliseconds")


def _by_pair(bursts: Bursts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bursts ordered by pair, without a server's pings to itself, and the start of each pair in that order."""
    order = np.lexsort((bursts.destination, bursts.source))
    order = order[bursts.source[order] != bursts.destination[order]]
    if not len(order):
        raise TraceError(bursts.card.name, "number of pairs of different servers", 0, "at least 1")
    source, destination = bursts.source[order], bursts.destination[order]
    new = np.append(True, (np.diff(source) != 0) | (np.diff(destination) != 0))
    return order, np.flatnonzero(new)


def _ids(table: Table) -> Arrays:
    return tuple(table.whole_numbers(column, 0, MAX_SERVER).astype(np.int32) for column in ("source", "destination"))


def _times(table: Table) -> NDArray[np.datetime64]:
    cells = table.cells("timestamp")
    times_us = [iso_us(cell) for cell in cells]
    wrong = np.array([time is None for time in times_us])
    refuse_first(table.path, "timestamp", wrong, cells, table.lines, "a time such as 2020-07-20 00:00:17.000")
    return np.array(times_us, "datetime64[us]").astype("datetime64[ms]")


def _statistics(table: Table) -> list[NDArray[np.float64]]:
    values = [table.numbers(name, 0.0, MAX_DELAY_US / 1e3) for name in _STATISTICS]
    low, mean, high, _ = values
    wrong = np.flatnonzero((low > mean) | (mean > high))
    if len(wrong):
        at = int(wrong[0])
        found = tuple(float(column[at]) for column in (low, mean, high))
        raise TraceError(table.path, f"line {table.lines[at]}, min, avg and max", found, "each at least the one before")
    return values
