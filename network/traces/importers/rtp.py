"""Arrival logs of RTP streams: a table of RTP timestamp, arrival time and, if the log has them, sequence number and SSRC.

The default columns are those of tshark, whose separator is the tab:

    tshark -r FILE -Y rtp -T fields -E header=y -e frame.time_epoch -e rtp.ssrc -e rtp.seq -e rtp.timestamp
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.cards import Card
from vcgym.network.traces.columns import Arrays, Table, read_columns
from vcgym.network.traces.importers.drift import ClockDrift, KeptDrift, drift_of
from vcgym.network.traces.importers.restarts import refuse_new_numbers, refuse_new_timestamps, unwrapped_sequence, unwrapped_timestamps
from vcgym.network.traces.importers.units import FLOOR_MS, Unit, since_first_us, unit_us
from vcgym.network.traces.reading import TraceError, read_content, refuse_falling, refuse_first
from vcgym.network.traces.trace import MAX_TIME_US, Trace, from_replies

TIMESTAMP_BITS, SEQUENCE_BITS, SSRC_BITS = 32, 16, 32  # RFC 3550, section 5.1
SSRC_COLUMN = "rtp.ssrc"
RATE_HZ = (1_000, 1_000_000)  # covers RTP clocks: 8,000 to 192,000 for audio, 90,000 for video

_DRIFT = 0.01  # share of the span: a hundred times the drift of two quartz clocks
_DRIFT_US = 2_000_000  # allowed change of the delay between start and end of a log
_FEW = 20  # arrival times
_SHARED_PERCENT = 90.0  # of arrival times
_TICK_ERROR = 0.05  # media times in ms have three decimals
_SSRC = re.compile(r"(0[xX][0-9a-fA-F]{1,8})|[0-9]{1,10}")


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Packets of one stream in order of arrival, the input of a receiver rule outside a call.

    Attributes:
        file: source file, for errors.
        timestamp: int64 (n,), unwrapped RTP timestamps in ticks of `sample_rate_hz`; the lowest is 0.
        arrived_us: int64 (n,), time since the first arrival of the log, never decreasing.
        sequence: int64 (n,), unwrapped sequence numbers, the lowest 0, each once; the order of arrival if the log has none.
        sample_rate_hz: ticks per second of media time.
        lines: int32 (n,), line of each packet in the file.
        card: source, licence, hash.
        ssrc: SSRC of the stream; None: the log has none.
        start_us: the first arrival of the log on its clock, such as since 1970.
    """

    file: Path
    timestamp: NDArray[np.int64]
    arrived_us: NDArray[np.int64]
    sequence: NDArray[np.int64]
    sample_rate_hz: int
    lines: NDArray[np.int32]
    card: Card
    ssrc: int | None = None
    start_us: int = 0

    @property
    def sent_us(self) -> NDArray[np.int64]:
        """Return the media time of each packet, int64 (n,); its zero differs from that of `arrived_us`."""
        return np.rint(self.timestamp * (1e6 / self.sample_rate_hz)).astype(np.int64)

    @cached_property
    def drift(self) -> ClockDrift:
        """Return the drift of the sender's clock against the receiver's."""
        sent_us = self.sent_us
        return drift_of(sent_us, self.arrived_us - sent_us)

    @property
    def _found_rate_hz(self) -> float:
        return self.sample_rate_hz / (1.0 + 1e-6 * self.drift.ppm)

    def describe_drift(self, drift: KeptDrift) -> str:
        """Return what `to_trace` does with the drift, in words."""
        return self.drift.describe(drift, f"; if one does, format.sample_rate_hz={self._found_rate_hz:.0f}")

    def to_trace(self, floor_ms: float, drift: KeptDrift = "remove") -> Trace:
        """Return a trace for replay, with send times and one-way delays.

        The log determines delays only up to a constant, so the minimum must be given. Missing sequence numbers are lost packets; a log
        without numbers shows no loss. Packets of one timestamp, as those of a video frame, have the delay of the first of them: when the
        sender sent the others is not in the log. A drift of clocks is removed, and send times are then on the receiver's clock.

        Args:
            floor_ms: the minimum one-way delay, in `FLOOR_MS`.
            drift: remove it, if one is found, or keep it in the delays.

        Raises:
            TraceError: a minimum out of range; with `remove`, a drift of more than 1 %, which a wrong sample rate makes.
        """
        if not FLOOR_MS[0] <= floor_ms <= FLOOR_MS[1]:
            raise TraceError(self.file, "floor_ms", floor_ms, f"{FLOOR_MS[0]} to {FLOOR_MS[1]} (milliseconds)")
        if drift == "remove" and self.drift.is_found and abs(self.drift.ppm) > 1e6 * _DRIFT:
            hint = f"Its time stamps advance by {self._found_rate_hz:.0f} in a second of arrivals; format.drift=keep leaves it"
            allowed = f"-{1e6 * _DRIFT:.0f} to {1e6 * _DRIFT:.0f}; is the sample rate right? {hint}"
            raise TraceError(self.file, "drift in ppm", round(self.drift.ppm), allowed)
        sent_us = self.sent_us
        if drift == "remove" and self.drift.is_of_clocks:
            sent_us += np.rint(sent_us * (1e-6 * self.drift.ppm)).astype(np.int64)
        delay_us = self.arrived_us - sent_us
        shift_us = round(floor_ms * 1e3) - int(delay_us.min())
        delay_us += shift_us
        later = _first_of_frames(self.timestamp, delay_us)
        name, start_us = self.file.name.split(".")[0], self.start_us - shift_us
        made = from_replies(name, self.file, self.card, self.lines, self.sequence, sent_us, delay_us, round_trip=False, start_us=start_us)
        frames = f"{later:,} packets have the time stamp of one before and its delay"
        return replace(made, notes=(self.describe_drift(drift), *[frames] * (later > 0)))


