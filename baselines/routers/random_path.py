"""Random: every path equally likely at every decision. The floor that anything clever has to beat."""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import allocate, decide, implements, init, learns_nothing
from vcgym.network.kernels.rng import POLICY, stream_key, uniform


class RandomPath(NamedTuple):
    """No parameters."""


class RandomPathState(NamedTuple):
    """Arrays (sessions,)."""

    key: np.ndarray  # uint64, stream of the draws
    paths: np.ndarray  # int64


learns_nothing(RandomPath)


@implements(allocate, RandomPath)
def _allocate(params, sessions, paths):
    return RandomPathState(np.zeros(sessions, np.uint64), np.zeros(sessions, np.int64))


@implements(init, RandomPath)
def _init(params, state, s, history, key):
    state.key[s] = stream_key(key, 0, POLICY)
    state.paths[s] = history.shape[0]


@implements(decide, RandomPath)
def _decide(params, state, s, slot):
    return int(uniform(state.key[s], slot) * state.paths[s])
