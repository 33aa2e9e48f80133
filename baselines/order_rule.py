"""What a rule of sending order is: parameters, and two functions chosen by their class, which remember nothing.

    choose(params, queue, now_us, rtt_us) -> int
        at a chance to send, with something waiting: i >= 0 sends the i-th oldest packet, `drop(i)` throws it away, and the rule is asked
        again if more wait
    make_room(params, queue, kind, expires_us, now_us, rtt_us) -> int
        when a packet of that kind comes to a full queue: the place of a packet that gives way, or REJECT

`queue`: vcgym.network.bottleneck.send_queue; `rtt_us`: the sender's smoothed round trip, 0 before the first report.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba.core import types
from numba.extending import overload

from vcgym.network.kernels.jit import kernel

F = TypeVar("F", bound=Callable[..., Any])

REJECT = -1

_IMPLEMENTATIONS: dict[tuple[str, type], Callable[..., Any]] = {}


@kernel
def drop(i):
    """The answer that throws the i-th oldest packet away."""
    return -1 - i


def choose(params: Any, queue: Any, now_us: int, rtt_us: int) -> int:
    """What to do at a chance to send."""
    answer: int = _IMPLEMENTATIONS["choose", type(params)](params, queue, now_us, rtt_us)
    return answer


def make_room(params: Any, queue: Any, kind: int, expires_us: int, now_us: int, rtt_us: int) -> int:
    """Who gives way in a full queue."""
    place: int = _IMPLEMENTATIONS["make_room", type(params)](params, queue, kind, expires_us, now_us, rtt_us)
    return place


def orders(generic: Callable[..., Any], params_class: type) -> Callable[[F], F]:
    """Make the decorated function the version of `choose` or `make_room` for rules whose parameters are a `params_class`."""

    def register(function: F) -> F:
        _IMPLEMENTATIONS[generic.__name__, params_class] = function
        return function

    return register


def require_order_rule(params: Any, lever: str = "order") -> None:
    """Refuse what is no rule of sending order.

    Raises:
        ValueError: naming the value and the rules there are.
    """
    if ("choose", type(params)) not in _IMPLEMENTATIONS:
        known = ", ".join(sorted(kind.__name__ for name, kind in _IMPLEMENTATIONS if name == "choose"))
        raise ValueError(f"{lever} = {params!r}: allowed are {known}")


@overload(choose, jit_options={"_nrt": False})
def _choose(params, queue, now_us, rtt_us):
    return _IMPLEMENTATIONS.get(("choose", params.instance_class)) if isinstance(params, types.BaseNamedTuple) else None


@overload(make_room, jit_options={"_nrt": False})
def _make_room(params, queue, kind, expires_us, now_us, rtt_us):
    return _IMPLEMENTATIONS.get(("make_room", params.instance_class)) if isinstance(params, types.BaseNamedTuple) else None
