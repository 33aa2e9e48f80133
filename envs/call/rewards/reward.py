"""A reward: a NamedTuple of parameters, a decorator that states its inputs, and functions selected by its class in compiled loops.

    earned(reward, state, accounts, s) -> float     reward of session `s` since its last decision
    begin(reward, state, accounts, s)               a call has started in row `s`; by default the row is set to zero
    allocate_state(reward, sessions) -> state       arrays, first axis: session; by default float64 (sessions, 8)

The rewards of a call sum to the score that they represent, for steps of any length.

Example:
    A cost per path change, in any module::

        @reward(PATHS)
        class Steady(NamedTuple):
            price: float = 0.1

        @earned.register(Steady)
        def _earned(reward, state, accounts, s):
            changes = accounts.calls[s].counters.path_changes
            new = changes - state[s, 0]
            state[s, 0] = changes
            return -reward.price * new

        gymnasium.make("vcgym/Relay-v1", reward=Steady())
"""

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.plugins import load_plugin, plugin_names

PATHS, SENDER = "paths", "sender"  # stages of a call whose counters a reward may read
PLUGINS = "vcgym.rewards"  # entry points of installed packages: classes of rewards
REMEMBERED = 8  # numbers per session in the default state

R = TypeVar("R", bound=type)


class Accounts(NamedTuple):
    """Counters that rewards read; first axis: session; empty for a stage that a call lacks."""

    calls: NDArray  # of vcgym.envs.call.paths.state.CALL: `counters`, of the player; `receiver`
    senders: NDArray  # of vcgym.envs.call.sender.state.SENDER: `counts`, of packets by media


def reward(stage: str) -> Callable[[R], R]:
    """Return a decorator that states the stage, PATHS or SENDER, whose counters a reward class reads."""

    def state(cls: R) -> R:
        cls.reads = stage  # type: ignore[attr-defined]
        return cls

    return state


@generic()
def allocate_state(reward: Any, sessions: int) -> Any:
    """Return the state of a reward; first axis: session."""
    return np.zeros((sessions, REMEMBERED))


@generic()
def begin(reward: Any, state: Any, accounts: Any, s: int) -> None:
    """Forget session `s`, in which a call has begun: its row of a state made by `allocate_state`."""
    state[s, :] = 0


@generic(abstract=True)
def earned(reward: Any, state: Any, accounts: Any, s: int) -> Any:
    """Return the reward of session `s` since its last decision, float64; the accounts are read."""


@singledispatch
def outcomes(reward: Any, state: Any) -> dict[str, NDArray[Any]]:
    """Return entries for infos about the rewards of an ended call, (sessions,) by name."""
    return {}


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
