"""Top-k: which paths a router decides among. Stage 2 of Via (Jiang et al., SIGCOMM 2016), which VCRoute (arXiv 2310.05054) takes over.

    INTERVAL    the smallest set such that every path outside it has a lower confidence bound above the largest upper bound inside it (Via)
    BEST_FIVE   the five paths of the lowest historical mean; ours, for histories so long that intervals leave one path
    PUBLISHED   the paths whose upper bound is at most the mean upper bound, as in the code published with VCRoute

Bounds are mean -+ 1.96 sd / sqrt(n), of the history from before the call. A path of fewer than two samples has infinite bounds: it stays in
both sets made of bounds, and counts for no mean bound. One without any has, for its mean, the median of the others' (`history.py`).

With `refresh_s` the set is chosen anew every so many seconds of the call: then the history of each path of which at least two packets or
probes have reached the rule's location since the last time is replaced by their n, mean and sample standard deviation; the others' stays.
(Via does so once a day.)
"""

import enum
import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.routers.history import imputed_means
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds

CONFIDENCE_Z = 1.96  # two-sided 95 %


class Choice(enum.IntEnum):
    """Selection of the set of paths."""

    INTERVAL = 0
    BEST_FIVE = 1
    PUBLISHED = 2


class TopK(NamedTuple):
    """Parameters."""

    choice: Choice = Choice.INTERVAL
    refresh_s: float = 0.0  # 0: the set is chosen once, before the call


# What a router keeps of this among its own records: one of KEPT per session, one of KEPT_PATH per session and path.
KEPT = np.dtype((np.record, [("count", "i8"), ("refresh_us", "i8")]))  # paths kept; time of the next choice
KEPT_PATH = np.dtype(
    (
        np.record,
        [
            ("nth", "i8"),  # in row i stands the i-th of the kept paths
            ("chosen", "i8"),  # 1: this path is kept
            ("mean_ms", "f8"),
            ("low_ms", "f8"),
            ("high_ms", "f8"),
            ("seen", "i8"),  # since the last choice
            ("seen_mean_ms", "f8"),
            ("seen_squares_ms2", "f8"),
        ],
    )
)


def require_top_k(params: TopK) -> None:
    """Refuse parameters outside their ranges."""
    require_within(params, refresh_s=(0.0, 1e6))


@allocating_kernel
def start_kept(params, kept, arms, s, start):
    """Choose for row `s` from the history of before the call.

    Args:
        params: TopK.
        kept: KEPT of the session.
        arms: (sessions, paths) records with a field `kept` of KEPT_PATH.
        s: the row that is written.
        start: PathHistory.
    """
    mean_ms = imputed_means(start)
    for path in range(start.mean_ms.size):
        bound(arms[s, path].kept, start.samples[path], mean_ms[path], start.sd_ms[path])
    choose(params, kept, arms, s)
    kept.refresh_us = microseconds(1000.0 * params.refresh_s)


@kernel
def has_converged(params, kept):
    """Return True if one path is left and will stay the only one, so that nothing learnt can matter."""
    return kept.count == 1 and params.refresh_s == 0.0


@kernel
def watch(params, arm, delay_ms):
    """Let the next choice know of a delay of a path (running mean and squares: Welford, Technometrics 4, 1962)."""
    if params.refresh_s > 0.0:
        before_ms = delay_ms - arm.seen_mean_ms
        arm.seen += 1
        arm.seen_mean_ms += before_ms / arm.seen
        arm.seen_squares_ms2 += before_ms * (delay_ms - arm.seen_mean_ms)


@kernel
def refresh(params, kept, arms, s, now_us):
    """Choose anew if it is time; return True if it was."""
    if params.refresh_s == 0.0 or now_us < kept.refresh_us:
        return False
    for path in range(arms.shape[1]):
        arm = arms[s, path].kept
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
    """Give a path the mean and the bounds of a history, and nothing seen since."""
    half_ms = CONFIDENCE_Z * sd_ms / math.sqrt(samples) if samples >= 2 else math.inf
    arm.mean_ms = mean_ms
    arm.low_ms = mean_ms - half_ms
    arm.high_ms = mean_ms + half_ms
    _forget_seen(arm)


@kernel
def choose(params, kept, arms, s):
    """Choose by the means and bounds that the paths have."""
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
    """Choose, from the path of the lowest bound on, all that overlap with one chosen, until none is left that does."""
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
    mean_ms = mean_bound(arms, s, 0)
    for path in range(arms.shape[1]):
        high_ms = arms[s, path].kept.high_ms
        if high_ms <= mean_ms or high_ms == math.inf:
            arms[s, path].kept.chosen = 1


@kernel
def mean_bound(arms, s, min_chosen):
    """Return the mean of the finite upper bounds (ms) of the paths whose `chosen` is at least `min_chosen`; 0 where none is finite."""
    total_ms, bounded = 0.0, 0
    for path in range(arms.shape[1]):
        arm = arms[s, path].kept
        if arm.chosen >= min_chosen and arm.high_ms < math.inf:
            total_ms += arm.high_ms
            bounded += 1
    return total_ms / max(1, bounded)
