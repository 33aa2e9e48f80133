"""Top-k: the candidate paths of a router. Stage 2 of Via (Jiang et al., SIGCOMM 2016), adopted by VCRoute (arXiv 2310.05054).

    INTERVAL    the smallest set such that every path outside it has a lower confidence bound above the largest upper bound inside it (Via)
    BEST_FIVE   the five paths with the lowest historical means; ours, for histories so long that intervals leave one path
    PUBLISHED   the paths whose upper bound is at most the mean upper bound, as in the code published with VCRoute

Bounds are mean -+ 1.96 sd / sqrt(n) of the history before the call. A path with fewer than two samples has infinite bounds: INTERVAL and
PUBLISHED keep it, and the mean bound excludes it. The mean of a path without samples is the median of the others (`history.py`).

With `refresh_s` the set is chosen again every `refresh_s` seconds of the call. If at least two packets or probes of a path have reached the
rule's location since the last choice, their n, mean and sample standard deviation replace the path's history. (Via refreshes once a day.)
"""

import enum
import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.path.history import imputed_means
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds

CONFIDENCE_Z = 1.96  # two-sided 95 %


class Choice(enum.IntEnum):
    """Criterion for candidate paths."""

    INTERVAL = 0
    BEST_FIVE = 1
    PUBLISHED = 2


class TopK(NamedTuple):
    """Parameters."""

    choice: Choice = Choice.INTERVAL
    refresh_s: float = 0.0  # 0: chosen once, before the call


# A router's state contains one KEPT per session and one KEPT_PATH per session and path.
KEPT = np.dtype((np.record, [("count", "i8"), ("refresh_us", "i8")]))  # number of kept paths; time of the next choice
KEPT_PATH = np.dtype(
    (
        np.record,
        [
            ("nth", "i8"),  # row i contains the i-th kept path
            ("chosen", "i8"),  # 1: this path is kept
            ("mean_ms", "f8"),
            ("low_ms", "f8"),
            ("high_ms", "f8"),
            ("seen", "i8"),  # delays since the last choice
            ("seen_mean_ms", "f8"),
            ("seen_squares_ms2", "f8"),
        ],
    )
)


def require_top_k(params: TopK) -> None:
    """Reject parameters outside their ranges."""
    require_within(params, refresh_s=(0.0, 1e6))


@allocating_kernel
def start_kept(params, kept, arms, s, start):
    """Choose the paths of row `s` from the history before the call.

    Args:
        params: TopK.
        kept: KEPT of the session.
        arms: (sessions, paths) records with a field `kept` of KEPT_PATH.
        s: row.
        start: PathHistory.
    """
    mean_ms = imputed_means(start)
    for path in range(start.mean_ms.size):
        bound(arms[s, path].kept, start.samples[path], mean_ms[path], start.sd_ms[path])
    choose(params, kept, arms, s)
    kept.refresh_us = microseconds(1000.0 * params.refresh_s)


@kernel
def has_converged(params, kept):
    """Return True if only one candidate path remains for the rest of the call, so that learning cannot matter."""
    return kept.count == 1 and params.refresh_s == 0.0


@kernel
def watch(params, arm, delay_ms):
    """Add a path's delay to the statistics for the next choice (running mean and squares: Welford, Technometrics 4, 1962)."""
    if params.refresh_s > 0.0:
        before_ms = delay_ms - arm.seen_mean_ms
        arm.seen += 1
        arm.seen_mean_ms += before_ms / arm.seen
        arm.seen_squares_ms2 += before_ms * (delay_ms - arm.seen_mean_ms)


@kernel
def refresh(params, kept, arms, s, now_us):
    """Choose again if due; return True if the paths were chosen.

    Args:
        params: TopK.
        kept: record of KEPT of the session, updated.
        arms: (sessions, paths) records with a field `kept` of KEPT_PATH; row `s` is updated.
        s: int64, session.
        now_us: int64, current time.
    """
    if params.refresh_s == 0.0 or now_us < kept.refresh_us:
        return False
    for path in range(arms.shape[1]):
        arm = arms[s, path].kept
        # A path with fewer new delays keeps its bounds, since they have no deviation.
        if arm.seen >= 2:
            bound(arm, arm.seen, arm.seen_mean_ms, math.sqrt(arm.seen_squares_ms2 / (arm.seen - 1)))
        _forget_seen(arm)
    choose(params, kept, arms, s)
    kept.refresh_us = now_us + microseconds(1000.0 * params.refresh_s)
    return True


