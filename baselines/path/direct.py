"""Direct: always the direct path, arm 0."""

from typing import NamedTuple

from vcgym.baselines.rule import Control, allocate, decide, init, rule


@rule(Control.PATH, learns=False)
class Direct(NamedTuple):
    """Rule without parameters."""


class DirectState(NamedTuple):
    """Empty state."""


@allocate.register(Direct)
def _allocate(params, sessions, paths):
    return DirectState()


@init.register(Direct)
def _init(params, state, s, start, key):
    pass


@decide.register(Direct)
def _decide(params, state, s, now_us):
    return 0
