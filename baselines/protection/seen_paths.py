"""The newest delay of each path that a sender has seen, and its relaxation to the path's mean as it ages.

The expected delay of a path is h + (newest - h) 2^-(age / 2 s), with the historical mean h; the same form and half life as the default of
the router `vcgym.baselines.path.greedy`. So copies go where a router would go next.
"""

import math

import numpy as np

from vcgym.baselines.path.history import imputed_means
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.record import record

HALF_LIFE_US = 2_000_000.0


@record
class SeenPath:
    """State of a path."""

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
