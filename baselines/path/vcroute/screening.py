"""Screening of many normal draws: finds the few that may be below a limit without computing the others.

Comparing the random bits of all paths with their bounds (`draws.py`) is vectorised and costs a fraction of a nanosecond per path. Only the
paths that pass are drawn. If none of these is below the limit, every path is drawn, so the limit affects the cost of a decision but never
its result. The limit is the largest recent winning draw: few paths pass, and nearly every decision has a winner among them.
"""

import math
from typing import Any

import numpy as np

from vcgym.baselines.declared import Rows
from vcgym.baselines.path.draws import draw_below, upper_bound
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record
from vcgym.network.kernels.rng import bits64

MANY = 32  # number of paths from which screening pays
TOGETHER = 8  # paths checked at once: a word of `passes`
_MIN_SLOTS, _MAX_SLOTS = 16, 256  # interval between limits


@record
class ScreenLimit:
    limit_ms: float = math.inf
    highest_ms: float = math.inf  # largest winning draw since the limit was set
    next_slot: int = 0  # slot of the next limit


def _screened(params: Any, paths: int) -> int:
    """Return the paths of a screening, rounded up to TOGETHER; 0 below MANY."""
    return -(-paths // TOGETHER) * TOGETHER if paths >= MANY else 0


UPPER, PASSES = Rows(np.uint64, _screened), Rows(np.uint8, _screened)
"""Parts of a state by path: upper bound on its random bits, and 1 if its draw in this slot may be below the limit."""


@kernel
def _renew_limit(screen_limit, slot):
    """Renew the limit if due (more often at first); return True if renewed, so that the caller renews all upper bounds."""
    if slot < screen_limit.next_slot:
        return False
    screen_limit.limit_ms, screen_limit.highest_ms = screen_limit.highest_ms, -math.inf
    screen_limit.next_slot = slot + min(max(slot, _MIN_SLOTS), _MAX_SLOTS)
    return True


@kernel
def _screen(upper, passes, key, counter):
    """Mark in `passes` the paths whose draw may be below the limit; `counter` is the number of the draw of path 0."""
    for path in range(upper.size):
        passes[path] = 1 if bits64(key, counter + path) <= upper[path] else 0


@kernel
def lowest_draw(call, arms, shortlist, upper, passes, slot):
    """Return the candidate of `shortlist` with the smallest draw in `slot`, the lowest path on ties.

    `upper` and `passes` are work space of `_lowest_of_many`, empty for none.
    """
    candidates = shortlist[: call.candidates.count]
    if upper.size > 0 and candidates.size >= MANY:
        return _lowest_of_many(call, arms, candidates, upper, passes, slot)
    return _lowest_of_all(call, arms, candidates, slot)[0]


@kernel
def _lowest_of_all(call, arms, shortlist, slot):
    best, best_ms = np.int64(-1), math.inf
    for path in shortlist:
        draw_ms = draw_below(best_ms, arms[path].mu_ms, arms[path].sd_ms, call.key, slot * arms.size + path)
        if draw_ms < best_ms:
            best, best_ms = path, draw_ms
    return best, best_ms


@kernel
def _lowest_of_many(call, arms, shortlist, upper, passes, slot):
    if _renew_limit(call.screen_limit, slot):
        _renew_upper_bounds(call, arms, upper)
    best, best_ms = _lowest_passing(call, arms, upper, passes, slot * arms.size)
    if best < 0:
        # Every draw is above the limit: draw all, and take this winner as the limit, since the old one has become too low.
        best, best_ms = _lowest_of_all(call, arms, shortlist, slot)
        call.screen_limit.limit_ms = best_ms
        _renew_upper_bounds(call, arms, upper)
    call.screen_limit.highest_ms = max(call.screen_limit.highest_ms, best_ms)
    return best


@kernel
def _renew_upper_bounds(call, arms, upper):
    for path in range(arms.size):
        upper[path] = upper_bound(call.screen_limit.limit_ms, arms[path].mu_ms, arms[path].sd_ms)


@kernel
def _lowest_passing(call, arms, upper, passes, counter):
    """Return the candidate with the smallest draw below the limit, and that draw; -1 if there is none."""
    best, best_ms = -1, call.screen_limit.limit_ms
    _screen(upper, passes, call.key, counter)
    words = passes.view(np.uint64)
    for word in range(words.size):
        # Few paths pass, so most words are 0 and eight paths are skipped at once.
        if words[word] != 0:
            for path in range(word * TOGETHER, min((word + 1) * TOGETHER, arms.size)):
                if passes[path] == 1:
                    draw_ms = draw_below(best_ms, arms[path].mu_ms, arms[path].sd_ms, call.key, counter + path)
                    if draw_ms < best_ms and arms[path].bounds.chosen == 1:
                        best, best_ms = path, draw_ms
    return best, best_ms
