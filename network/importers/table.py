"""CSV of send time and delay, as any program writes it."""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vcgym.network.cards import card_beside
from vcgym.network.reading import MAX_CONTENT_BYTES, UNIT_US, TraceError, read_content, read_table
from vcgym.network.traces import MAX_DELAY_US, MAX_TIME_US, Trace
from vcgym.network.world import LOST

Unit = Literal["s", "ms", "us"]

# Each is one factor of a thousand wide, so that a unit mistaken by a thousand or more falls outside.
SPACING_US = (1_200.0, 1_200_000.0)  # of two sends, on the mean: 833 packets a second down to a ping every 1.2 s
DELAY_US = (1_500.0, 1_500_000.0)  # the median


def import_csv(
    path: str | Path,
    *,
    time_column: str,
    time_unit: Unit,
    delay_column: str,
    delay_unit: Unit,
    round_trip: bool,
    limit_bytes: int = MAX_CONTENT_BYTES,
) -> Trace:
    """A trace from a CSV file, plain or .gz, whose first line names the columns and whose last ends in a line break.

    The units are the caller's word, so they are held against the data: mean spacing within `SPACING_US`, median delay within `DELAY_US`.
    The price is that shorter delays (a local network) and sparser probes are refused too.

    Args:
        path: the file.
        time_column: send time on any clock, never falling; the first becomes 0.
        time_unit: its unit.
        delay_column: delay, 0 to 60 s; an empty cell is a lost probe.
        delay_unit: its unit.
        round_trip: what the delays are.
        limit_bytes: largest unpacked size that is read.

    Raises:
        TraceError: an unreadable or truncated file, no such column, NaN, a value out of range, no times, times that fall, no answered
            probe, values that a unit cannot have.
    """
    path = Path(path)
    time_scale, delay_scale = (_scale(path, field, unit) for field, unit in (("time_unit", time_unit), ("delay_unit", delay_unit)))
    content = read_content(path, limit_bytes)
    table = read_table(path, content)
    time = table.numbers(time_column, -MAX_TIME_US / time_scale, MAX_TIME_US / time_scale)
    table.refuse_falling(time_column, time)
    delay = table.numbers(delay_column, 0.0, MAX_DELAY_US / delay_scale, may_be_empty=True)
    answered = ~np.isnan(delay)
    if not answered.any():
        raise TraceError(path, "number of answered probes", 0, "at least 1")
    sent_us = np.rint((time - time[0]) * time_scale).astype(np.int64)
    delay_us = np.full(len(delay), LOST, np.int64)
    delay_us[answered] = np.rint(delay[answered] * delay_scale)
    if len(time) > 1:
        _refuse_unit(path, f"{time_column}, mean spacing in {time_unit}", float(sent_us[-1]) / (len(time) - 1), SPACING_US, time_scale)
    _refuse_unit(path, f"{delay_column}, median in {delay_unit}", _median(delay_us[answered]), DELAY_US, delay_scale)
    return Trace(path.name.split(".")[0], sent_us, delay_us, card_beside(path, content), round_trip)


def _scale(path: Path, field: str, unit: str) -> float:
    if unit not in UNIT_US:
        raise TraceError(path, field, unit, ", ".join(UNIT_US))
    return UNIT_US[unit]


def _median(values: NDArray[np.int64]) -> float:
    return float(np.median(values))


def _refuse_unit(path: Path, where: str, value_us: float, allowed_us: tuple[float, float], scale: float) -> None:
    low, high = allowed_us
    if not low <= value_us < high:
        raise TraceError(path, where, value_us / scale, f"{low / scale:g} to {high / scale:g}; is the unit right?")
