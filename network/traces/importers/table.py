"""CSV files of time and delay from any program.

Programs write -1, 0 or nan in place of the delay of a lost probe. An unknown mark would be played as a delay, so a delay of 0, or far below
the others, is rejected with the argument that tells it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.columns import Arrays, Table, read_columns
from vcgym.network.traces.importers.drift import KeptDrift, drift_of
from vcgym.network.traces.importers.units import (
    DELAY_US,
    FLOOR_MS,
    Unit,
    refuse_spacing,
    refuse_unit,
    since_1970,
    since_first_us,
    unit_us,
)
from vcgym.network.traces.reading import TraceError, is_number, read_content, refuse_falling
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_TIME_US, Trace, from_replies, refuse_long

TimeOf = Literal["send", "reply"]

_MAX_NUMBER = 2.0**63  # of a time or delay before its unit is checked
_MARK_SHARE = 0.1  # of the median: a smaller delay is usually a mark
_MAX_MARK_CHARACTERS = 12  # of a cell that a hint repeats
_TWO_CLOCKS = "; format.floor_ms=MS if the two ends have two clocks"


def import_csv(
    path: str | Path,
    *,
    time_column: str,
    time_unit: Unit | None = None,
    delay_column: str,
    delay_unit: Unit,
    round_trip: bool,
    time_of: TimeOf = "send",
    header: bool = True,
    lost: str | Sequence[str] = (),
    floor_ms: float | None = None,
    drift: KeptDrift = "remove",
    any_spacing: bool = False,
    any_delay: bool = False,
) -> Trace:
    """Read a trace from a CSV file, plain, .gz or .xz, whose last line ends in a line break.

    Rows are in order of sending or of reply; overtaken probes are sorted into order of sending.

    The caller gives the units, so they are checked against the data: mean spacing within `SPACING_US`, median delay within `DELAY_US`, both
    of `vcgym.network.traces.importers.units`. Programs write a lost probe as 0 or -1, so a delay of 0, or below a tenth of the median, is
    rejected unless it is given as a mark.

    Args:
        path: the file.
        time_column: time on any clock.
        time_unit: unit of the times; None: they are in ISO 8601, which needs none.
        delay_column: delay, 0 to 60 s; an empty cell is a lost probe.
        delay_unit: unit of the delays.
        round_trip: True for round trips, False for one-way delays.
        time_of: meaning of the times: sending; or reply (one way: arrival), from which the row's delay is subtracted. A lost probe has no
            reply: it is spaced evenly between its answered neighbours, and losses before the first or after the last one are left out.
        header: True if the first row names the columns; otherwise their names are 1, 2, 3 and so on.
        lost: numbers or texts, upper or lower case, in place of a delay that mark a lost probe, such as -1, next to the empty cell.
        floor_ms: the smallest one-way delay, 0 to 1000 ms, if the two ends have two clocks, which determine delays only up to a constant;
            then the delays in the file may be negative. None: one clock.
        drift: remove that of two clocks, if one is found, or keep it in the delays; one clock has none.
        any_spacing: True: the spacing may be any, and the unit of the times is not checked.
        any_delay: True: the delays may be any, such as of a local network, 0, or far below the median; their unit is not checked.

    Raises:
        TraceError: an unreadable or truncated file, a missing column, NaN, a value out of range, no times, rows in neither order, no
            answered probe, values that the unit cannot have.
    """
    path = Path(path)
    of_reply = time_of == "reply"
    time_scale, delay_scale = unit_us(path, "time_unit", time_unit or "s"), unit_us(path, "delay_unit", delay_unit)
    _refuse_floor(path, floor_ms, round_trip)
    content = read_content(path)
    marks = [lost] if isinstance(lost, str) else list(lost)
    delays = (0.0, MAX_DELAY_US / delay_scale) if floor_ms is None else (-_MAX_NUMBER, _MAX_NUMBER)

    def numbers_of(block: Table) -> Arrays:
        try:
            delay = block.numbers(delay_column, *delays, missing={"", *_marking(marks, block.cells(delay_column))})
        except TraceError as error:
            file, where, value, allowed = error.args
            below = _TWO_CLOCKS * (str(value).startswith("-") and not round_trip)
            raise TraceError(file, where, value, allowed + _lost_hint(marks, value) + below) from error
        timed = block.pick(~np.isnan(delay)) if of_reply else block
        return block.line_numbers(), timed.times(time_column, time_scale if time_unit else None, -_MAX_NUMBER, _MAX_NUMBER), delay

    lines, time, delay = read_columns(path, content, numbers_of, header=header)
    card = card_beside(path, content)
    del content
    answered = ~np.isnan(delay)
    if not answered.any():
        raise TraceError(path, "number of answered probes", 0, "at least 1")
    timed_lines, hint = lines[answered] if of_reply else lines, since_1970(float(time[0]))
    _refuse_outside(path, time_column, time, timed_lines, -MAX_TIME_US / time_scale, MAX_TIME_US / time_scale, hint)
    if floor_ms is not None:
        _refuse_mark_below(path, delay_column, delay[answered], lines[answered], marks)
        delay += floor_ms * 1e3 / delay_scale - np.nanmin(delay)
    elif not any_delay:
        _refuse_marks(path, delay_column, delay[answered], lines[answered], marks)
    _refuse_outside(path, delay_column, delay, lines, 0.0, MAX_DELAY_US / delay_scale, "")
    delay *= delay_scale
    delay_us = np.rint(delay, out=delay)
    if of_reply:
        refuse_falling(path, time_column, time, timed_lines)
    else:
        _refuse_other_order(path, time_column, time, time_scale, lines, answered, delay_us)
    start_us, at_us = round(float(time[0]) * time_scale), since_first_us(time, time_scale)
    del time
    notes: tuple[str, ...] = ()
    if floor_ms is not None:
        delay_us[answered], notes = _on_one_clock(at_us if of_reply else at_us[answered], delay_us[answered], floor_ms, drift)
    number = np.flatnonzero(answered)
    sent_us, probes = (at_us - delay_us[answered].astype(np.int64), int(np.ptp(number)) + 1) if of_reply else (at_us, len(at_us))
    if not any_spacing:
        refuse_spacing(path, f"{time_column}, mean spacing in {time_unit or 's'}", sent_us, probes, time_scale, hint)
    if not any_delay:
        median_us = float(np.median(delay_us[answered], overwrite_input=True))
        refuse_unit(path, f"{delay_column}, median in {delay_unit}", median_us, DELAY_US, delay_scale, " format.any_delay=true takes any")
    name = path.name.split(".")[0]
    if of_reply:
        whole_us = delay_us[answered].astype(np.int64)
        return replace(from_replies(name, path, card, timed_lines, number, sent_us, whole_us, round_trip, start_us), notes=notes)
    delay_us[~answered] = LOST
    first_us, sent_us, delay_us, lines = _in_order(sent_us, delay_us, lines)
    refuse_long(path, f"{time_column}, us after the first", sent_us, lines)
    return replace(Trace(name, sent_us, delay_us.astype(np.int64), card, round_trip, start_us + first_us), notes=notes)


def _on_one_clock(
    at_us: NDArray[np.int64], delay_us: NDArray[np.float64], floor_ms: float, drift: KeptDrift
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return one-way delays (n,) at times `at_us` (n,) without the drift of two clocks, and what was found of it, in words."""
    found = drift_of(at_us, delay_us.astype(np.int64))
    if drift == "remove" and found.is_of_clocks:
        delay_us = np.rint(delay_us - 1e-6 * found.ppm * at_us)
        delay_us += 1e3 * floor_ms - delay_us.min()
    return delay_us, (found.describe(drift),)


