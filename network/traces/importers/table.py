"""CSV of send time and delay, as any program writes it."""

from pathlib import Path

import numpy as np

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.cards import card_beside
from vcgym.network.traces.columns import Arrays, Table, read_columns
from vcgym.network.traces.importers.units import DELAY_US, SPACING_US, Unit, refuse_unit, since_first_us, unit_us
from vcgym.network.traces.reading import MAX_CONTENT_BYTES, TraceError, read_content, refuse_falling
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_TIME_US, Trace, refuse_long


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
    """Read a trace from a CSV file, plain, .gz or .xz, whose first line names the columns and whose last ends in a line break.

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
    time_scale, delay_scale = (unit_us(path, field, unit) for field, unit in (("time_unit", time_unit), ("delay_unit", delay_unit)))
    content = read_content(path, limit_bytes)

    def numbers_of(block: Table) -> Arrays:
        time = block.numbers(time_column, -MAX_TIME_US / time_scale, MAX_TIME_US / time_scale)
        return block.line_numbers(), time, block.numbers(delay_column, 0.0, MAX_DELAY_US / delay_scale, may_be_empty=True)

    lines, time, delay = read_columns(path, content, numbers_of)
    card = card_beside(path, content)
    del content
    refuse_falling(path, time_column, time, lines)
    sent_us = since_first_us(time, time_scale)
    del time
    if len(sent_us) > 1:
        refuse_unit(path, f"{time_column}, mean spacing in {time_unit}", float(sent_us[-1]) / (len(sent_us) - 1), SPACING_US, time_scale)
    refuse_long(path, time_column, sent_us, lines)
    del lines
    answered = ~np.isnan(delay)
    if not answered.any():
        raise TraceError(path, "number of answered probes", 0, "at least 1")
    delay_us = np.full(len(delay), LOST, np.int64)
    delay_us[answered] = np.rint(delay[answered] * delay_scale)
    refuse_unit(path, f"{delay_column}, median in {delay_unit}", float(np.median(delay_us[answered])), DELAY_US, delay_scale)
    return Trace(path.name.split(".")[0], sent_us, delay_us, card, round_trip)
