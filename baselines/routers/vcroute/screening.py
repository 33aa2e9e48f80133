"""The few of many normal draws that may lie below a limit, found without working out the others.

To compare the random bits of all paths with their bars (`draws.py`), side by side, costs a fraction of a nanosecond a path. The few that
pass are then drawn. If none of these comes out below the limit, every path is drawn: so the limit changes what a decision costs and never
what is decided. It is the largest draw that has won of late, so that few paths pass and nearly every decision has one that wins.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.routers.draws import bar, draw_below
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.rng import bits64

MANY = 32  # from as many paths on bars pay
TOGETHER = 8  # paths that are looked at together: a word of `passes`
_MIN_SLOTS, _MAX_SLOTS = 16, 256  # from limit to limit

AIM = np.dtype(
    (
        np.record,
        [
            ("limit_ms", "f8"),
            ("highest_ms", "f8"),  # draw that has won since the limit was set
            ("next_slot", "i8"),  # when the limit is set anew
        ],
    )
)


class Bars(NamedTuple):
    """Bars of S sessions over their paths, rounded up to TOGETHER; over none for fewer than MANY paths."""

    bar: NDArray[np.uint64]  # (S, paths)
    passes: NDArray[np.uint8]  # (S, paths), 1: what the path draws in this slot may lie below the limit


def allocate_bars(sessions: int, paths: int) -> Bars:
    """Return bars that nothing passes."""
    shape = sessions, -(-paths // TOGETHER) * TOGETHER if paths >= MANY else 0
    return Bars(np.zeros(shape, np.uint64), np.zeros(shape, np.uint8))


@kernel
def start_aim(aim):
    """Begin without a limit."""
    aim.limit_ms = math.inf
    aim.highest_ms = math.inf
    aim.next_slot = 0


@kernel
def renew_limit(aim, slot):
    """Set the limit anew if it is time, more often in the beginning; return True if it was, so that all bars must follow."""
    if slot < aim.next_slot:
        return False
    aim.limit_ms, aim.highest_ms = aim.highest_ms, -math.inf
    aim.next_slot = slot + min(max(slot, _MIN_SLOTS), _MAX_SLOTS)
    return True


@kernel
def screen(bars, s, key, counter):
    """Find out which paths pass; their draws of stream `key` follow each other, `counter` is that of path 0."""
    bar, passes = bars.bar[s], bars.passes[s]
    for path in range(bar.size):
        passes[path] = 1 if bits64(key, counter + path) <= bar[path] else 0


@kernel
def lowest_draw(state, s, slot):
    """Return the kept path of the smallest draw, the lowest path on ties."""
    call, arms = state.call[s], state.arm
    if state.bars.bar.shape[1] > 0 and call.kept.count >= MANY:
        return _lowest_of_many(call, arms, state.bars, s, slot)
    return _lowest_of_all(call, arms, s, slot)[0]


@kernel
def _lowest_of_all(call, arms, s, slot):
    best, best_ms = -1, math.inf
    for i in range(call.kept.count):
        path = arms[s, i].kept.nth
        arm = arms[s, path]
        draw_ms = draw_below(best_ms, arm.mu_ms, arm.sd_ms, call.key, slot * arms.shape[1] + path)
        if draw_ms < best_ms:
            best, best_ms = path, draw_ms
    return best, best_ms


@kernel
def _lowest_of_many(call, arms, bars, s, slot):
    if renew_limit(call.aim, slot):
        _raise_bars(call, arms, bars, s)
    best, best_ms = _lowest_passing(call, arms, bars, s, slot * arms.shape[1])
    if best < 0:
        best, best_ms = _lowest_of_all(call, arms, s, slot)
        call.aim.limit_ms = best_ms
        _raise_bars(call, arms, bars, s)
    call.aim.highest_ms = max(call.aim.highest_ms, best_ms)
    return best


@kernel
def _raise_bars(call, arms, bars, s):
    for path in range(arms.shape[1]):
        bars.bar[s, path] = bar(call.aim.limit_ms, arms[s, path].mu_ms, arms[s, path].sd_ms)


@kernel
def _lowest_passing(call, arms, bars, s, counter):
    """Return the kept path of the smallest draw below the limit, and that draw; -1 if there is none."""
    best, best_ms = -1, call.aim.limit_ms
    screen(bars, s, call.key, counter)
    passes = bars.passes[s]
    words = passes.view(np.uint64)
    for word in range(words.size):
        if words[word] != 0:
            for path in range(word * TOGETHER, min((word + 1) * TOGETHER, arms.shape[1])):
                if passes[path] == 1:
                    draw_ms = draw_below(best_ms, arms[s, path].mu_ms, arms[s, path].sd_ms, call.key, counter + path)
                    if draw_ms < best_ms and arms[s, path].kept.chosen == 1:
                        best, best_ms = path, draw_ms
    return best, best_ms