def _in_order(
    sent_us: NDArray[np.int64], delay_us: NDArray[np.float64], lines: NDArray[np.int32]
) -> tuple[int, NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]:
    """Return the first time of sending, and the arrays (n,) in order of sending, from the first on."""
    if not (sent_us[1:] < sent_us[:-1]).any():
        return 0, sent_us, delay_us, lines
    order = np.argsort(sent_us, kind="stable")
    first_us = int(sent_us[order[0]])
    return first_us, sent_us[order] - first_us, delay_us[order], lines[order]


def _refuse_floor(path: Path, floor_ms: float | None, round_trip: bool) -> None:
    if floor_ms is not None and round_trip:
        raise TraceError(path, "floor_ms", floor_ms, "none with round_trip=true: one clock measures a round trip")
    if floor_ms is not None and not FLOOR_MS[0] <= floor_ms <= FLOOR_MS[1]:
        raise TraceError(path, "floor_ms", floor_ms, f"{FLOOR_MS[0]} to {FLOOR_MS[1]} (milliseconds)")


def _refuse_outside(
    path: Path, column: str, values: NDArray[np.float64], lines: NDArray[np.int32], low: float, high: float, hint: str
) -> None:
    """Reject `values` (n,) of a column outside [low, high], other than NaN; `lines` (n,) are their lines in the file."""
    wrong = (values < low) | (values > high)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise TraceError(path, f"line {lines[at]}, {column}", f"{values[at]:.15g}", f"a number from {low:.15g} to {high:.15g}{hint}")


