"""Round robin: the paths in turn, one step per decision (not per slot, so that a coarse clock still visits every path)."""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import allocate, decide, implements, init, learns_nothing


class RoundRobin(NamedTuple):
    """No parameters."""


class RoundRobinState(NamedTuple):
    """Arrays (sessions,), int64."""

    turn: np.ndarray
    paths: np.ndarray


learns_nothing(RoundRobin)


@implements(allocate, RoundRobin)
def _allocate(params, sessions, paths):
    return RoundRobinState(np.zeros(sessions, np.int64), np.zeros(sessions, np.int64))


@implements(init, RoundRobin)
def _init(params, state, s, history, key):
    state.turn[s] = 0
    state.paths[s] = history.shape[0]


@implements(decide, RoundRobin)
def _decide(params, state, s, slot):
    path = state.turn[s]
    state.turn[s] = (path + 1) % state.paths[s]
    return path
