"""A rule: a NamedTuple of parameters with the decorator `rule`, and functions selected by its class in compiled loops.

    allocate(params, sessions, paths) -> state     plain Python: a NamedTuple of arrays, or a record array; first axis: session
    init(params, state, s, start, key)             start row `s` with a `PathHistory` or, for a rate, `RateLimits`; key: uint64 for draws
    update(params, state, s, record)               learn from one record that has reached the rule's location
    decide(params, state, s, now_us) -> int        path index, lag or target in microseconds, or bit/s

In all of them `params` are the parameters of the rule, `state` is what `allocate` made, and `s`, int64, is the row, which alone may be
updated. Instants are int64 microseconds, and must not decrease from call to call.

A rule declares its state in the decorator and has methods of these names (`vcgym.baselines.declared`); a wrapper of any other rule
registers functions for its class.

A scheduler has no state and two other functions (`vcgym.baselines.order.scheduler`). A rate rule may have

    report_every_us(params, state, s, default_us) -> int    interval between receiver reports
    wake_us(params, state, s) -> int                        time of a decision without a report, or NEVER_US
    reads_marks(params, state, s) -> bool                   True: its packets are ECN-capable and may be marked (`PacketFeedback.marked`)
    see_sender(params, state, s, status)                    `SenderStatus`, before each `decide`; only at the sender
    window_bytes(params, state, s) -> int                   limit on bytes in flight (sent but not yet reported)
    pacing(params, state, s, default) -> float              pacing factor: transmission opportunities relative to the target bitrate

An oracle also receives what no location can know. It runs only inside calls, is named Oracle..., and is never ranked:

    reveal_delay(params, state, s, path, delay_us)          for a path rule, as each packet leaves
    see_capacity(params, state, s, capacity, now_us)        for a rate rule, before each `decide`
"""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from vcgym.baselines.controls.control import CONTROLS
from vcgym.baselines.controls.control import Control as Control
from vcgym.baselines.declared import Rows as Rows
from vcgym.baselines.declared import Table as Table
from vcgym.baselines.declared import add_methods, is_declared, register_methods
from vcgym.baselines.records import path_history
from vcgym.network.kernels.generic import class_constant, generic
from vcgym.network.kernels.jit import allocating_kernel
from vcgym.network.kernels.record import record as record
from vcgym.network.kernels.record import records as records
from vcgym.network.playout.receiver import COUNT, PUBLISHED, WATERMARK

NEVER_US = 1 << 62
PACKET_MS = "packet_ms"  # parameter of rules that need the packet interval; a call sets it
PACKET_MS_RANGE = 1.0, 1000.0

Rule = TypeVar("Rule", bound=type)

_RULES: list[type] = []  # every class with the decorator `rule`


class Facts(NamedTuple):
    """Properties of a rule class, as stated in its decorator `rule`; `control` is None for the placeholder of an agent."""

    control: str | None
    learns: bool
    oracle: bool
    buffer: int
    learned: bool
    copies: bool


def rule(
    control: str | None,
    *,
    learns: bool = True,
    oracle: bool = False,
    buffer: int = WATERMARK,
    learned: bool = False,
    copies: bool = False,
    **parts: Any,
) -> Callable[[Rule], Rule]:
    """Return a decorator that makes a class of parameters a rule; a class with methods is one whole (`vcgym.baselines.declared`).

    Args:
        control: quantity that its decisions set; None: that of its place, for the placeholder of an agent.
        learns: True if its `update` needs records.
        oracle: True if it receives what no location can know.
        buffer: for playout the buffer type (`vcgym.network.playout.receiver`): WATERMARK: it decides lags; COUNT or PUBLISHED: targets.
        learned: True for a learned rule, whose parameters are trained weights.
        copies: True for a rule of playout whose `update` gets every arrival of a packet, a copy as COPY; others get the first, as MEDIA.
        parts: parts of the state, arguments of the methods: the class of a record (`vcgym.network.kernels.record`), `Rows` or `Table`.
    """
    if buffer not in ((WATERMARK, COUNT, PUBLISHED) if control is Control.PLAYOUT else (WATERMARK,)):
        raise ValueError(f"buffer = {buffer!r} of a rule of {control}: allowed is WATERMARK, for playout also COUNT or PUBLISHED")
    if copies and control is not Control.PLAYOUT:
        raise ValueError(f"copies = {copies} of a rule of {control}: allowed is False")
    if control is not None and control not in CONTROLS:
        raise ValueError(f"control = {control!r} of a rule: allowed is one of {', '.join(CONTROLS)}")

    def make(cls: Rule) -> Rule:
        _RULES.append(cls)
        cls.facts = Facts(control, learns, oracle, buffer, learned, copies)  # type: ignore[attr-defined]
        if is_declared(cls):
            register_methods(cls, parts)
        return cls

    return make


def facts_of(cls: type) -> Facts:
    """Return the facts of a rule class.

    Raises:
        TypeError: the class is not a rule.
    """
    found = getattr(cls, "facts", None)
    if not isinstance(found, Facts):
        raise TypeError(f"{cls.__name__} is no rule: allowed are classes with the decorator `rule`")
    return found


def require_rule(name: str, params: Any, control: str) -> None:
    """Check that `params` is a rule for the control.

    Args:
        name: name of the argument, for errors.
        params: value to check.
        control: what it must control.

    Raises:
        TypeError: a parameter is of a wrong type.
        ValueError: `params` is not such a rule, or a parameter is out of range; the message names argument, value and known rules.
    """
    facts = getattr(type(params), "facts", None)
    if not isinstance(facts, Facts) or facts.control != control:
        known = ", ".join(cls.__name__ for cls in rules_of(control))
        raise ValueError(f"{name} = {params!r}: allowed are rules that control {control}, as {known}")
    if type(params) in allocate.versions:
        allocate(params, 1, 1)


