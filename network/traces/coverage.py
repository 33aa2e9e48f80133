"""Coverage of a call's slots by the probes of a trace, and the gaps that cut a trace into parts.

A call sends a packet in every 10-ms slot; a trace knows what happened to its probes only. Nothing is known of a stretch without probes,
so one of `GAP_S` or more is a gap, and a call never spans one. The limit is declared: above the waits of a prober that gives a lost ping up
(2.7 s on each side of it in `leo_ping_10ms`), and below the ten seconds of a call's history.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import SLOT_US

GAP_S = 5.0
SPARSE_MS = 20.0  # two slots, the packets of an audio call


class SlotCoverage(NamedTuple):
    """Spacing of the probes of one trace."""

    share: float  # share of slots in which a probe was sent, answered or not, above 0 and at most 1
    spacing_ms: float  # median time between neighbouring probes, of one instant counted once, without gaps; 0 for a single probe
    spacing_95_ms: float  # its 95th percentile, without gaps
    largest_gap_s: float  # longest time between neighbouring probes
    gaps: int  # number of gaps, each at least `GAP_S`

    @property
    def sparse(self) -> bool:
        """Return True if the usual spacing exceeds `SPARSE_MS`: what happens from packet to packet is not measured."""
        return self.spacing_ms > SPARSE_MS

    def __str__(self) -> str:
        cut = f", cut into {self.gaps + 1} parts" if self.gaps else ""
        return (
            f"a probe in {100.0 * self.share:.3g} % of slots, one per {self.spacing_ms:.3g} ms (95 %: {self.spacing_95_ms:.3g} ms), "
            f"largest gap {self.largest_gap_s:.3g} s{cut}"
        )


def coverage(sent_us: NDArray[np.int64]) -> SlotCoverage:
    """Return the coverage of probes sent at `sent_us` (n,), sorted, in microseconds from the first."""
    slots = sent_us // SLOT_US
    spacing_us, usual = np.diff(sent_us), usual_us(sent_us)
    usual = usual[usual > 0] if usual.any() else usual  # packets of one frame are one probe
    median_us, high_us = np.percentile(usual, [50.0, 95.0]).tolist() if len(usual) else (0.0, 0.0)
    held = 1 + np.count_nonzero(np.diff(slots))
    largest_us = int(spacing_us.max(initial=0))
    share = held / (int(slots[-1]) + 1)
    return SlotCoverage(share, median_us / 1e3, high_us / 1e3, largest_us / 1e6, int(np.count_nonzero(is_gap(spacing_us))))


def parts(sent_us: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the parts between the gaps of probes sent at `sent_us` (n,): first slot and end slot of each, int64 (parts, 2)."""
    cuts = np.flatnonzero(is_gap(np.diff(sent_us)))
    first, last = np.append(0, cuts + 1), np.append(cuts, len(sent_us) - 1)
    return np.stack([sent_us[first] // SLOT_US, sent_us[last] // SLOT_US + 1], axis=1)


def usual_us(sent_us: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the times between neighbouring probes sent at `sent_us` (n,) that are no gaps."""
    spacing_us = np.diff(sent_us)
    return spacing_us[~is_gap(spacing_us)]


def is_gap(spacing_us: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return True for each time between neighbouring probes that is a gap."""
    return spacing_us >= GAP_S * 1e6
