"""Round robin: the paths in turn, one step per decision (not per slot, so that a slow controller still visits every path)."""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, allocate, decide, init, rule


@rule(Control.PATH, learns=False)
class RoundRobin(NamedTuple):
    """Rule without parameters."""


class RoundRobinState(NamedTuple):
    """Arrays (sessions,), int64."""

    turn: np.ndarray
    paths: np.ndarray


@allocate.register(RoundRobin)
def _allocate(params, sessions, paths):
    return RoundRobinState(np.zeros(sessions, np.int64), np.zeros(sessions, np.int64))


@init.register(RoundRobin)
def _init(params, state, s, start, key):
    state.turn[s] = 0
    state.paths[s] = start.mean_ms.size


@decide.register(RoundRobin)
def _decide(params, state, s, now_us):
    path = state.turn[s]
    state.turn[s] = (path + 1) % state.paths[s]
    return path
