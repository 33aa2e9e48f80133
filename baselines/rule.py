"""What a rule is: a NamedTuple of parameters, and four functions chosen by that class inside any compiled loop.

    allocate(params, sessions, paths) -> state     plain Python: arrays in a NamedTuple, or one of records; first axis the session
    init(params, state, s, history, key)           start row `s`: history (paths, 3) = n, mean ms, sd ms before the call; key uint64
    update(params, state, s, record)               one record has reached the rule's place
    decide(params, state, s, slot) -> int          path index (a router) or level in microseconds (a receiver)

numba picks the right version while compiling, from the class of `params` (a jitted function passed as an argument would never be found in
the disk cache). Without the JIT the same names dispatch in Python.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from numba.core import types
from numba.extending import overload

from vcgym.network.kernels.by_type import constant_by_type
from vcgym.network.kernels.jit import allocating_kernel

F = TypeVar("F", bound=Callable[..., Any])

_IMPLEMENTATIONS: dict[tuple[str, type], Callable[..., Any]] = {}


class Record(NamedTuple):
    """One thing that has reached a place. Times are int64 microseconds of the call; `known_us` is when it reached the place."""

    kind: int  # MEDIA or PROBE
    packet: int  # index of the packet; for a probe the slot it was sent in
    path: int
    sent_us: int
    arrived_us: int  # at the receiver
    known_us: int
    lag_us: int  # the receiver's level in force when it arrived
    late: int  # 1: the receiver discarded it


MEDIA, PROBE = 0, 1

_NO_REFERENCE_COUNTS = {"_nrt": False}  # see `vcgym.network.kernels.jit.kernel`; `init` alone may allocate


def allocate(params: NamedTuple, sessions: int, paths: int) -> Any:
    """State of `sessions` rows of the rule `params`, not yet started."""
    return _IMPLEMENTATIONS["allocate", type(params)](params, sessions, paths)


def init(params: Any, state: Any, s: int, history: Any, key: Any) -> None:
    """Start row `s` of `state`."""
    _IMPLEMENTATIONS["init", type(params)](params, state, s, history, key)


def update(params: Any, state: Any, s: int, record: Any) -> None:
    """Let row `s` learn from one record."""
    _IMPLEMENTATIONS["update", type(params)](params, state, s, record)


def decide(params: Any, state: Any, s: int, slot: int) -> Any:
    """What row `s` does now; `slot` counts the packets sent before this one."""
    return _IMPLEMENTATIONS["decide", type(params)](params, state, s, slot)


def implements(generic: Callable[..., Any], params_class: type) -> Callable[[F], F]:
    """Make the decorated function the version of `generic` for rules whose parameters are a `params_class`."""

    def register(function: F) -> F:
        _IMPLEMENTATIONS[generic.__name__, params_class] = function
        if generic is init:

            @overload(init)
            def choose_init(params, state, s, history, key):
                return function if _is(params, params_class) else None
        elif generic is update:

            @overload(update, jit_options=_NO_REFERENCE_COUNTS)
            def choose_update(params, state, s, record):
                return function if _is(params, params_class) else None
        elif generic is decide:

            @overload(decide, jit_options=_NO_REFERENCE_COUNTS)
            def choose_decide(params, state, s, slot):
                return function if _is(params, params_class) else None

        return function

    return register


def _is(params: Any, params_class: type) -> bool:
    return isinstance(params, types.BaseNamedTuple) and params.instance_class is params_class


_DEAF: set[type] = set()
# Whether a rule of the class of the parameters learns anything from records.
learns = constant_by_type(lambda params_class: params_class not in _DEAF)


def learns_nothing(params_class: type) -> None:
    """Declare that rules of a class learn nothing from records, so that none need be kept for them."""
    _DEAF.add(params_class)

    @implements(update, params_class)
    def ignore(params, state, s, record):
        pass


@allocating_kernel
def start(params, state, starts, history, key):
    """Start each row s with `starts[s]`, on history[s] (paths, 3) and key[s]."""
    for s in range(starts.size):
        if starts[s]:
            init(params, state, s, history[s], key[s])
