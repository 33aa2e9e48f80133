"""What is in the queue beside the first call of a bottleneck, chosen by a class: flows alone, or flows and other calls (others.py)."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from numba.core import types
from numba.extending import overload

from vcgym.network.bottleneck.cross_traffic import run_flows

F = TypeVar("F", bound=Callable[..., Any])


class Alone(NamedTuple):
    """No other call may be there."""


_IMPLEMENTATIONS: dict[type, Callable[..., Any]] = {}


def run_beside(others: Any, dumbbell: Any, s: int, until_us: int) -> None:
    """Play all events of what is beside the first call of bottleneck `s`, up to and at `until_us`."""
    _IMPLEMENTATIONS[type(others)](others, dumbbell, s, until_us)


def beside(others_class: type) -> Callable[[F], F]:
    """Make the decorated function the version of `run_beside` for a class."""

    def register(function: F) -> F:
        _IMPLEMENTATIONS[others_class] = function
        return function

    return register


@overload(run_beside, jit_options={"_nrt": False})
def _choose(others, dumbbell, s, until_us):
    return _IMPLEMENTATIONS.get(others.instance_class) if isinstance(others, types.BaseNamedTuple) else None


@beside(Alone)
def _alone(others, dumbbell, s, until_us):
    run_flows(dumbbell, s, until_us)
