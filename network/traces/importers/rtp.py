"""Arrival logs of one RTP stream: CSV of RTP timestamp, arrival time and optionally sequence number.

The default columns are those of tshark:

    tshark -r FILE -Y rtp -T fields -E header=y -E separator=, -e frame.time_epoch -e rtp.seq -e rtp.timestamp
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.cards import Card
from vcgym.network.traces.columns import Arrays, Table, read_columns
from vcgym.network.traces.importers.units import FLOOR_MS, Unit, since_first_us, unit_us
from vcgym.network.traces.reading import MAX_CONTENT_BYTES, TraceError, read_content, refuse_falling
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_TIME_US, Trace, from_replies

TIMESTAMP_BITS, SEQUENCE_BITS = 32, 16  # RFC 3550, section 5.1
RATE_HZ = (1_000, 1_000_000)  # covers RTP clocks: 8,000 to 192,000 for audio, 90,000 for video

_DRIFT = 0.01  # share of the span: a hundred times the drift of two quartz clocks
_DRIFT_US = 2_000_000  # allowed change of the delay between start and end of a log
_TICK_ERROR = 0.05  # media times in ms have three decimals


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Packets of one stream in order of arrival, the input of a receiver rule outside a call.

    Attributes:
        file: source file, for errors.
        timestamp: int64 (n,), unwrapped RTP timestamps in ticks of `sample_rate_hz`; the lowest is 0.
        arrived_us: int64 (n,), time since the first arrival, never decreasing.
        sequence: int64 (n,), unwrapped sequence numbers, the lowest 0, each once; the order of arrival if the log has none.
        sample_rate_hz: ticks per second of media time.
        lines: int32 (n,), line of each packet in the file.
        card: source, licence, hash.
    """

    file: Path
    timestamp: NDArray[np.int64]
    arrived_us: NDArray[np.int64]
    sequence: NDArray[np.int64]
    sample_rate_hz: int
    lines: NDArray[np.int32]
    card: Card

    @property
    def sent_us(self) -> NDArray[np.int64]:
        """Return the media time of each packet, int64 (n,); its zero differs from that of `arrived_us`."""
        return np.rint(self.timestamp * (1e6 / self.sample_rate_hz)).astype(np.int64)

    def to_trace(self, floor_ms: float) -> Trace:
        """Return a trace for replay, with send times and one-way delays.

        The log determines delays only up to a constant, so the minimum must be given. Missing sequence numbers are lost packets; a log
        without numbers shows no loss. Clock drift stays in the delays.

        Args:
            floor_ms: the minimum one-way delay, in `FLOOR_MS`.
        """
        if not FLOOR_MS[0] <= floor_ms <= FLOOR_MS[1]:
            raise TraceError(self.file, "floor_ms", floor_ms, f"{FLOOR_MS[0]} to {FLOOR_MS[1]} (milliseconds)")
        delay_us = self.arrived_us - self.sent_us
        delay_us += round(floor_ms * 1e3) - delay_us.min()
        name = self.file.name.split(".")[0]
        return from_replies(name, self.file, self.card, self.lines, self.sequence, self.sent_us, delay_us, round_trip=False)


