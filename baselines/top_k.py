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
from numpy.typing import NDArray

from vcgym.baselines.history import bounds, usual_means
from vcgym.baselines.ranges import require_within
from vcgym.network.jit import kernel

INTERVAL, BEST_FIVE, PUBLISHED = 0, 1, 2


class TopK(NamedTuple):
    """Parameters."""

    choice: int = INTERVAL
    refresh_s: float = 0.0  # 0: the set is chosen once, before the call
    packet_ms: float = 10.0  # from one slot to the next


KEPT = np.dtype((np.record, [("count", "i8"), ("refresh_slot", "i8")]))
WINDOW = np.dtype((np.record, [("n", "i8"), ("mean_ms", "f8"), ("squares_ms2", "f8")]))


class Kept(NamedTuple):
    """Paths kept, and what the next choice will rest on. The first axis is the session."""

    now: np.recarray  # (sessions,) of KEPT: number of paths kept, slot of the next choice
    path: NDArray[np.int32]  # (sessions, paths): the kept ones first, in order
    history: NDArray[np.float64]  # (sessions, paths, 3), or no paths without refresh
    window: np.recarray  # (sessions, paths) of WINDOW, what has come since the last choice, or no paths without refresh


def allocate_kept(params: TopK, sessions: int, paths: int) -> Kept:
    """Rows to be started by `start_kept`."""
    require_within(params, choice=(INTERVAL, PUBLISHED), refresh_s=(0.0, 1e6), packet_ms=(0.1, 1000.0))
    renewed = paths if params.refresh_s > 0.0 else 0
    return Kept(
        np.zeros(sessions, KEPT).view(np.recarray),
        np.zeros((sessions, paths), np.int32),
        np.zeros((sessions, renewed, 3)),
        np.zeros((sessions, renewed), WINDOW).view(np.recarray),
    )


@kernel
def start_kept(params, kept, s, history):
    """Choose for row `s` from the history (paths, 3) of before the call."""
    _choose(params, kept, s, history)
    if params.refresh_s > 0.0:
        kept.now[s].refresh_slot = _slots(params)
        for path in range(history.shape[0]):
            for column in range(3):
                kept.history[s, path, column] = history[path, column]
            _clear(kept.window[s, path])


@kernel
def is_settled(params, kept, s):
    """Whether one path is left and will stay the only one, so that nothing learnt can matter."""
    return kept.now[s].count == 1 and params.refresh_s == 0.0


@kernel
def watch(params, kept, s, record):
    """Let the next choice know of a record (running mean and squares: Welford, Technometrics 4, 1962)."""
    if params.refresh_s > 0.0:
        window = kept.window[s, record.path]
        delay_ms = (record.arrived_us - record.sent_us) / 1000.0
        before_ms = delay_ms - window.mean_ms
        window.n += 1
        window.mean_ms += before_ms / window.n
        window.squares_ms2 += before_ms * (delay_ms - window.mean_ms)


@kernel
def refresh(params, kept, s, slot):
    """Choose anew if it is time; whether it was."""
    if params.refresh_s == 0.0 or slot < kept.now[s].refresh_slot:
        return False
    for path in range(kept.window.shape[1]):
        window = kept.window[s, path]
        if window.n >= 2:
            kept.history[s, path, 0] = window.n
            kept.history[s, path, 1] = window.mean_ms
            kept.history[s, path, 2] = math.sqrt(window.squares_ms2 / (window.n - 1))
        _clear(window)
    _choose(params, kept, s, kept.history[s])
    kept.now[s].refresh_slot = slot + _slots(params)
    return True


@kernel
def _slots(params):
    return max(1, int(math.ceil(1000.0 * params.refresh_s / params.packet_ms)))


@kernel
def _clear(window):
    window.n = 0
    window.mean_ms = 0.0
    window.squares_ms2 = 0.0


@kernel
def _choose(params, kept, s, history):
    low_ms, high_ms = bounds(history)
    if params.choice == BEST_FIVE:
        chosen = best_five(usual_means(history))
    elif params.choice == PUBLISHED:
        chosen = below_mean_bound(high_ms)
    else:
        chosen = overlapping(low_ms, high_ms)
    count = 0
    for path in range(chosen.size):
        if chosen[path]:
            kept.path[s, count] = path
            count += 1
    kept.now[s].count = count


@kernel
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


@kernel
def best_five(mean_ms):
    """BEST_FIVE: (paths,) bool, from means (paths,) in ms; of equal ones the lower paths."""
    chosen = np.zeros(mean_ms.size, np.bool_)
    chosen[np.argsort(mean_ms, kind="mergesort")[:5]] = True
    return chosen


@kernel
def below_mean_bound(high_ms):
    """PUBLISHED: (paths,) bool, from upper bounds (paths,) in ms."""
    finite = high_ms[high_ms < math.inf]
    mean_ms = finite.mean() if finite.size > 0 else math.inf
    return (high_ms <= mean_ms) | (high_ms == math.inf)
