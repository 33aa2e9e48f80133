"""Files of capacity traces: the one reader of whatever a bottleneck can replay, and the writer that importers use. A card lies beside each.

A file is CSV, plain or gzip, in one of two forms:

    ms, packets            opportunities to send 1500 bytes in that millisecond (the counted form of a mahimahi trace): one trace
    t_s (or t_start_s), mbps, perhaps trace
                           rates, each up to the next row: one trace, or one for each name in the column trace

Measured throughput is a lower bound on capacity, and falls to 0 where a link did, or where nothing was asked of it: rates below `MIN_BPS`
count as that, so that a packet sent into such a second comes out late but comes out. A trace begins at its first row and repeats after its
last one has held as long as the median one.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vcgym.network.bottleneck.capacity.capacity import MAX_LENGTH_US, MAX_RATE_BPS, CapacityTrace, opportunity_trace, rate_trace
from vcgym.network.traces.cards import Card, DataError, card_beside
from vcgym.network.traces.importers.units import unit_us
from vcgym.network.traces.reading import Table, TraceError, decode, number, read_content, read_table
from vcgym.network.traces.trace import MAX_TIME_US
from vcgym.network.traces.trace_file import ENDING, write_with_card

RateUnit = Literal["bps", "kbps", "Mbps"]
BITS = {"bps": 1.0, "kbps": 1e3, "Mbps": 1e6}
RATE_BPS = (300e3, 300e6)  # the median; each range is a factor of a thousand wide, so that a wrong unit falls outside
SPACING_S = (0.02, 20.0)

MIN_BPS = 50_000.0  # the lowest rate of a call
MAX_MBPS = 1e5
MAX_S = 1e6
_TIMES = ("t_s", "t_start_s")


def read_capacity(path: Path) -> tuple[CapacityTrace, ...]:
    """Read the traces in a file of either form, in order of name.

    Raises:
        DataError: a file that is missing or broken, does not match its card, or holds no trace.
    """
    content = read_content(path)
    card_beside(path, content)
    table, name = read_table(path, content), path.name.removesuffix(ENDING)
    if table.header == ["ms", "packets"]:
        times, packets = table.numbers("ms", 0, MAX_LENGTH_US / 1000), table.numbers("packets", 0, 1e6)
        return (opportunity_trace(name, np.repeat(times, packets.astype(np.int64)), path),)
    time = next((column for column in _TIMES if column in table.header), None)
    if time is None or "mbps" not in table.header:
        raise TraceError(path, "line 1, header", table.header, f"ms and packets; or {' or '.join(_TIMES)}, mbps and perhaps trace")
    return _rates(table, name, time)


def _rates(table: Table, name: str, time: str) -> tuple[CapacityTrace, ...]:
    times_s, mbps = table.numbers(time, 0.0, MAX_S), table.numbers("mbps", 0.0, MAX_MBPS)
    if "trace" not in table.header:
        return (repeating(name, times_s, mbps * 1e6, table.path),)
    names = np.array(table.cells("trace"))
    rows = {trace: names == trace for trace in sorted(set(table.cells("trace")))}
    return tuple(repeating(trace, times_s[of], mbps[of] * 1e6, table.path) for trace, of in rows.items())


def repeating(name: str, times_s: NDArray[np.float64], rates_bps: NDArray[np.float64], source: Path) -> CapacityTrace:
    """Make a trace of measured rates (n,) at times (n,): it begins at 0 and repeats after its last rate; see the head of this file."""
    at_s = times_s - times_s[0]
    step_s = float(np.median(np.diff(at_s))) if len(at_s) > 1 else 1.0
    return rate_trace(name, at_s, rates_bps, at_s[-1] + step_s, MIN_BPS, source)


def read_mahimahi(path: Path) -> CapacityTrace:
    """Read a file in mahimahi's own format: a line per opportunity to send 1500 bytes, its time in whole milliseconds. Plain or .gz.

    Raises:
        TraceError: an unreadable, empty or truncated file, a line that is no such time, times that fall.
    """
    text = decode(path, read_content(path))
    lines = text.splitlines()
    if not text.endswith("\n") or not lines:
        raise TraceError(path, "end of file", text[-20:], "lines, the last one ended")
    times = [number(path, f"line {i}", line.strip(), 0, MAX_LENGTH_US / 1000) for i, line in enumerate(lines, 1)]
    return opportunity_trace(path.name.removesuffix(".gz"), times, path)


def import_throughput(path: Path, *, time_column: str, time_unit: str, rate_column: str, rate_unit: RateUnit) -> CapacityTrace:
    """Read a trace from a CSV of time and throughput, plain or .gz.

    The units are the caller's word, so they are held against the data: the median rate must lie within `RATE_BPS`, and the mean spacing
    within `SPACING_S`.

    Args:
        path: the file.
        time_column: start of each rate on any clock, rising; the first becomes 0.
        time_unit: s, ms or us.
        rate_column: throughput, 0 to 100 Gbit/s.
        rate_unit: bps, kbps or Mbps.

    Raises:
        TraceError: an unreadable or truncated file, no such column, NaN, a value out of range, times that do not rise, values that a unit
            cannot have.
    """
    scale_us, bps = unit_us(path, "time_unit", time_unit), BITS[rate_unit]
    table = read_table(path, read_content(path))
    times_s = table.numbers(time_column, 0.0, MAX_TIME_US / scale_us) * (scale_us / 1e6)
    rates_bps = table.numbers(rate_column, 0.0, MAX_RATE_BPS / bps) * bps
    spacing_s, median_bps = float(np.mean(np.diff(times_s))) if len(times_s) > 1 else SPACING_S[0], float(np.median(rates_bps))
    for where, value, (low, high) in (
        (f"{time_column}, mean spacing in s", spacing_s, SPACING_S),
        (f"{rate_column}, median in bit/s", median_bps, RATE_BPS),
    ):
        if not low <= value < high:
            raise TraceError(path, where, value, f"{low:g} to {high:g}; is the unit right?")
    return repeating(path.name.split(".")[0], times_s, rates_bps, path)


def write_capacity(trace: CapacityTrace, origin: Card, path: Path) -> Card:
    """Write a trace to the new file `path` (`*.csv.gz`), with a card that names `origin`, and return the card.

    Raises:
        DataError: another ending, or a file of that name.
    """
    if not path.name.endswith(ENDING):
        raise DataError(path, "name of the file", path.name, f"a name ending in {ENDING}")
    if trace.rates_bps[0]:
        entries = zip(trace.times_us.tolist(), trace.rates_bps.tolist(), strict=True)
        rows = [f"{at // 10**6}.{at % 10**6:06d},{bps / 1e6:.6f}" for at, bps in entries]
        return write_with_card(path, "\n".join(["t_s,mbps", *rows, ""]).encode(), origin, "seconds, Mbit/s")
    times_ms, packets = np.unique(trace.times_us // 1000, return_counts=True)
    rows = [f"{at},{count}" for at, count in zip(times_ms.tolist(), packets.tolist(), strict=True)]
    return write_with_card(path, "\n".join(["ms,packets", *rows, ""]).encode(), origin, "milliseconds, opportunities to send 1500 bytes")
