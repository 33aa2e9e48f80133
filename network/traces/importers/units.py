"""Units that a caller states for a column, and what the data must show for them to be believed.

Each range is one factor of a thousand wide, so that a unit mistaken by a thousand or more falls outside. The price is that shorter delays
(a local network) and sparser probes are refused too.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vcgym.network.traces.reading import UNIT_US, TraceError

Unit = Literal["s", "ms", "us", "ns"]

SPACING_US = (1_200.0, 1_200_000.0)  # of two sends, on the mean: 833 packets a second down to a ping every 1.2 s
DELAY_US = (1_500.0, 1_500_000.0)  # the median


def unit_us(path: Path, field: str, unit: str) -> float:
    """Return the microseconds in a `unit`.

    Raises:
        TraceError: no such unit.
    """
    if unit not in UNIT_US:
        raise TraceError(path, field, unit, ", ".join(UNIT_US))
    return UNIT_US[unit]


def since_first_us(times: NDArray[np.float64], scale: float) -> NDArray[np.int64]:
    """Return whole microseconds since the first of `times` (n,), which count `scale` microseconds each; `times` is overwritten."""
    times -= times[0]
    times *= scale
    return np.rint(times, out=times).astype(np.int64)


def refuse_unit(path: Path, where: str, value_us: float, allowed_us: tuple[float, float], scale: float) -> None:
    """Refuse a typical value outside [low, high), both shown in the unit of `scale` microseconds.

    Raises:
        TraceError: naming the value and what is allowed.
    """
    low, high = allowed_us
    if not low <= value_us < high:
        raise TraceError(path, where, value_us / scale, f"{low / scale:g} to {high / scale:g}; is the unit right?")
