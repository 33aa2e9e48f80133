"""Files of capacity traces: the reader of everything that a bottleneck can replay, the writer for importers, and a trace in one line.

Each file has a card. It is CSV, plain or gzip, in one of two forms:

    ms, packets            opportunities to deliver 1500 bytes in that millisecond (the counted form of a mahimahi trace): one trace
    t_s (or t_start_s), mbps, optionally trace
                           rates, each up to the next row: one trace, or one for each name in column trace
      and delay_ms, jitter_ms, loss
                           all three or none: one-way delay, its jitter and the share of random loss, in force as long as the rate

Measured throughput is a lower bound on capacity. It falls to 0 if the link fails or without demand. Rates below `MIN_BPS` are raised to
it, so that a packet sent in such a second arrives late but arrives. A trace starts at its first row and repeats after its last one, which
lasts as long as the median row; or it ends at a last row that has a time alone.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vcgym.network.bottleneck.capacity.capacity import (
    MAX_LENGTH_US,
    MAX_OPPORTUNITIES,
    MAX_RATE_BPS,
    OPPORTUNITY_BYTES,
    CapacityTrace,
    Conditions,
    opportunity_trace,
    rate_trace,
)
from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.cards import Card, DataError
from vcgym.network.traces.columns import Arrays, Table, blocks_of, joined, read_columns, read_header
from vcgym.network.traces.importers.units import unit_us
from vcgym.network.traces.reading import TraceError, lines, read_content, refuse_falling
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_TIME_US
from vcgym.network.traces.trace_file import ENDING, csv_content, write_with_card

RateUnit = Literal["bps", "kbps", "Mbps"]
BITS = {"bps": 1.0, "kbps": 1e3, "Mbps": 1e6}
RATE_BPS = (300e3, 300e6)  # of the median; a factor of a thousand wide, so that a wrong unit falls outside; import_throughput may skip it
SPACING_S = (0.02, 20.0)

MIN_BPS = 50_000.0  # the lowest rate of a call
MAX_MBPS = 1e5
MAX_S = 1e6
MAX_JITTER_MS = 1e3
MAX_TRACES = 10_000  # per file
_WINDOW_US = 100_000  # of a description: opportunities are counted in windows of this length; a rate counts by the time that it lasts
_QUANTILES = (0.05, 0.5, 0.95)
MAX_PACKETS = int(MAX_RATE_BPS / 8 / OPPORTUNITY_BYTES / 1000)  # in a millisecond
_OPPORTUNITY = "time in ms"
_TIMES = ("t_s", "t_start_s")
_CONDITIONS = {"delay_ms": MAX_DELAY_US / 1e3, "jitter_ms": MAX_JITTER_MS, "loss": 1.0}  # columns, and the largest of each


def read_capacity(path: Path) -> tuple[CapacityTrace, ...]:
    """Read the traces in a file of either form, in order of name.

    Raises:
        DataError: the file is missing or broken, does not match its card, or contains no trace.
    """
    content = read_content(path)
    card_beside(path, content)
    header, name = read_header(path, content), path.name.removesuffix(ENDING)
    if header == ["ms", "packets"]:
        return (_counted(path, content, name),)
    time = next((column for column in _TIMES if column in header), None)
    if time is None or "mbps" not in header:
        raise TraceError(path, "line 1, header", header, f"ms and packets; or {' or '.join(_TIMES)}, mbps and perhaps trace, delay_ms")
    return _rates(path, content, name if "trace" not in header else None, time)


def _counted(path: Path, content: bytes, name: str) -> CapacityTrace:
    def numbers_of(block: Table) -> Arrays:
        times_ms = block.whole_numbers("ms", 0, MAX_LENGTH_US // 1000).astype(np.int32)
        return block.line_numbers(), times_ms, block.whole_numbers("packets", 0, MAX_PACKETS).astype(np.int16)

    lines, times_ms, packets = read_columns(path, content, numbers_of)
    refuse_falling(path, "ms", times_ms, lines)
    if packets.sum(dtype=np.int64) > MAX_OPPORTUNITIES:
        so_far = np.cumsum(packets, dtype=np.int64)
        at = int(np.searchsorted(so_far, MAX_OPPORTUNITIES, "right"))
        raise TraceError(path, f"line {lines[at]}, packets so far", int(so_far[at]), f"at most {MAX_OPPORTUNITIES}")
    return opportunity_trace(name, np.repeat(times_ms, packets), path)


def _rates(path: Path, content: bytes, only: str | None, time: str) -> tuple[CapacityTrace, ...]:
    """Read the trace `only`, or those named in column trace."""
    places: dict[str, int] = {}
    end = frozenset({""})

    def numbers_of(block: Table) -> Arrays:
        names = [only] if only is not None else block.cells("trace")
        trace_index = np.array([places.setdefault(name, len(places)) for name in names], np.int32)
        if len(places) > MAX_TRACES:
            raise TraceError(path, "number of traces", f"more than {MAX_TRACES}", f"at most {MAX_TRACES}")
        changing = [block.numbers(name, 0.0, high, missing=end) for name, high in _CONDITIONS.items()] if _changes(block.header) else []
        rates = block.numbers("mbps", 0.0, MAX_MBPS, missing=end)
        return block.line_numbers(), trace_index, block.numbers(time, 0.0, MAX_S), rates, *changing

    lines, trace_index, *numbers = read_columns(path, content, numbers_of)
    ends = np.cumsum(np.bincount(trace_index))
    order = np.argsort(trace_index, kind="stable") if len(places) > 1 else slice(None)
    del trace_index
    made = []
    for name in sorted(places):
        number = places[name]
        rows = order if isinstance(order, slice) else order[ends[number - 1] if number else 0 : ends[number]]
        times_s, mbps, *changing = (column[rows] for column in numbers)
        refuse_falling(path, time, times_s, lines[rows], may_stand=False)
        ended = len(mbps) > 1 and bool(np.isnan([mbps[-1], *(values[-1] for values in changing)]).all())
        filled = slice(len(mbps) - ended)
        for column, values in zip(("mbps", *_CONDITIONS), (mbps, *changing), strict=False):
            _refuse_missing(path, column, values[filled], lines[rows])
        conditions = conditions_of(*(values[filled] for values in changing)) if changing else None
        end_s = float(times_s[-1]) if ended else None
        made.append(repeating(name, times_s[filled], mbps[filled] * 1e6, path, conditions, end_s))
    return tuple(made)


def _changes(header: list[str]) -> bool:
    return not _CONDITIONS.keys().isdisjoint(header)


def _refuse_missing(path: Path, column: str, values: NDArray[np.float64], lines: NDArray[np.int32]) -> None:
    if (missing := np.isnan(values)).any():
        raise TraceError(path, f"line {lines[np.argmax(missing)]}, {column}", "", "a number; the last row of a trace may have a time alone")


def conditions_of(delay_ms: NDArray[np.float64], jitter_ms: NDArray[np.float64], loss: NDArray[np.float64]) -> Conditions:
    """Return conditions (n,) of delays and jitters in milliseconds and shares of loss."""
    delay_us, jitter_us = (np.rint(1e3 * values).astype(np.int64) for values in (delay_ms, jitter_ms))
    return Conditions(delay_us, jitter_us, np.asarray(loss, np.float64))


def repeating(
    name: str,
    times_s: NDArray[np.float64],
    rates_bps: NDArray[np.float64],
    source: Path,
    conditions: Conditions | None = None,
    end_s: float | None = None,
) -> CapacityTrace:
    """Make a trace of measured rates (n,) at times (n,); it starts at 0 and repeats after its last rate, see the module docstring."""
    at_s = times_s - times_s[0]
    step_s = float(np.median(np.diff(at_s), overwrite_input=True)) if len(at_s) > 1 else 1.0
    made = rate_trace(name, at_s, rates_bps, at_s[-1] + step_s if end_s is None else end_s - times_s[0], MIN_BPS, source)
    return made._replace(conditions=conditions)


def read_mahimahi(path: Path) -> CapacityTrace:
    """Read a file in mahimahi's own format: a line per opportunity to deliver 1500 bytes, its time in whole milliseconds. Plain or .gz.

    Empty lines are passed over. The last line need not end in a line break: a time that was cut off is below the one before, and refused.

    Raises:
        TraceError: an unreadable or empty file, a truncated archive, an invalid line, or times that decrease.
    """
    content = read_content(path)
    rows = ((line, [text.strip()]) for line, text in enumerate(lines(path, content), 1) if not text.isspace())
    [times_ms] = joined(_rising_ms(blocks_of(path, [_OPPORTUNITY], rows)), content) or [np.empty(0, np.int32)]
    del content
    return opportunity_trace(path.name.removesuffix(".gz"), times_ms, path)


def _rising_ms(blocks: Iterable[Table]) -> Iterator[Arrays]:
    """Yield the times of each block, and reject those that decrease; no line number is kept, since a line has few bytes."""
    last = np.empty(0, np.int32)
    for block in blocks:
        times_ms, at_line = block.whole_numbers(_OPPORTUNITY, 0, MAX_LENGTH_US // 1000).astype(np.int32), block.line_numbers()
        refuse_falling(block.path, _OPPORTUNITY, np.append(last, times_ms), np.append(at_line[: len(last)], at_line))
        last = times_ms[-1:]
        yield (times_ms,)


def import_throughput(
    path: Path,
    *,
    time_column: str,
    time_unit: str | None = None,
    rate_column: str,
    rate_unit: RateUnit,
    header: bool = True,
    any_rate: bool = False,
    any_spacing: bool = False,
) -> CapacityTrace:
    """Read a trace from a table of time and throughput, plain or .gz.

    The caller gives the units, so they are checked against the data: the median rate must be within `RATE_BPS`, the mean spacing within
    `SPACING_S`.

    Args:
        path: the file.
        time_column: start of each rate on any clock, increasing; the first becomes 0.
        time_unit: s, ms or us; None: the times are in ISO 8601, which needs none.
        rate_column: throughput, 0 to 100 Gbit/s.
        rate_unit: bps, kbps or Mbps.
        header: True if the first line names the columns; otherwise their names are 1, 2, 3 and so on.
        any_rate: True: the median may be any, as over a dying wireless link or a very fast one; the unit is then not checked.
        any_spacing: True: the spacing may be any, as in a table of one rate a minute; the unit of the times is then not checked.

    Raises:
        TraceError: an unreadable or truncated file, a missing column, NaN, a value out of range, times that do not increase, values that
            the unit cannot have.
    """
    if rate_unit not in BITS:
        raise TraceError(path, "rate_unit", rate_unit, ", ".join(BITS))
    scale_us, bps = unit_us(path, "time_unit", time_unit or "s"), BITS[rate_unit]

    def numbers_of(block: Table) -> Arrays:
        times_s = block.times(time_column, scale_us if time_unit else None, 0.0, MAX_TIME_US / scale_us) * (scale_us / 1e6)
        return block.line_numbers(), times_s, block.numbers(rate_column, 0.0, MAX_RATE_BPS / bps) * bps

    at_line, times_s, rates_bps = read_columns(path, read_content(path), numbers_of, header=header)
    spacing_s = float(times_s[-1] - times_s[0]) / (len(times_s) - 1) if len(times_s) > 1 else SPACING_S[0]
    if not any_spacing:
        _refuse_outside(path, f"{time_column}, mean spacing in s", spacing_s, SPACING_S, "any_spacing")
    if not any_rate:
        _refuse_outside(path, f"{rate_column}, median in bit/s", float(np.median(rates_bps)), RATE_BPS, "any_rate")
    refuse_falling(path, time_column, times_s, at_line, may_stand=False)
    del at_line
    return repeating(path.name.split(".")[0], times_s, rates_bps, path)


def _refuse_outside(path: Path, where: str, value: float, allowed: tuple[float, float], override: str) -> None:
    low, high = allowed
    if not low <= value < high:
        raise TraceError(path, where, value, f"{low:g} to {high:g}; is the unit right? format.{override}=true takes any")


def write_capacity(trace: CapacityTrace, origin: Card, path: Path) -> Card:
    """Write a trace to the new file `path` (`*.csv.gz`), with a card that names `origin`, and return the card.

    Raises:
        DataError: the name has another ending, or the file exists.
    """
    if not path.name.endswith(ENDING):
        raise DataError(path, "name of the file", path.name, f"a name ending in {ENDING}")
    if trace.conditions is not None:
        entries = zip(trace.times_us.data, trace.rates_bps.data, *(values.data for values in trace.conditions), strict=True)
        changing = [f"{_s(at)},{bps / 1e6:.6f},{delay / 1e3:.9g},{jitter / 1e3:.9g},{loss!r}" for at, bps, delay, jitter, loss in entries]
        content = csv_content(("t_s", "mbps", *_CONDITIONS), [*changing, f"{_s(trace.length_us)},,,,"])
        return write_with_card(path, content, origin, "seconds, Mbit/s, milliseconds, milliseconds, share")
    if trace.rates_bps[0]:
        rates = (f"{_s(at)},{bps / 1e6:.6f}" for at, bps in zip(trace.times_us.data, trace.rates_bps.data, strict=True))
        return write_with_card(path, csv_content(("t_s", "mbps"), rates), origin, "seconds, Mbit/s")
    first = np.flatnonzero(np.append(True, trace.times_us[1:] != trace.times_us[:-1]))
    times_ms, packets = trace.times_us[first] // 1000, np.diff(first, append=len(trace.times_us))
    rows = (f"{at},{count}" for at, count in zip(times_ms.data, packets.data, strict=True))
    return write_with_card(path, csv_content(("ms", "packets"), rows), origin, "milliseconds, opportunities to send 1500 bytes")


def _s(us: int) -> str:
    return f"{us // 10**6}.{us % 10**6:06d}"


def describe_capacity(trace: CapacityTrace) -> str:
    """Return duration, quantiles over time and share of time without capacity, in one line."""
    bps, weights = _rates_over_time(trace)
    order = np.argsort(bps, kind="stable")
    places = np.searchsorted(np.cumsum(weights[order]), np.array(_QUANTILES) * weights.sum())
    low, median, high = bps[order][np.minimum(places, len(bps) - 1)] / 1e6
    without = 100.0 * weights[bps <= (MIN_BPS if trace.rates_bps[0] else 0.0)].sum() / weights.sum()
    raised = f" ({MIN_BPS / 1e3:g} kbit/s or raised to it)" if trace.rates_bps[0] and without else ""
    return (
        f"{len(bps) if trace.rates_bps[0] else len(trace.times_us):,} {'rates' if trace.rates_bps[0] else 'opportunities'} over "
        f"{trace.length_us / 1e6:.4g} s, Mbit/s p5 {low:.3g}, p50 {median:.3g}, p95 {high:.3g}, smallest {bps.min() / 1e6:.3g}, "
        f"largest {bps.max() / 1e6:.3g}, {without:.3g} % of the time without capacity{raised}{_conditions_in_words(trace, weights)}"
    )


def _conditions_in_words(trace: CapacityTrace, weights: NDArray[np.float64]) -> str:
    if trace.conditions is None:
        return ""
    delay_us, jitter_us, loss = trace.conditions
    jitter = f" with jitter of up to {jitter_us.max() / 1e3:.4g} ms" if jitter_us.any() else ""
    return (
        f", one-way delay {delay_us.min() / 1e3:.4g} to {delay_us.max() / 1e3:.4g} ms{jitter}, "
        f"loss {100.0 * loss.min():.3g} to {100.0 * loss.max():.3g} %, mean {100.0 * np.average(loss, weights=weights):.3g} %"
    )


def _rates_over_time(trace: CapacityTrace) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rates (n,) in bit/s and how long each lasts (n,)."""
    if trace.rates_bps[0]:
        return trace.rates_bps.astype(np.float64), np.diff(trace.times_us, append=trace.length_us).astype(np.float64)
    ends_us = np.append(np.arange(0, trace.length_us, _WINDOW_US), trace.length_us)
    before = np.searchsorted(trace.times_us, ends_us, "right")
    before[0] = 0
    lasts_us = np.diff(ends_us).astype(np.float64)
    return np.diff(before) * OPPORTUNITY_BYTES * 8e6 / lasts_us, lasts_us