def import_rtp(
    path: str | Path,
    *,
    sample_rate_hz: int,
    timestamp_column: str = "rtp.timestamp",
    timestamp_unit: Literal["ticks", "ms"] = "ticks",
    arrival_column: str = "frame.time_epoch",
    arrival_unit: Unit = "s",
    sequence_column: str | None = "rtp.seq",
    ssrc_column: str = SSRC_COLUMN,
    ssrc: str | None = None,
    header: bool = True,
) -> Arrivals:
    """Read arrivals from a CSV file, plain, .gz or .xz, in order of arrival.

    Numbers that wrap are unwrapped from packet to packet: timestamps by the time between the arrivals, sequence numbers by steps of less
    than half their range (RFC 3550, appendix A.1), or forward over a pause. A repeated sequence number is a network duplicate and is left
    out.

    Args:
        path: the file.
        sample_rate_hz: RTP clock rate, in `RATE_HZ`: the payload's rate (48,000 for Opus, 90,000 for video).
        timestamp_column: RTP timestamp, 0 to 2^32 - 1 ticks; or media time in milliseconds, not wrapped, a whole number of ticks.
        timestamp_unit: unit of the timestamps.
        arrival_column: arrival time on any clock, or in ISO 8601, never decreasing.
        arrival_unit: unit of the arrival times, unless they are in ISO 8601.
        sequence_column: 0 to 65,535; None: the log has none and shows no loss.
        ssrc_column: SSRC, decimal or hexadecimal (0x...); a log without this column holds one stream.
        ssrc: the stream to read; None: the only one.
        header: True if the first line names the columns; otherwise their names are 1, 2, 3 and so on.

    Raises:
        TraceError: an unreadable or truncated file, a missing column, a value out of range, arrivals that decrease, several streams, a
            stream that begins anew (the line), or arrival and media times of different rates (a wrong unit, a wrong sample rate).
    """
    path = Path(path)
    if not RATE_HZ[0] <= sample_rate_hz <= RATE_HZ[1]:
        raise TraceError(path, "sample_rate_hz", sample_rate_hz, f"{RATE_HZ[0]} to {RATE_HZ[1]}")
    scale = unit_us(path, "arrival_unit", arrival_unit)
    content = read_content(path)

    def numbers_of(block: Table) -> Arrays:
        arrival = block.times(arrival_column, scale, -MAX_TIME_US / scale, MAX_TIME_US / scale)
        timestamp = _ticks(block, timestamp_column, timestamp_unit, sample_rate_hz)
        sequence = [] if sequence_column is None else [block.whole_numbers(sequence_column, 0, 2**SEQUENCE_BITS - 1).astype(np.int32)]
        of_stream = [_ssrcs(block, ssrc_column)] if ssrc is not None or ssrc_column in block.header else []
        return block.line_numbers(), arrival, timestamp, *sequence, *of_stream

    lines, arrival, timestamp, *others = read_columns(path, content, numbers_of, header=header)
    card = card_beside(path, content)
    del content
    refuse_falling(path, arrival_column, arrival, lines)
    start_us, arrived_us = round(float(arrival[0]) * scale), since_first_us(arrival, scale)
    del arrival
    which = None
    if len(others) > (sequence_column is not None):
        which, mine = _one_stream(path, ssrc_column, others.pop(), ssrc)
        lines, arrived_us, timestamp, *others = (array[mine] for array in (lines, arrived_us, timestamp, *others))
    if timestamp_unit == "ticks":
        timestamp = unwrapped_timestamps(timestamp, arrived_us, sample_rate_hz, TIMESTAMP_BITS)
    timestamp -= timestamp.min()
    read = Arrivals(path, timestamp, arrived_us, np.arange(len(lines)), sample_rate_hz, lines, card, which, start_us)
    _refuse_other_rate(read)
    if sequence_column is None:
        return read
    sent_us = read.sent_us
    sequence = unwrapped_sequence(others.pop(), sent_us, SEQUENCE_BITS)
    refuse_new_numbers(path, sequence_column, lines, sequence, sent_us)
    first = _first_of_each(sequence)
    sequence = sequence[first]
    sequence -= sequence.min()
    return replace(read, timestamp=timestamp[first], arrived_us=arrived_us[first], sequence=sequence, lines=lines[first])


