"""CSV of time and delay, as any program writes it."""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.cards import card_beside
from vcgym.network.traces.columns import Arrays, Table, read_columns
from vcgym.network.traces.importers.units import DELAY_US, SPACING_US, Unit, refuse_unit, since_first_us, unit_us
from vcgym.network.traces.reading import MAX_CONTENT_BYTES, TraceError, read_content, refuse_falling
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_TIME_US, Trace, from_replies, refuse_long

TimeOf = Literal["send", "reply"]


def import_csv(
    path: str | Path,
    *,
    time_column: str,
    time_unit: Unit,
    delay_column: str,
    delay_unit: Unit,
    round_trip: bool,
    time_of: TimeOf = "send",
    header: bool = True,
    limit_bytes: int = MAX_CONTENT_BYTES,
) -> Trace:
    """Read a trace from a CSV file, plain, .gz or .xz, whose last line ends in a line break.

    Rows come in order of sending or of reply: a probe that another overtook is sorted back into order of sending.

    The units are the caller's word, so they are held against the data: mean spacing within `SPACING_US`, median delay within `DELAY_US`.
    The price is that shorter delays (a local network) and sparser probes are refused too.

    Args:
        path: the file.
        time_column: time on any clock; the first send becomes 0.
        time_unit: its unit.
        delay_column: delay, 0 to 60 s; an empty cell is a lost probe.
        delay_unit: its unit.
        round_trip: what the delays are.
        time_of: what the times are: of sending; or of the reply (one way: of arrival), less the delay of the row. A lost probe has no
            reply: it is spaced evenly between its answered neighbours, and those before the first or after the last one are left out.
        header: whether the first line names the columns; if not, their names are 1, 2, 3 and so on.
        limit_bytes: largest unpacked size that is read.

    Raises:
        TraceError: an unreadable or truncated file, no such column, NaN, a value out of range, no times, rows in neither order, no
            answered probe, values that a unit cannot have.
    """
    path = Path(path)
    time_scale, delay_scale = (unit_us(path, field, unit) for field, unit in (("time_unit", time_unit), ("delay_unit", delay_unit)))
    content = read_content(path, limit_bytes)

    def numbers_of(block: Table) -> Arrays:
        delay = block.numbers(delay_column, 0.0, MAX_DELAY_US / delay_scale, may_be_empty=True)
        timed = block if time_of == "send" else block.pick(~np.isnan(delay))
        return block.line_numbers(), timed.numbers(time_column, -MAX_TIME_US / time_scale, MAX_TIME_US / time_scale), delay

    lines, time, delay = read_columns(path, content, numbers_of, header=header)
    answered = np.flatnonzero(~np.isnan(delay))
    if not len(answered):
        raise TraceError(path, "number of answered probes", 0, "at least 1")
    delay_us = np.rint(delay[answered] * delay_scale).astype(np.int64)
    if time_of == "reply":
        refuse_falling(path, time_column, time, lines[answered])
        sent_us, probes = since_first_us(time, time_scale) - delay_us, int(answered[-1] - answered[0]) + 1
    else:
        sent_us, probes = _in_either_order(path, time_column, time, time_scale, lines, answered, delay_us), len(delay)
    if probes > 1:
        spacing_us = float(sent_us.max() - sent_us.min()) / (probes - 1)
        refuse_unit(path, f"{time_column}, mean spacing in {time_unit}", spacing_us, SPACING_US, time_scale)
    refuse_unit(path, f"{delay_column}, median in {delay_unit}", float(np.median(delay_us)), DELAY_US, delay_scale)
    name, card = path.name.split(".")[0], card_beside(path, content)
    if time_of == "reply":
        return from_replies(name, path, card, lines[answered], answered, sent_us, delay_us, round_trip)
    all_us = np.full(len(delay), LOST, np.int64)
    all_us[answered] = delay_us
    if (np.diff(sent_us) < 0).any():
        order = np.argsort(sent_us, kind="stable")
        sent_us, all_us, lines = sent_us[order] - sent_us[order[0]], all_us[order], lines[order]
    refuse_long(path, time_column, sent_us, lines)
    return Trace(name, sent_us, all_us, card, round_trip)


def _in_either_order(
    path: Path,
    column: str,
    time: NDArray[np.float64],
    scale: float,
    lines: NDArray[np.int32],
    answered: NDArray[np.int64],
    delay_us: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the send times (rows,) in us since the first row; refuse rows that are in order neither of sending nor of reply.

    A lost probe has no reply: it stands in order of sending.
    """
    reply = (time - time[0])[answered] + delay_us / scale
    behind = time < np.maximum.accumulate(time)
    if behind.sum() > behind[answered].sum() or (behind.any() and (np.diff(reply) < 0).any()):
        refuse_falling(path, column, time, lines)
    return since_first_us(time, scale)
