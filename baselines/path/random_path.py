"""Random: every path is equally likely at every decision. The lower bound for any useful rule."""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, allocate, decide, init, rule
from vcgym.network.kernels.rng import POLICY, stream_key, uniform
from vcgym.network.kernels.slots import slot_at


@rule(Control.PATH, learns=False)
class RandomPath(NamedTuple):
    """Rule without parameters."""


class RandomPathState(NamedTuple):
    """State: arrays (sessions,)."""

    key: np.ndarray  # uint64, key of the random stream
    paths: np.ndarray  # int64


@allocate.register(RandomPath)
def _allocate(params, sessions, paths):
    return RandomPathState(np.zeros(sessions, np.uint64), np.zeros(sessions, np.int64))


@init.register(RandomPath)
def _init(params, state, s, start, key):
    state.key[s] = stream_key(key, 0, POLICY)
    state.paths[s] = start.mean_ms.size


@decide.register(RandomPath)
def _decide(params, state, s, now_us):
    return int(uniform(state.key[s], slot_at(now_us)) * state.paths[s])