def rules_of(control: str) -> list[type]:
    """Return the imported rule classes for a control, by name."""
    return sorted((cls for cls in _RULES if facts_of(cls).control == control), key=lambda cls: cls.__name__)


def is_oracle(params: Any) -> bool:
    """Return True for a rule that receives what no location can know."""
    return facts_of(type(params)).oracle


def is_learned(params: Any) -> bool:
    """Return True for a rule whose parameters are trained weights."""
    return facts_of(type(params)).learned


learns = class_constant(lambda cls: facts_of(cls).learns)
learns_from_copies = class_constant(lambda cls: facts_of(cls).copies)
_buffer_of_class = class_constant(lambda cls: facts_of(cls).buffer)


@generic(inlined=True)
def buffer_type(params: Any) -> int:
    """Return the buffer type of a receiver: WATERMARK, COUNT or PUBLISHED; for a rule a constant inside kernels."""
    return _buffer_of_class(params)


@generic(abstract=True)
def allocate(params: Any, sessions: int, paths: int) -> Any:
    """Return the state of `sessions` rows, not yet started; reject parameters out of range."""


@generic(abstract=True, allocates=True)
def init(params: Any, state: Any, s: int, start: Any, key: Any) -> None:
    """Start row `s`, which is overwritten, with a `PathHistory`, for a rate rule `RateLimits`; `key`: uint64, of the rule's draws."""


@generic(inlined=True)
def update(params: Any, state: Any, s: int, record: Any) -> None:
    """Update row `s` with a `Record`, or for a rate rule `PacketFeedback`, that has reached its location; by default learn nothing."""


@generic(abstract=True, inlined=True)
def decide(params: Any, state: Any, s: int, now_us: int) -> Any:
    """Return the decision of row `s`: path index, lag or target in microseconds, or rate in bit/s.

    `now_us` is the time of the decision, at a receiver the start of the slot of 10 ms in which the packet arrived.
    """


@generic(inlined=True)
def report_every_us(params: Any, state: Any, s: int, default_us: int) -> int:
    """Return the interval between receiver reports, int64, above 0; by default that of the call, `default_us`."""
    return default_us


@generic(inlined=True)
def wake_us(params: Any, state: Any, s: int) -> int:
    """Return the time of the next decision without a report; by default never."""
    return NEVER_US


@generic(inlined=True)
def reads_marks(params: Any, state: Any, s: int) -> bool:
    """Return True if the packets of the rule are ECN-capable (RFC 3168), so that a queue may mark them; by default they are not."""
    return False


@generic(inlined=True)
def see_sender(params: Any, state: Any, s: int, status: Any) -> None:
    """Give row `s` the status of the sender, a `SenderStatus`, before a decision."""


@generic(inlined=True)
def window_bytes(params: Any, state: Any, s: int) -> int:
    """Return the limit on bytes in flight (sent but not yet reported); unlimited by default."""
    return NEVER_US


@generic(inlined=True)
def pacing(params: Any, state: Any, s: int, default: float) -> float:
    """Return the pacing factor, the rate of transmission opportunities relative to the target bitrate, float64; by default the call's.

    With the factor `default` of the call at 0, opportunities are spaced by the mean packet size.
    """
    return default


@generic()
def reveal_delay(params: Any, state: Any, s: int, path: int, delay_us: int) -> None:
    """Give an oracle the one-way delay of the packet that leaves in this slot on `path`, or LOST if it never arrives."""


@generic()
def see_capacity(params: Any, state: Any, s: int, capacity: Any, now_us: int) -> None:
    """Give an oracle the capacity traces of all bottlenecks (`Capacity`); `s` is the index of its own too."""


add_methods(allocate, init, update, decide)
add_methods(report_every_us, wake_us, reads_marks, see_sender, window_bytes, pacing, reveal_delay, see_capacity)


def for_kernels(params: Any) -> Any:
    """Return parameters with enums as integers, because numba takes a millisecond to type an enum at every kernel call."""
    if isinstance(params, enum.Enum):
        return params.value
    return type(params)(*map(for_kernels, params)) if isinstance(params, tuple) and hasattr(params, "_fields") else params


def for_packets(params: Any, packet_ms: float) -> Any:
    """Return parameters in which every `packet_ms`, of rules inside others too, is that of a call."""
    if not isinstance(params, tuple) or not hasattr(params, "_fields"):
        return params
    named = zip(params._fields, params, strict=True)
    inside: Any = (packet_ms if name == PACKET_MS else for_packets(one, packet_ms) for name, one in named)
    return type(params)(*inside)


@allocating_kernel
def start_row(params, state, s, history, key):
    """Start row `s` of a rule for path or playout.

    `history`, float64 (paths, 3), has samples, mean and standard deviation (ms) of each path.
    """
    init(params, state, s, path_history(history), key)


@allocating_kernel
def start(params, state, starts, history, key):
    """Start the rows of a rule for path or playout for which `starts`, bool (rows,), is True, as `start_row` does.

    `history` is float64 (rows, paths, 3), `key` uint64 (rows,).
    """
    for s in range(starts.size):
        if starts[s]:
            start_row(params, state, s, history[s], key[s])