def _refuse_other_order(
    path: Path,
    column: str,
    time: NDArray[np.float64],
    scale: float,
    lines: NDArray[np.int32],
    answered: NDArray[np.bool_],
    delay_us: NDArray[np.float64],
) -> None:
    """Reject rows in order neither of sending nor of reply; lost probes, which have no reply, must be in order of sending."""
    if not (time[1:] < time[:-1]).any():
        return
    reply = (time - time[0])[answered]
    reply += delay_us[answered] / scale
    behind = time < np.maximum.accumulate(time)
    if behind.sum() > behind[answered].sum() or (reply[1:] < reply[:-1]).any():
        refuse_falling(path, column, time, lines)


def _marking(marks: Sequence[str], cells: Sequence[str]) -> set[str]:
    """Return the texts in `cells` that mark a lost probe: -1 also as -1.000, nan also as NaN."""
    if not marks:
        return set()
    texts, numbers = {mark.casefold() for mark in marks}, {float(mark) for mark in marks if is_number(mark)}
    return {cell for cell in set(cells) if cell.casefold() in texts or (is_number(cell) and float(cell) in numbers)}


def _lost_hint(marks: Sequence[str], value: object) -> str:
    """Return the hint that `value`, as it stands in the file, may mark a lost probe."""
    mark = str(value)
    if len(mark) > _MAX_MARK_CHARACTERS or not mark or set(mark) & set(" ,[]{}()\"'"):
        return ""
    given = ",".join([*marks, mark])
    return f"; format.lost={f'[{given}]' if marks else given} if {mark} marks a lost packet"


def _refuse_marks(path: Path, column: str, delay: NDArray[np.float64], lines: NDArray[np.int32], marks: Sequence[str]) -> None:
    """Reject delays that are usually marks; `lines` (n,) are their lines in the file.

    These are 0, what is below `_MARK_SHARE` of the median of the others, and a largest delay that stands several times and alone: above ten
    times the median, and above twice the next.
    """
    above = delay[delay > 0.0]
    median = float(np.median(above)) if len(above) else 0.0
    small = (delay <= 0.0) | (delay < _MARK_SHARE * median)
    largest = delay.max()
    large = delay == largest
    alone = np.count_nonzero(large) > 1 and largest > max(median / _MARK_SHARE, 2.0 * delay[~large].max(initial=0.0))
    if small.any() or alone:
        at = int(np.argmax(small if small.any() else large))
        bound = (
            f"at least {_MARK_SHARE * median:.3g}, a tenth of the median"
            if small.any()
            else f"at most {median / _MARK_SHARE:.3g}, ten times the median"
        )
        hint = _lost_hint(marks, f"{delay[at]:.15g}")
        allowed = f"{bound}{hint}, format.any_delay=true if it is a delay"
        raise TraceError(path, f"line {lines[at]}, {column}", float(delay[at]), allowed)


def _refuse_mark_below(path: Path, column: str, delay: NDArray[np.float64], lines: NDArray[np.int32], marks: Sequence[str]) -> None:
    """Reject a smallest delay of two clocks, 0 or -1, that is further below the others than half of these are apart."""
    lowest = float(delay.min())
    others = delay[delay > lowest]
    if lowest in (0.0, -1.0) and len(others) and others.min() - lowest > np.median(others) - others.min():
        allowed = f"near the others, from {others.min():.6g} on{_lost_hint(marks, f'{lowest:g}')}"
        raise TraceError(path, f"line {lines[int(np.argmin(delay))]}, {column}", lowest, allowed)
