"""Knowledge of a sender from what has come back: losses, and the newest delay of each path.

Losses are exponential averages over its packets, or receiver reports of each second. A gap before a new packet counts as missing. A packet
that comes after all is missing no longer, but overtaken. Receiver reports count as those of RTP do (RFC 3550, appendix A.3): packets
received against packets expected.

The expected delay of a path is h + (newest - h) 2^-(age / 2 s), with the historical mean h; the same form and half life as the default of
the router `vcgym.baselines.path.greedy`. So copies go where a router would go next.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.path.history import imputed_means
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.record import record

SECOND_US = 1_000_000
HALF_LIFE_US = 2_000_000.0
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


@record
class SeenPath:
    usual_ms: float = 0.0  # h
    newest_ms: float = 0.0
    sent_us: int = -1  # of the newest; -1: nothing seen


@allocating_kernel
def start_seen_paths(seen, start):
    """Begin with the means of the history; `seen` (paths,) of SeenPath is updated, `start` is a PathHistory."""
    mean_ms = imputed_means(start)
    for path in range(seen.size):
        seen[path].usual_ms = mean_ms[path]
        seen[path].newest_ms = mean_ms[path]


@kernel
def see_path(seen, record):
    """Take a record in, of whatever kind; an older one than the newest of its path changes nothing."""
    of_path = seen[record.path]
    if record.sent_us > of_path.sent_us:
        of_path.sent_us = record.sent_us
        of_path.newest_ms = (record.arrived_us - record.sent_us) / 1000.0


@kernel
def expected_ms(seen, path, now_us):
    """Return the expected delay of a path, float64 ms."""
    of_path = seen[path]
    age_us = now_us - max(of_path.sent_us, 0)
    return of_path.usual_ms + (of_path.newest_ms - of_path.usual_ms) * math.exp(-math.log(2.0) * age_us / HALF_LIFE_US)


@kernel
def fastest_other(seen, now_us, path, other):
    """Return the path with the smallest expected delay that is neither of two, int64; -1 if there is none.

    Args:
        seen: (paths,) of SeenPath; read only.
        now_us: int64, current time.
        path: int64, a path.
        other: int64, another path, or -1.
    """
    best, best_ms = np.int64(-1), math.inf
    for candidate in range(seen.size):
        if candidate not in (path, other):
            candidate_ms = expected_ms(seen, candidate, now_us)
            if candidate_ms < best_ms:
                best, best_ms = np.int64(candidate), candidate_ms
    return best
