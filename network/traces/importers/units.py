"""Units given by a caller for a column, and plausibility checks of them against the data.

Each range spans a factor of a thousand, so that a unit wrong by a thousand or more falls outside. As a drawback, shorter delays (a local
network) and sparser probes are rejected too.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.reading import UNIT_US, TraceError, refuse_first

Unit = Literal["s", "ms", "us", "ns"]

SPACING_US = (1_200.0, 1_200_000.0)  # mean spacing: from 833 packets per second to a ping every 1.2 s
ANY_SPACING_US = (100.0, 86_400e6)  # where the caller takes any: up to a day
DELAY_US = (1_500.0, 1_500_000.0)  # median delay
FLOOR_MS = (0.0, 1_000.0)  # smallest one-way delay between two clocks


def unit_us(path: Path, field: str, unit: str) -> float:
    """Return the number of microseconds in a `unit`.

    Raises:
        TraceError: the unit is unknown.
    """
    if unit not in UNIT_US:
        raise TraceError(path, field, unit, ", ".join(UNIT_US))
    return UNIT_US[unit]


def since_first_us(times: NDArray[np.float64], scale: float) -> NDArray[np.int64]:
    """Return whole microseconds since the first of `times` (n,), in units of `scale` microseconds; `times` is overwritten."""
    times -= times[0]
    times *= scale
    return np.rint(times, out=times).astype(np.int64)


def spacing_of(path: Path, interval_ms: float | None, any_spacing: bool) -> float | None:
    """Return the spacing in microseconds that a caller gives for probes without times, checked to be in `SPACING_US`; None if none is."""
    if interval_ms is None:
        return None
    low, high = ANY_SPACING_US if any_spacing else SPACING_US
    if not low <= interval_ms * 1e3 <= high:
        hint = "" if any_spacing else "; format.any_spacing=true takes any"
        raise TraceError(path, "interval_ms", interval_ms, f"{low / 1e3:g} to {high / 1e3:g} (milliseconds){hint}")
    return interval_ms * 1e3


def sent_at(
    path: Path, program: str, lines: NDArray[np.integer], stamp_s: NDArray[np.float64], number: NDArray[np.integer],
    rtt_us: NDArray[np.int64], spacing_us: float | None,
) -> NDArray[np.int64]:  # fmt: skip
    """Return the send time in microseconds of each reply (n,) in the log of a `program`: its stamp less its round trip, or by its number.

    Raises:
        TraceError: a reply without a stamp (NaN), or one with a stamp although the spacing is given.
    """
    unstamped = np.isnan(stamp_s)
    if spacing_us is None:
        allowed = f"a stamp on every reply ({program} -D), or interval_ms for a log without"
        refuse_first(path, "time stamp", unstamped, [None] * len(lines), lines, allowed)
        return np.rint(stamp_s * 1e6).astype(np.int64) - rtt_us
    refuse_first(path, "time stamp", ~unstamped, stamp_s, lines, "no stamps when interval_ms is given")
    return np.rint(number * spacing_us).astype(np.int64)


def since_1970(time: float) -> str:
    """Return the unit in which a time is one since 1970, as a hint for errors; empty if there is none from 2001 to 2096."""
    return next((f"; as a time since 1970 it is in {unit}" for unit, us in UNIT_US.items() if 1e15 <= time * us < 4e15), "")


def refuse_spacing(path: Path, where: str, sent_us: NDArray[np.int64], probes: int, scale: float, hint: str = "") -> None:
    """Check that the mean spacing of `probes` probes, of which those sent at `sent_us` (n,) are answered, is within `SPACING_US`."""
    if probes > 1:
        spacing_us = float(sent_us.max() - sent_us.min()) / (probes - 1)
        refuse_unit(path, where, spacing_us, SPACING_US, scale, f" format.any_spacing=true takes any{hint}")


def refuse_unit(path: Path, where: str, value_us: float, allowed_us: tuple[float, float], scale: float, hint: str = "") -> None:
    """Check that a typical value is in [low, high); errors use the unit of `scale` microseconds and end in `hint`.

    Raises:
        TraceError: it is not; the message names the value and the range.
    """
    low, high = allowed_us
    if not low <= value_us < high:
        raise TraceError(path, where, value_us / scale, f"{low / scale:g} to {high / scale:g}; is the unit right?{hint}")
