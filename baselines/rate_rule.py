"""What a rate rule is: a rule (rule.py) that holds the lever of send rate, at the sender, and learns from what the receiver reports.

    allocate(params, sessions, paths) -> state     paths is 1
    init(params, state, s, history, key)           history (1, 3) = start, least and largest bit/s
    update(params, state, s, record)               one packet of a report (`Fate`), in order of sending
    decide(params, state, s, slot) -> int          bit/s, asked after each report; `slot` is the instant in us at which it is known
    report_every_us(params, state, s) -> int       how long the receiver collects before it reports
    wake_us(params, state, s) -> int               when the rule is to be asked though no report has come, or NEVER_US

The last two have a usual form for rules that do not say otherwise: the interval of the call, and never.

An oracle has one more, which tells it before each `decide` what no sender knows; it is never ranked:

    see_capacity(params, state, s, capacity, now_us)   the bottleneck's trace (vcgym.network.bottleneck.capacity), whole
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from numba.core import types
from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])

NOT_ARRIVED = -1
NEVER_US = 1 << 62


class Fate(NamedTuple):
    """What became of one packet. Times are int64 microseconds of the call."""

    packet: int  # number, from 0 in order of sending
    size_bytes: int  # all headers included
    sent_us: int
    arrived_us: int  # at the receiver, or NOT_ARRIVED: passed over by a later one
    known_us: int  # when the report was back


_IMPLEMENTATIONS: dict[tuple[str, type], Callable[..., Any]] = {}


_HOLDS_RATE: set[type] = set()


def holds_rate(params_class: type) -> None:
    """Declare that rules of a class hold the rate: nothing else tells them from rules of other levers."""
    _HOLDS_RATE.add(params_class)


def is_rate_rule(params_class: type) -> bool:
    """Whether rules of a class hold the rate, and not a path or a level."""
    return params_class in _HOLDS_RATE


def require_rate_rule(params: Any) -> None:
    """Refuse what is no rule of the rate.

    Raises:
        ValueError: naming the value and the rules there are.
    """
    if type(params) not in _HOLDS_RATE:
        known = ", ".join(sorted(kind.__name__ for kind in _HOLDS_RATE))
        raise ValueError(f"rate = {params!r}: allowed are {known}")


def report_every_us(params: Any, state: Any, s: int, usual_us: int) -> int:
    """How long the receiver collects; `usual_us` for rules that say nothing of it."""
    chosen = _IMPLEMENTATIONS.get(("report_every_us", type(params)))
    return usual_us if chosen is None else chosen(params, state, s, usual_us)


def wake_us(params: Any, state: Any, s: int) -> int:
    """When the rule is to be asked next without a report."""
    chosen = _IMPLEMENTATIONS.get(("wake_us", type(params)))
    return NEVER_US if chosen is None else chosen(params, state, s)


def see_capacity(params: Any, state: Any, s: int, capacity: Any, now_us: int) -> None:
    """Tell an oracle; no other rule hears it."""
    _IMPLEMENTATIONS.get(("see_capacity", type(params)), _blind)(params, state, s, capacity, now_us)


def is_rate_oracle(params: Any) -> bool:
    """Whether a rate rule is told what no sender can know."""
    return ("see_capacity", type(params)) in _IMPLEMENTATIONS


def _blind(params, state, s, capacity, now_us):
    pass


def times(generic: Callable[..., Any], params_class: type) -> Callable[[F], F]:
    """Make the decorated function the version of one of the last three for rules whose parameters are a `params_class`."""

    def register(function: F) -> F:
        _IMPLEMENTATIONS[generic.__name__, params_class] = function
        return function

    return register


@overload(report_every_us, jit_options={"_nrt": False})
def _choose_every(params, state, s, usual_us):
    if not isinstance(params, types.BaseNamedTuple):
        return None
    return _IMPLEMENTATIONS.get(("report_every_us", params.instance_class), lambda params, state, s, usual_us: usual_us)


@overload(wake_us, jit_options={"_nrt": False})
def _choose_wake(params, state, s):
    if not isinstance(params, types.BaseNamedTuple):
        return None
    return _IMPLEMENTATIONS.get(("wake_us", params.instance_class), lambda params, state, s: NEVER_US)


@overload(see_capacity, jit_options={"_nrt": False})
def _choose_see(params, state, s, capacity, now_us):
    return _IMPLEMENTATIONS.get(("see_capacity", getattr(params, "instance_class", type(None))), _blind)