@kernel
def _forget_seen(arm):
    arm.seen = 0
    arm.seen_mean_ms = 0.0
    arm.seen_squares_ms2 = 0.0


@kernel
def bound(arm, samples, mean_ms, sd_ms):
    """Set a path's mean and bounds from a history, and clear its statistics.

    Args:
        arm: record of KEPT_PATH, updated.
        samples: number of samples; below 2 the bounds are infinite.
        mean_ms: float64, mean delay.
        sd_ms: float64, standard deviation, at least 0.
    """
    half_ms = CONFIDENCE_Z * sd_ms / math.sqrt(samples) if samples >= 2 else math.inf
    arm.mean_ms = mean_ms
    arm.low_ms = mean_ms - half_ms
    arm.high_ms = mean_ms + half_ms
    _forget_seen(arm)


@kernel
def choose(params, kept, arms, s):
    """Choose by the current means and bounds of the paths.

    Args:
        params: TopK.
        kept: record of KEPT of the session; `count` is updated.
        arms: (sessions, paths) records with a field `kept` of KEPT_PATH; `chosen` and `nth` of row `s` are updated.
        s: int64, session.
    """
    for path in range(arms.shape[1]):
        arms[s, path].kept.chosen = 0
    if params.choice == Choice.BEST_FIVE:
        _choose_best_five(arms, s)
    elif params.choice == Choice.PUBLISHED:
        _choose_below_mean_bound(arms, s)
    else:
        _choose_overlapping(arms, s)
    kept.count = 0
    for path in range(arms.shape[1]):
        if arms[s, path].kept.chosen == 1:
            arms[s, kept.count].kept.nth = path
            kept.count += 1


@kernel
def _choose_overlapping(arms, s):
    """Choose the path with the lowest bound, then repeatedly every path that overlaps with a chosen one."""
    lowest = 0
    for path in range(arms.shape[1]):
        if arms[s, path].kept.low_ms < arms[s, lowest].kept.low_ms:
            lowest = path
    largest_ms, grew = arms[s, lowest].kept.high_ms, True
    while grew:
        grew = False
        for path in range(arms.shape[1]):
            arm = arms[s, path].kept
            if arm.chosen == 0 and arm.low_ms <= largest_ms:
                arm.chosen = 1
                largest_ms = max(largest_ms, arm.high_ms)
                grew = True


@kernel
def _choose_best_five(arms, s):
    for _ in range(min(5, arms.shape[1])):
        best = -1
        for path in range(arms.shape[1]):
            arm = arms[s, path].kept
            if arm.chosen == 0 and (best < 0 or arm.mean_ms < arms[s, best].kept.mean_ms):
                best = path
        arms[s, best].kept.chosen = 1


@kernel
def _choose_below_mean_bound(arms, s):
    lowest_ms = math.inf
    for path in range(arms.shape[1]):
        lowest_ms = min(lowest_ms, arms[s, path].kept.high_ms)
    # Rounding may put the mean of equal bounds below each of them: ten times 0.1 has the mean 0.09999999999999999.
    limit_ms = max(mean_bound(arms, s, 0), lowest_ms)
    for path in range(arms.shape[1]):
        high_ms = arms[s, path].kept.high_ms
        # An infinite bound means too little history to rule the path out.
        if high_ms <= limit_ms or high_ms == math.inf:
            arms[s, path].kept.chosen = 1


@kernel
def mean_bound(arms, s, min_chosen):
    """Return the mean of the finite upper bounds (ms) of the paths with `chosen` at least `min_chosen`; 0 if none is finite."""
    total_ms, bounded = 0.0, 0
    for path in range(arms.shape[1]):
        arm = arms[s, path].kept
        if arm.chosen >= min_chosen and arm.high_ms < math.inf:
            total_ms += arm.high_ms
            bounded += 1
    return total_ms / max(1, bounded)
