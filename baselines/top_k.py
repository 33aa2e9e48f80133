"""Top-k: which paths a router decides among. Stage 2 of Via (Jiang et al., SIGCOMM 2016), which VCRoute (arXiv 2310.05054) takes over.

    INTERVAL    the smallest set such that every path outside it has a lower confidence bound above the largest upper bound inside it (Via)
    BEST_FIVE   the five paths of the lowest historical mean; ours, for histories so long that intervals leave one path
    PUBLISHED   the paths whose upper bound is at most the mean upper bound, as in the code published with VCRoute

Bounds and means are those of `history.py`. A path of unknown bounds stays in both sets made of bounds; it counts for no mean bound.

The history is that from before the call. With `refresh_s` the set is chosen anew every so many seconds of the call: then the row of each
path of which at least two packets or probes have reached the rule's place since the last time is replaced by their n, mean and sample
standard deviation; the other rows stay. (Via does so once a day.)
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.history import bounds, usual_means
from vcgym.baselines.ranges import require_within
from vcgym.network.jit import allocating_kernel, kernel

INTERVAL, BEST_FIVE, PUBLISHED = 0, 1, 2


class TopK(NamedTuple):
    """Parameters."""

    choice: int = INTERVAL
    refresh_s: float = 0.0  # 0: the set is chosen once, before the call
    packet_ms: float = 10.0  # from one slot to the next


# What a router keeps of this among its own records: one of KEPT per session, one of KEPT_PATH per session and path.
KEPT = np.dtype((np.record, [("count", "i8"), ("refresh_slot", "i8")]))  # paths kept; slot of the next choice
KEPT_PATH = np.dtype(
    (
        np.record,
        [
            ("nth", "i8"),  # in row i stands the i-th of the kept paths
            ("samples", "i8"),  # the path's history
            ("mean_ms", "f8"),
            ("sd_ms", "f8"),
            ("seen", "i8"),  # since the last choice
            ("seen_mean_ms", "f8"),
            ("seen_squares_ms2", "f8"),
        ],
    )
)


def require_top_k(params: TopK) -> None:
    """Refuse parameters outside their ranges."""
    require_within(params, choice=(INTERVAL, PUBLISHED), refresh_s=(0.0, 1e6), packet_ms=(0.1, 1000.0))


@allocating_kernel
def start_kept(params, kept, arms, s, history):
    """Choose for row `s` from the history of before the call.

    Args:
        params: TopK.
        kept: KEPT of the session.
        arms: (sessions, paths) records with a field `kept` of KEPT_PATH.
        s: the row that is written.
        history: (paths, 3).
    """
    for path in range(history.shape[0]):
        mine = arms[s, path].kept
        mine.samples = history[path, 0]
        mine.mean_ms = history[path, 1]
        mine.sd_ms = history[path, 2]
        _forget_seen(mine)
    kept.refresh_slot = _slots(params)
    _choose(params, kept, arms, s, history)


@kernel
def is_settled(params, kept):
    """Whether one path is left and will stay the only one, so that nothing learnt can matter."""
    return kept.count == 1 and params.refresh_s == 0.0


@kernel
def watch(params, mine, delay_ms):
    """Let the next choice know of a delay of a path (running mean and squares: Welford, Technometrics 4, 1962)."""
    if params.refresh_s > 0.0:
        before_ms = delay_ms - mine.seen_mean_ms
        mine.seen += 1
        mine.seen_mean_ms += before_ms / mine.seen
        mine.seen_squares_ms2 += before_ms * (delay_ms - mine.seen_mean_ms)


@kernel
def is_due(params, kept, slot):
    """Whether it is time to choose anew."""
    return params.refresh_s > 0.0 and slot >= kept.refresh_slot


@allocating_kernel
def refresh(params, kept, arms, s, slot):
    """Choose anew; returns the history (paths, 3) that the choice rests on."""
    history = np.empty((arms.shape[1], 3))
    for path in range(arms.shape[1]):
        mine = arms[s, path].kept
        if mine.seen >= 2:
            mine.samples = mine.seen
            mine.mean_ms = mine.seen_mean_ms
            mine.sd_ms = math.sqrt(mine.seen_squares_ms2 / (mine.seen - 1))
        _forget_seen(mine)
        history[path, 0] = mine.samples
        history[path, 1] = mine.mean_ms
        history[path, 2] = mine.sd_ms
    _choose(params, kept, arms, s, history)
    kept.refresh_slot = slot + _slots(params)
    return history


@allocating_kernel
def renew(params, kept, arms, s, slot):
    """As `refresh`, where the history is of no further use."""
    refresh(params, kept, arms, s, slot)


@kernel
def _slots(params):
    return max(1, int(math.ceil(1000.0 * params.refresh_s / params.packet_ms)))


@kernel
def _forget_seen(mine):
    mine.seen = 0
    mine.seen_mean_ms = 0.0
    mine.seen_squares_ms2 = 0.0


@allocating_kernel
def _choose(params, kept, arms, s, history):
    low_ms, high_ms = bounds(history)
    if params.choice == BEST_FIVE:
        chosen = best_five(usual_means(history))
    elif params.choice == PUBLISHED:
        chosen = below_mean_bound(high_ms)
    else:
        chosen = overlapping(low_ms, high_ms)
    kept.count = 0
    for path in range(chosen.size):
        if chosen[path]:
            arms[s, kept.count].kept.nth = path
            kept.count += 1


@allocating_kernel
def overlapping(low_ms, high_ms):
    """INTERVAL: (paths,) bool, from lower and upper bounds (paths,) in ms."""
    chosen = np.zeros(low_ms.size, np.bool_)
    order = np.argsort(low_ms)
    largest_ms = high_ms[order[0]]
    for path in order:
        if low_ms[path] > largest_ms:
            break
        chosen[path] = True
        largest_ms = max(largest_ms, high_ms[path])
    return chosen


@allocating_kernel
def best_five(mean_ms):
    """BEST_FIVE: (paths,) bool, from means (paths,) in ms; of equal ones the lower paths."""
    chosen = np.zeros(mean_ms.size, np.bool_)
    chosen[np.argsort(mean_ms, kind="mergesort")[:5]] = True
    return chosen


@allocating_kernel
def below_mean_bound(high_ms):
    """PUBLISHED: (paths,) bool, from upper bounds (paths,) in ms."""
    finite = high_ms[high_ms < math.inf]
    mean_ms = finite.mean() if finite.size > 0 else math.inf
    return (high_ms <= mean_ms) | (high_ms == math.inf)
