"""Marks of lost probes: what programs write in place of a delay, such as -1, 0 or nan.

An unknown mark would be played as a delay. So a delay of 0, or far below the others, is rejected with the argument that tells it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.reading import TraceError, is_number

_SHARE = 0.1  # of the median: a smaller delay is usually a mark
_MAX_CHARACTERS = 12  # of a cell that a hint repeats


def marking(marks: Sequence[str], cells: Sequence[str]) -> set[str]:
    """Return the texts in `cells` that mark a lost probe: -1 also as -1.000, nan also as NaN."""
    if not marks:
        return set()
    texts, numbers = {mark.casefold() for mark in marks}, {float(mark) for mark in marks if is_number(mark)}
    return {cell for cell in set(cells) if cell.casefold() in texts or (is_number(cell) and float(cell) in numbers)}


def lost_hint(marks: Sequence[str], value: object) -> str:
    """Return the hint that `value`, as it stands in the file, may mark a lost probe."""
    mark = str(value)
    if len(mark) > _MAX_CHARACTERS or not mark or set(mark) & set(" ,[]{}()\"'"):
        return ""
    given = ",".join([*marks, mark])
    return f"; format.lost={f'[{given}]' if marks else given} if {mark} marks a lost packet"


def refuse_marks(path: Path, column: str, delay: NDArray[np.float64], lines: NDArray[np.int32], marks: Sequence[str]) -> None:
    """Reject delays that are usually marks; `lines` (n,) are their lines in the file.

    These are 0, what is below `_SHARE` of the median of the others, and a largest delay that stands several times and alone: above ten
    times the median, and above twice the next.
    """
    above = delay[delay > 0.0]
    median = float(np.median(above)) if len(above) else 0.0
    small = (delay <= 0.0) | (delay < _SHARE * median)
    largest = delay.max()
    large = delay == largest
    alone = np.count_nonzero(large) > 1 and largest > max(median / _SHARE, 2.0 * delay[~large].max(initial=0.0))
    if small.any() or alone:
        at = int(np.argmax(small if small.any() else large))
        bound = (
            f"at least {_SHARE * median:.3g}, a tenth of the median"
            if small.any()
            else f"at most {median / _SHARE:.3g}, ten times the median"
        )
        hint = lost_hint(marks, f"{delay[at]:.15g}")
        allowed = f"{bound}{hint}, format.any_delay=true if it is a delay"
        raise TraceError(path, f"line {lines[at]}, {column}", float(delay[at]), allowed)


def refuse_mark_below(path: Path, column: str, delay: NDArray[np.float64], lines: NDArray[np.int32], marks: Sequence[str]) -> None:
    """Reject a smallest delay of two clocks, 0 or -1, that is further below the others than half of these are apart."""
    lowest = float(delay.min())
    others = delay[delay > lowest]
    if lowest in (0.0, -1.0) and len(others) and others.min() - lowest > np.median(others) - others.min():
        allowed = f"near the others, from {others.min():.6g} on{lost_hint(marks, f'{lowest:g}')}"
        raise TraceError(path, f"line {lines[int(np.argmin(delay))]}, {column}", lowest, allowed)
