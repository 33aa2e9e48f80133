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
from typing import Annotated, NamedTuple

from vcgym.baselines.path.history import imputed_means
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.record import record
from vcgym.network.kernels.slots import microseconds

CONFIDENCE_Z = 1.96  # two-sided 95 %


class Choice(enum.IntEnum):
    """Criterion for candidate paths."""

    INTERVAL = 0
    BEST_FIVE = 1
    PUBLISHED = 2


class TopK(NamedTuple):
    choice: Choice = Choice.INTERVAL
    refresh_s: Annotated[float, (0.0, 1e6)] = 0.0  # 0: chosen once, before the call


@record
class Candidates:
    """State of a call; a router keeps with it the indices of the candidates, `shortlist`, (paths,) int64."""

    count: int = 0
    refresh_us: int = 0  # time of the next choice


@record
class Bounds:
    """State of a path: field `bounds` of its record in a router."""

    chosen: int = 0  # 1: a candidate
    mean_ms: float = 0.0
    low_ms: float = 0.0
    high_ms: float = 0.0
    seen: int = 0  # delays since the last choice
    seen_mean_ms: float = 0.0
    seen_squares_ms2: float = 0.0


@allocating_kernel
def start_candidates(params, candidates, arms, shortlist, start):
    """Choose the paths from the history before the call.

    Args:
        params: TopK.
        candidates: Candidates, updated.
        arms: (paths,) records with a field `bounds` of Bounds, updated.
        shortlist: int64 (paths,), updated.
        start: PathHistory.
    """
    mean_ms = imputed_means(start)
    for path in range(arms.size):
        _bound(arms[path].bounds, start.samples[path], mean_ms[path], start.sd_ms[path])
    choose(params, candidates, arms, shortlist)
    candidates.refresh_us = microseconds(1000.0 * params.refresh_s)


@kernel
def has_converged(params, candidates):
    """Return True if only one candidate path remains for the rest of the call, so that learning cannot matter."""
    return candidates.count == 1 and params.refresh_s == 0.0


@kernel
def watch(params, bounds, delay_ms):
    """Add a path's delay to the statistics for the next choice (running mean and squares: Welford, Technometrics 4, 1962)."""
    if params.refresh_s > 0.0:
        before_ms = delay_ms - bounds.seen_mean_ms
        bounds.seen += 1
        bounds.seen_mean_ms += before_ms / bounds.seen
        bounds.seen_squares_ms2 += before_ms * (delay_ms - bounds.seen_mean_ms)


@kernel
def refresh(params, candidates, arms, shortlist, now_us):
    """Choose again if due; return True if the paths were chosen.

    Args:
        params: TopK.
        candidates: Candidates, updated.
        arms: (paths,) records with a field `bounds` of Bounds, updated.
        shortlist: int64 (paths,), updated.
        now_us: int64, current time.
    """
    if params.refresh_s == 0.0 or now_us < candidates.refresh_us:
        return False
    for path in range(arms.size):
        bounds = arms[path].bounds
        # A path with fewer new delays keeps its bounds, since they have no deviation.
        if bounds.seen >= 2:
            _bound(bounds, bounds.seen, bounds.seen_mean_ms, math.sqrt(bounds.seen_squares_ms2 / (bounds.seen - 1)))
        bounds.seen = 0
        bounds.seen_mean_ms = 0.0
        bounds.seen_squares_ms2 = 0.0
    choose(params, candidates, arms, shortlist)
    candidates.refresh_us = now_us + microseconds(1000.0 * params.refresh_s)
    return True


@kernel
def _bound(bounds, samples, mean_ms, sd_ms):
    """Set a path's mean and bounds from a history."""
    half_ms = CONFIDENCE_Z * sd_ms / math.sqrt(samples) if samples >= 2 else math.inf
    bounds.mean_ms = mean_ms
    bounds.low_ms = mean_ms - half_ms
    bounds.high_ms = mean_ms + half_ms


@kernel
def choose(params, candidates, arms, shortlist):
    """Choose by the current means and bounds of the paths.

    Args:
        params: TopK.
        candidates: Candidates; `count` is updated.
        arms: (paths,) records with a field `bounds` of Bounds; `chosen` is updated.
        shortlist: int64 (paths,); its first `count` become the candidates, in order.
    """
    for path in range(arms.size):
        arms[path].bounds.chosen = 0
    if params.choice == Choice.BEST_FIVE:
        _choose_best_five(arms)
    elif params.choice == Choice.PUBLISHED:
        _choose_below_mean_bound(arms)
    else:
        _choose_overlapping(arms)
    candidates.count = 0
    for path in range(arms.size):
        if arms[path].bounds.chosen == 1:
            shortlist[candidates.count] = path
            candidates.count += 1


@kernel
def _choose_overlapping(arms):
    """Choose the path with the lowest bound, then repeatedly every path that overlaps with a chosen one."""
    lowest = 0
    for path in range(arms.size):
        if arms[path].bounds.low_ms < arms[lowest].bounds.low_ms:
            lowest = path
    largest_ms, grew = arms[lowest].bounds.high_ms, True
    while grew:
        grew = False
        for path in range(arms.size):
            bounds = arms[path].bounds
            if bounds.chosen == 0 and bounds.low_ms <= largest_ms:
                bounds.chosen = 1
                largest_ms = max(largest_ms, bounds.high_ms)
                grew = True


@kernel
def _choose_best_five(arms):
    for _ in range(min(5, arms.size)):
        best = -1
        for path in range(arms.size):
            bounds = arms[path].bounds
            if bounds.chosen == 0 and (best < 0 or bounds.mean_ms < arms[best].bounds.mean_ms):
                best = path
        arms[best].bounds.chosen = 1


@kernel
def _choose_below_mean_bound(arms):
    lowest_ms = math.inf
    for path in range(arms.size):
        lowest_ms = min(lowest_ms, arms[path].bounds.high_ms)
    # Rounding may put the mean of equal bounds below each of them: ten times 0.1 has the mean 0.09999999999999999.
    limit_ms = max(mean_bound(arms, 0), lowest_ms)
    for path in range(arms.size):
        high_ms = arms[path].bounds.high_ms
        # An infinite bound means too little history to rule the path out.
        if high_ms <= limit_ms or high_ms == math.inf:
            arms[path].bounds.chosen = 1


@kernel
def mean_bound(arms, min_chosen):
    """Return the mean of the finite upper bounds (ms) of the paths with `chosen` at least `min_chosen`; 0 if none is finite."""
    total_ms, bounded = 0.0, 0
    for path in range(arms.size):
        bounds = arms[path].bounds
        if bounds.chosen >= min_chosen and bounds.high_ms < math.inf:
            total_ms += bounds.high_ms
            bounded += 1
    return total_ms / max(1, bounded)
