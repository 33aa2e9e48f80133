"""A reward: a NamedTuple of parameters, a decorator that states its inputs, and functions selected by its class in compiled loops.

    earned(reward, state, accounts, s) -> float     reward of session `s` since its last decision

The decorator has the fields of the state with their initial values; a row of `state` is such a record. A state of another form has two more
functions, `allocate_state` and `begin`. The rewards of a call sum to the score that they represent, for steps of any length.
"Add a reward" of CONTRIBUTING.md shows a whole one.
"""

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.plugins import load_plugin, plugin_names
from vcgym.network.kernels.record import record, records, restart

PATHS, SENDER = "paths", "sender"  # stages of a call whose counters a reward may read
PLUGINS = "vcgym.rewards"  # entry points of installed packages: classes of rewards

R = TypeVar("R", bound=type)


class Accounts(NamedTuple):
    """Counters that rewards read; first axis: session; empty for a stage that a call lacks."""

    calls: NDArray  # of vcgym.envs.call.paths.state.CallState: `counters`, of the player; `receiver`
    senders: NDArray  # of vcgym.envs.call.sender.state.SenderState: `counts`, of packets by media


@generic()
def allocate_state(reward: Any, sessions: int) -> Any:
    """Return the state of a reward, arrays, first axis: session; by default there is none."""
    return np.zeros(sessions, np.int8)


@generic()
def begin(reward: Any, state: Any, accounts: Any, s: int) -> None:
    """Forget session `s`, in which a call has begun: its row of a state made by `allocate_state`."""


@generic(abstract=True)
def earned(reward: Any, state: Any, accounts: Any, s: int) -> Any:
    """Return the reward of session `s` since its last decision, float64; the accounts are read."""


@singledispatch
def outcomes(reward: Any, state: Any) -> dict[str, NDArray[Any]]:
    """Return entries for infos about the rewards of an ended call, (sessions,) by name."""
    return {}


def reward(stage: str, **remembers: Any) -> Callable[[R], R]:
    """Return a decorator that states what a reward class reads and remembers.

    Args:
        stage: stage whose counters it reads, PATHS or SENDER.
        remembers: fields of the record that is its state of a session, with their initial values.
    """

    def state(cls: R) -> R:
        cls.reads = stage  # type: ignore[attr-defined]
        if remembers:
            kinds = {name: type(one) for name, one in remembers.items()}
            kind = record(type(f"{cls.__name__}State", (), {**remembers, "__annotations__": kinds}))
            new = records(kind, 1)
            allocate_state.register(cls)(lambda reward, sessions: records(kind, sessions))

            @begin.register(cls)
            def _begin(reward, state, accounts, s):
                restart(state[s : s + 1], new)

        return cls

    return state


class Sum(NamedTuple):
    """The sum of two rewards."""

    first: Any
    second: Any


@allocate_state.register(Sum)
def _allocate_sum(reward, sessions):
    return Sum(allocate_state(reward.first, sessions), allocate_state(reward.second, sessions))


@begin.register(Sum)
def _begin_sum(reward, state, accounts, s):
    begin(reward.first, state.first, accounts, s)
    begin(reward.second, state.second, accounts, s)


@earned.register(Sum)
def _earned_sum(reward, state, accounts, s):
    return earned(reward.first, state.first, accounts, s) + earned(reward.second, state.second, accounts, s)


@kernel
def begin_row(reward, state, accounts, s):
    """Forget session `s`, in which a call has begun."""
    begin(reward, state, accounts, s)


@kernel
def write_rewards(reward, state, accounts, which, out):
    """Write the rewards since the last decision of the sessions in `which` into `out`, float64 (sessions,)."""
    for s in which:
        out[s] = earned(reward, state, accounts, s)


def require_reward(given: Any, named: Mapping[str, Any], stages: tuple[str, ...]) -> Any:
    """Return a reward given by its parameters or its name.

    Args:
        given: a name in `named` or of a plug-in, or the parameters of a reward.
        named: rewards by name.
        stages: stages whose counters it may read.

    Raises:
        ValueError: `given` is neither, or it reads the counters of another stage.
    """
    if isinstance(given, str):
        given = named[given] if given in named else load_plugin(PLUGINS, given)() if given in plugin_names(PLUGINS) else given
    if type(given) not in earned.versions or getattr(type(given), "reads", None) not in stages:
        allowed = f"{', '.join((*named, *plugin_names(PLUGINS)))}, or parameters of a reward that reads {' or '.join(stages)}"
        raise ValueError(f"reward = {given!r}: allowed are {allowed}")
    return given
