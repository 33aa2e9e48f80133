"""A router that follows a given path sequence, at the sender, so its commands have no delay."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rule import Control, allocate, decide, init, rule
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.network.kernels.slots import slot_at
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw


@rule(Control.PATH, learns=False)
class Script(NamedTuple):
    """Parameters: path (sessions, packets) int16."""

    path: NDArray[np.int16]


class ScriptState(NamedTuple):
    """Empty state."""


@allocate.register(Script)
def _allocate(params, sessions, paths):
    if not (params.path.shape[0] == sessions and params.path.min() >= 0 and params.path.max() < paths):
        raise ValueError(f"a script of {params.path.shape} paths up to {params.path.max()} for {sessions} sessions over {paths} paths")
    return ScriptState()


@init.register(Script)
def _init(params, state, s, start, key):
    pass


@decide.register(Script)
def _decide(params, state, s, now_us):
    return params.path[s, slot_at(now_us)]


def play_script(scenario: Scenario, draw: WorldDraw, path: NDArray[np.int16], receiver: Any) -> Played:
    """Play one call on a sampled world with a path sequence (packets,) and a receiver rule."""
    batch = CallBatch(scenario, 1, Script(path[None]), receiver, location="sender", probe_rate=0.0, log=True)
    batch.start(0, draw)
    batch.play(np.arange(1))
    return batch.played()