def streams_of(path: str | Path, ssrc_column: str = SSRC_COLUMN, header: bool = True) -> list[str]:
    """Return the SSRC of each stream of a log, hexadecimal, in order of first arrival; none if the log has no such column."""
    path = Path(path)
    content = read_content(path)

    def ssrcs_of(block: Table) -> Arrays:
        return (_ssrcs(block, ssrc_column) if ssrc_column in block.header else np.empty(0, np.int64),)

    [of_rows] = read_columns(path, content, ssrcs_of, header=header)
    found, first = np.unique(of_rows, return_index=True)
    return [f"0x{one:08x}" for one in found[np.argsort(first)].tolist()]


def _ticks(block: Table, column: str, unit: str, sample_rate_hz: int) -> NDArray[np.int64]:
    if unit == "ticks":
        return block.whole_numbers(column, 0, 2**TIMESTAMP_BITS - 1)
    if unit != "ms":
        raise TraceError(block.path, "timestamp_unit", unit, "ticks, ms")
    ticks = block.numbers(column, -MAX_TIME_US / 1e3, MAX_TIME_US / 1e3) * (sample_rate_hz / 1e3)
    broken = np.abs(ticks - np.rint(ticks)) > _TICK_ERROR
    refuse_first(block.path, column, broken, block.cells(column), block.lines, f"a whole number of ticks of {sample_rate_hz} Hz")
    return np.rint(ticks).astype(np.int64)


def _ssrcs(block: Table, column: str) -> NDArray[np.int64]:
    """Return the SSRC of each row, int64 (rows,)."""
    cells = block.cells(column)
    values = {cell: _ssrc_number(cell) for cell in set(cells)}
    if None in values.values():
        at = next(at for at, cell in enumerate(cells) if values[cell] is None)
        raise TraceError(block.path, f"line {block.lines[at]}, {column}", cells[at], f"0 to {2**SSRC_BITS - 1}, decimal or 0x...")
    return np.array([values[cell] for cell in cells], np.int64)


