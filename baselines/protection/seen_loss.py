"""The losses that a sender has seen, by what has come back: exponential averages over its packets, or receiver reports of each second.

A gap before a new packet counts as missing. A packet that comes after all is missing no longer, but overtaken. Receiver reports count as
those of RTP do (RFC 3550, appendix A.3): packets received against packets expected.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

SECOND_US = 1_000_000
_SECONDS = 16


@record
class SeenLoss:
    """Averages over packets."""

    newest: int = -1  # largest packet number reported
    missing: float = 0.0  # share of packets
    overtaken: float = 0.0


@kernel
def see_loss(seen, packet, gain):
    """Take in that a packet has arrived by its own transmission.

    Args:
        seen: SeenLoss, updated.
        packet: int64, its number.
        gain: float64, weight of the newest packet in the averages, 0 to 1.
    """
    if packet < seen.newest:
        seen.missing -= gain
        seen.overtaken += gain
        return
    passed = packet - seen.newest
    fading = (1.0 - gain) ** passed
    seen.missing = seen.missing * fading + gain * (passed - 1)
    seen.overtaken *= fading
    seen.newest = packet


@record
class Reports:
    """Receiver reports of the last seconds."""

    newest: int = -1  # largest packet number received
    received: int = 0  # packets
    second: int = 0  # seconds sampled
    newest_then: NDArray[np.int64] = np.full(_SECONDS, -1)  # by second modulo 16
    received_then: NDArray[np.int64] = np.zeros(_SECONDS, np.int64)


@kernel
def count_arrival(reports, packet):
    """Take in that a packet has arrived by its own transmission."""
    reports.newest = max(reports.newest, packet)
    reports.received += 1


@kernel
def reported_loss(reports, seconds):
    """Return the loss of the last so many seconds, float64, at the end of a second that is not sampled yet; at least 0."""
    then = (reports.second + 1 - min(seconds, reports.second + 1)) % _SECONDS
    expected = reports.newest - reports.newest_then[then]
    return max(0.0, 1.0 - (reports.received - reports.received_then[then]) / expected) if expected > 0 else 0.0


@kernel
def end_second(reports):
    """Sample a second."""
    reports.second += 1
    reports.newest_then[reports.second % _SECONDS] = reports.newest
    reports.received_then[reports.second % _SECONDS] = reports.received
