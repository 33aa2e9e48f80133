"""What only an oracle is told: the true delay of each packet, at the moment it is sent. No place knows it, so such a rule is never ranked.

A rule whose parameters' class is registered with `witnesses` has, besides `update` and `decide`, a function that the call runs as each
packet leaves. Its class is named Oracle..., and it can play inside a call only: no observation holds what it is told.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])

_WITNESSES: dict[type, Callable[..., Any]] = {}


def witness(params: Any, state: Any, s: int, path: int, delay_us: int) -> None:
    """Tell row `s` of an oracle that the packet of this slot leaves on `path` and will take `delay_us`, LOST if it never arrives."""
    _WITNESSES.get(type(params), _blind)(params, state, s, path, delay_us)


def witnesses(params_class: type) -> Callable[[F], F]:
    """Make the decorated function `witness` for rules whose parameters are a `params_class`."""

    def register(function: F) -> F:
        _WITNESSES[params_class] = function
        return function

    return register


def is_oracle(params: Any) -> bool:
    """Whether a rule is told what no place can know."""
    return type(params) in _WITNESSES


def _blind(params, state, s, path, delay_us):
    pass


@overload(witness, jit_options={"_nrt": False})  # as `update` and `decide`
def _choose(params, state, s, path, delay_us):
    return _WITNESSES.get(getattr(params, "instance_class", type(None)), _blind)
