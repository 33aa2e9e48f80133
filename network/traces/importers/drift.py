"""Clock drift between sender and receiver: the line below all one-way delays of a log.

Two clocks of different rates make arrival less sending rise or fall as long as the log lasts, which no network does. The line below all
points and nearest to them on the mean is the edge of their lower convex hull over the mean time (Moon, Skelly and Towsley, "Estimation and
removal of clock skew from network delay measurements", INFOCOM 1999; as a hull: Zhang, Liu and Xia, "Clock synchronization algorithms for
network measurements", INFOCOM 2002).

Every log has such a line, noise too. It is a drift if the smallest delays follow it all along: cut into `PARTS` of equal time, the log
leaves the line by little, next to what the line changes from end to end.

Left out: a drift that itself changes, as with temperature; and a change of route or of a clock within the log, after which one line no
longer fits. Such a line is not removed.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

KeptDrift = Literal["remove", "keep"]

PARTS = 20
CLOCKS_PPM = 1_000.0  # two clocks, each off by at most 500 ppm (MAXFREQ of RFC 5905, appendix A.1)

_QUANTILE = 75.0  # of the parts; queues that last for a quarter of the log do not count
_RATIO = 8.0  # of the change to what the parts leave; no window of pings, which have one clock, reaches it within CLOCKS_PPM
_LEAST_MS = 1.0  # less changes nothing in slots of 10 ms


class ClockDrift(NamedTuple):
    """Line below the delays of a log."""

    ppm: float  # rise of the delay, in microseconds per second of sending; above 0 the sender's clock is slow
    change_ms: float  # rise over the log
    left_ms: float  # what the smallest delays of the parts are above the line, the 75 % quantile
    is_found: bool  # True if the line is a drift; otherwise it is one of noise, or none fits

    @property
    def is_of_clocks(self) -> bool:
        """Return True if the line is a drift that two clocks can have, not more than `CLOCKS_PPM`."""
        return self.is_found and abs(self.ppm) <= CLOCKS_PPM

    def describe(self, drift: KeptDrift, hint: str = "") -> str:
        """Return what is done with the drift, in words; `hint` follows where it is too large for clocks."""
        if self.is_found and not self.is_of_clocks:
            return f"{self} kept, more than two clocks differ{hint}"
        return str(self) + (("", " removed" if drift == "remove" else " kept")[self.is_of_clocks])

    def __str__(self) -> str:
        if self.is_found:
            return f"clock drift {self.ppm:.1f} ppm ({self.change_ms:.1f} ms over the log)"
        return f"no clock drift found (the line below rises by {self.change_ms:.1f} ms and leaves {self.left_ms:.1f} ms)"


def drift_of(sent_us: NDArray[np.int64], delay_us: NDArray[np.int64]) -> ClockDrift:
    """Fit the line below delays (n,) of packets sent at `sent_us` (n,), in any order and up to a constant each."""
    at_s, delay_ms = (sent_us - sent_us.min()) / 1e6, (delay_us - delay_us.min()) / 1e3
    span_s = float(at_s.max())
    if span_s == 0.0:
        return ClockDrift(0.0, 0.0, 0.0, False)
    slope, level_ms = _line_below(at_s, delay_ms)
    part = np.minimum((at_s * (PARTS / span_s)).astype(np.int64), PARTS - 1)
    lowest_ms = np.full(PARTS, np.inf)
    np.minimum.at(lowest_ms, part, delay_ms - (level_ms + slope * at_s))
    known_ms = lowest_ms[np.isfinite(lowest_ms)]
    left_ms, change_ms = float(np.percentile(known_ms, _QUANTILE)), slope * span_s
    is_found = len(known_ms) > PARTS // 2 and abs(change_ms) > max(_RATIO * left_ms, _LEAST_MS)
    return ClockDrift(1e3 * slope, change_ms, left_ms, is_found)


def _line_below(at_s: NDArray[np.float64], delay_ms: NDArray[np.float64]) -> tuple[float, float]:
    """Return slope and level of the edge of the lower hull over the mean time.

    A chord between a point on each side of the mean is moved to the point farthest below it until none is below.
    """
    mean_s = float(at_s.mean())
    first, last = int(np.argmin(at_s)), int(np.argmax(at_s))
    while True:
        slope = float((delay_ms[last] - delay_ms[first]) / (at_s[last] - at_s[first]))
        above_ms = delay_ms - (delay_ms[first] + slope * (at_s - at_s[first]))
        lowest = int(np.argmin(above_ms))
        if above_ms[lowest] >= -1e-6:  # a nanosecond
            return slope, float(delay_ms[first] - slope * at_s[first])
        if at_s[lowest] <= mean_s:
            first = lowest
        else:
            last = lowest