def import_rtp(
    path: str | Path,
    *,
    sample_rate_hz: int,
    timestamp_column: str = "rtp.timestamp",
    timestamp_unit: Literal["ticks", "ms"] = "ticks",
    arrival_column: str = "frame.time_epoch",
    arrival_unit: Unit = "s",
    sequence_column: str | None = "rtp.seq",
    limit_bytes: int = MAX_CONTENT_BYTES,
) -> Arrivals:
    """Read arrivals from a CSV file, plain, .gz or .xz, in order of arrival.

    Timestamps and sequence numbers are unwrapped from packet to packet, assuming steps of less than half their range (RFC
    3550, appendix A.1). A repeated sequence number is a network duplicate and is left out. The file must contain a single stream;
    streams are not separated.

    Args:
        path: the file.
        sample_rate_hz: RTP clock rate, in `RATE_HZ`: the payload's rate (48,000 for Opus, 90,000 for video).
        timestamp_column: RTP timestamp, 0 to 2^32 - 1 ticks; or media time in milliseconds, not wrapped, a whole number of ticks.
        timestamp_unit: unit of the timestamps.
        arrival_column: arrival time on any clock, or in ISO 8601, never decreasing.
        arrival_unit: unit of the arrival times, unless they are in ISO 8601.
        sequence_column: 0 to 65,535; None: the log has none and shows no loss.
        limit_bytes: maximum uncompressed size.

    Raises:
        TraceError: an unreadable or truncated file, a missing column, a value out of range, arrivals that decrease, or arrival and media
            times of different rates (a wrong unit, a wrong sample rate, two streams).
    """
    path = Path(path)
    if not RATE_HZ[0] <= sample_rate_hz <= RATE_HZ[1]:
        raise TraceError(path, "sample_rate_hz", sample_rate_hz, f"{RATE_HZ[0]} to {RATE_HZ[1]}")
    scale = unit_us(path, "arrival_unit", arrival_unit)
    content = read_content(path, limit_bytes)

    def numbers_of(block: Table) -> Arrays:
        arrival = block.times(arrival_column, scale, -MAX_TIME_US / scale, MAX_TIME_US / scale)
        timestamp = _ticks(block, timestamp_column, timestamp_unit, sample_rate_hz)
        sequence = [] if sequence_column is None else [block.whole_numbers(sequence_column, 0, 2**SEQUENCE_BITS - 1).astype(np.int32)]
        return block.line_numbers(), arrival, timestamp, *sequence

    lines, arrival, timestamp, *numbered = read_columns(path, content, numbers_of)
    refuse_falling(path, arrival_column, arrival, lines)
    arrived_us = since_first_us(arrival, scale)
    del arrival
    if timestamp_unit == "ticks":
        timestamp = _unwrapped(timestamp, TIMESTAMP_BITS)
    sequence = _unwrapped(numbered.pop(), SEQUENCE_BITS) if numbered else np.arange(len(arrived_us))
    first = _first_of_each(sequence)
    timestamp, sequence = timestamp[first], sequence[first]
    timestamp -= timestamp.min()
    sequence -= sequence.min()
    made = Arrivals(path, timestamp, arrived_us[first], sequence, sample_rate_hz, lines[first], card_beside(path, content))
    _refuse_other_rate(made)
    return made


def _ticks(block: Table, column: str, unit: str, sample_rate_hz: int) -> NDArray[np.int64]:
    if unit == "ticks":
        return block.whole_numbers(column, 0, 2**TIMESTAMP_BITS - 1)
    if unit != "ms":
        raise TraceError(block.path, "timestamp_unit", unit, "ticks, ms")
    ticks = block.numbers(column, -MAX_TIME_US / 1e3, MAX_TIME_US / 1e3) * (sample_rate_hz / 1e3)
    broken = np.flatnonzero(np.abs(ticks - np.rint(ticks)) > _TICK_ERROR)
    if len(broken):
        at = int(broken[0])
        allowed = f"a whole number of ticks of {sample_rate_hz} Hz"
        raise TraceError(block.path, f"line {block.lines[at]}, {column}", block.cells(column)[at], allowed)
    return np.rint(ticks).astype(np.int64)


def _unwrapped(values: NDArray[np.integer], bits: int) -> NDArray[np.int64]:
    half = 2 ** (bits - 1)
    whole = np.zeros(len(values), np.int64)
    np.subtract(values[1:], values[:-1], out=whole[1:])
    whole += half
    whole %= 2 * half
    whole -= half
    np.cumsum(whole, out=whole)
    whole += values[0]
    return whole


def _first_of_each(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask (n,) of the first occurrences of values."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    again = ranked[1:] == ranked[:-1]
    del ranked
    mask = np.ones(len(values), bool)
    mask[order[1:][again]] = False
    return mask


def _refuse_other_rate(made: Arrivals) -> None:
    transit_us = made.arrived_us - made.sent_us
    end = max(1, len(transit_us) // 10)
    drift_us = abs(float(np.median(transit_us[-end:]) - np.median(transit_us[:end])))
    span_us = float(max(made.arrived_us[-1], made.sent_us.max()))
    allowed_us = _DRIFT_US + _DRIFT * span_us
    if drift_us > allowed_us:
        where = "arrival time less media time, end against start, in ms"
        raise TraceError(made.file, where, drift_us / 1e3, f"at most {allowed_us / 1e3:.0f}; is the sample rate right, and the unit?")
    late = np.flatnonzero(np.abs(transit_us - np.median(transit_us)) > MAX_DELAY_US)
    if len(late):
        at = int(late[0])
        allowed = f"within {MAX_DELAY_US / 1e3:.0f} of the median; is this one stream?"
        raise TraceError(made.file, f"line {made.lines[at]}, arrival time less media time in ms", float(transit_us[at]) / 1e3, allowed)
