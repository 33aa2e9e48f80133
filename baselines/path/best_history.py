"""Best history: for the whole call, the path that was fastest on average before the call. Routing without feedback."""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, allocate, decide, init, rule


@rule(Control.PATH, learns=False)
class BestHistory(NamedTuple):
    """Rule without parameters."""


class BestHistoryState(NamedTuple):
    """Arrays (sessions,), int64."""

    path: np.ndarray


@allocate.register(BestHistory)
def _allocate(params, sessions, paths):
    return BestHistoryState(np.zeros(sessions, np.int64))


@init.register(BestHistory)
def _init(params, state, s, start, key):
    # A path without history is never preferred to one with history; without any history the direct path is used.
    best_ms = np.inf
    state.path[s] = 0
    for path in range(start.mean_ms.size):
        if start.samples[path] > 0 and start.mean_ms[path] < best_ms:
            best_ms = start.mean_ms[path]
            state.path[s] = path


@decide.register(BestHistory)
def _decide(params, state, s, now_us):
    return state.path[s]
