"""Direct: always the direct path, arm 0."""

from typing import NamedTuple

from vcgym.baselines.rule import allocate, decide, implements, init, learns_nothing


class Direct(NamedTuple):
    """No parameters."""


class DirectState(NamedTuple):
    """Nothing is remembered."""


learns_nothing(Direct)


@implements(allocate, Direct)
def _allocate(params, sessions, paths):
    return DirectState()


@implements(init, Direct)
def _init(params, state, s, history, key):
    pass


@implements(decide, Direct)
def _decide(params, state, s, slot):
    return 0
