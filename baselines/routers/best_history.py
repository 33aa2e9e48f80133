"""Best history: the path that was fastest on average before the call, for the whole call. Routing without any feedback."""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import allocate, decide, implements, init, learns_nothing


class BestHistory(NamedTuple):
    """No parameters."""


class BestHistoryState(NamedTuple):
    """Arrays (sessions,), int64."""

    path: np.ndarray


learns_nothing(BestHistory)


@implements(allocate, BestHistory)
def _allocate(params, sessions, paths):
    return BestHistoryState(np.zeros(sessions, np.int64))


@implements(init, BestHistory)
def _init(params, state, s, history, key):
    # A path without history is never taken before one with; without any history at all the direct path stays.
    best_ms = np.inf
    state.path[s] = 0
    for path in range(history.shape[0]):
        if history[path, 0] > 0 and history[path, 1] < best_ms:
            best_ms = history[path, 1]
            state.path[s] = path


@implements(decide, BestHistory)
def _decide(params, state, s, slot):
    return state.path[s]