def _one_stream(path: Path, column: str, of_rows: NDArray[np.int64], wanted: str | None) -> tuple[int, NDArray[np.bool_]]:
    """Return the SSRC of the wanted stream, of those of all rows (n,), and a mask (n,) of its packets."""
    found, packets = np.unique(of_rows, return_counts=True)
    shown = ", ".join(f"0x{one:08x} ({count} packets)" for one, count in zip(found.tolist(), packets.tolist(), strict=True))
    if wanted is None and len(found) > 1:
        raise TraceError(path, f"streams by {column}", len(found), f"one of {shown}, chosen by ssrc=")
    which = int(found[0]) if wanted is None else _ssrc_number(wanted)
    if which is None or which not in found:
        raise TraceError(path, "ssrc", wanted, shown)
    return which, of_rows == which


def _ssrc_number(text: str) -> int | None:
    match = _SSRC.fullmatch(text)
    value = int(text, 16 if match[1] else 10) if match else -1
    return value if 0 <= value < 2**SSRC_BITS else None


def _first_of_each(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask (n,) of the first occurrences of values."""
    mask = np.zeros(len(values), bool)
    mask[np.unique(values, return_index=True)[1]] = True
    return mask


def _first_of_frames(timestamp: NDArray[np.int64], delay_us: NDArray[np.int64]) -> int:
    """Set the delay of packets of one timestamp to the smallest of them, both (n,); return how many are not the first of theirs."""
    order = np.argsort(timestamp, kind="stable")
    ranked = timestamp[order]
    begins = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
    if len(begins) < len(order):
        lowest_us = np.minimum.reduceat(delay_us[order], begins)
        delay_us[order] = np.repeat(lowest_us, np.diff(np.append(begins, len(order))))
    return len(order) - len(begins)


def _refuse_other_rate(made: Arrivals) -> None:
    """Reject arrivals and media times that advance at different rates, and time stamps that begin anew."""
    arrived_us, sent_us = made.arrived_us, made.sent_us
    transit_us = arrived_us - sent_us
    end = max(1, len(transit_us) // 10)
    drift_us = float(np.median(transit_us[-end:]) - np.median(transit_us[:end]))
    allowed_us = _DRIFT_US + _DRIFT * float(max(arrived_us[-1], sent_us.max()))
    # What the tenths of the log have in common is a rate; what they have not is a jump.
    common_us = float(np.median(transit_us[end:] - transit_us[:-end])) * len(transit_us) / end if len(transit_us) > end else 0.0
    if abs(common_us) < abs(drift_us) / 2.0 or abs(drift_us) <= allowed_us:
        refuse_new_timestamps(made.file, made.lines, sent_us, arrived_us)
    if abs(drift_us) > allowed_us:
        of_stream = "" if made.ssrc is None else f"SSRC 0x{made.ssrc:08x}, "
        where = f"{of_stream}arrival time less media time, end against start, in ms"
        allowed = f"at most {allowed_us / 1e3:.0f}; is the sample rate right, and the unit?{_rate_hint(made, end)}"
        raise TraceError(made.file, where, drift_us / 1e3, allowed)
    begins = np.flatnonzero(np.diff(arrived_us, prepend=-1))
    ends = np.append(begins[1:], len(arrived_us)) - 1
    shared = 100.0 * float(np.mean(sent_us[begins] != sent_us[ends]))
    if len(begins) >= _FEW and shared > _SHARED_PERCENT:
        where = "per cent of arrival times that packets of several time stamps share"
        raise TraceError(made.file, where, round(shared), f"at most {_SHARED_PERCENT:g}; a resolution of some milliseconds is needed")


def _rate_hint(made: Arrivals, apart: int) -> str:
    ticks, lasted_us = (float(np.median(values[apart:] - values[:-apart])) for values in (made.timestamp, made.arrived_us))
    return f" Time stamps advance by {ticks / lasted_us * 1e6:.0f} in a second of arrivals" if lasted_us else ""
