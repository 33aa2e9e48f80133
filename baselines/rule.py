"""A rule: a NamedTuple of parameters, a `rule` decorator that states what it controls, and functions chosen by its class in compiled loops.

    allocate(params, sessions, paths) -> state     plain Python: arrays in a NamedTuple, or one of records; first axis the session
    init(params, state, s, start, key)             start row `s`: `PathHistory` or, for the rate, `RateLimits`; key uint64 for own draws
    update(params, state, s, record)               learn from one record that has reached the rule's location
    decide(params, state, s, now_us) -> int        path index, lag or target in microseconds, or bit/s

A rule of the order of sending remembers nothing and has two other functions (`vcgym.baselines.schedulers.scheduler`). A rate rule may have

    report_every_us(params, state, s, default_us) -> int    how long the receiver collects before it reports
    wake_us(params, state, s) -> int                        when the rule is to be asked though no report has come, or NEVER_US
    reads_marks(params, state, s) -> bool                   its packets are ECN-capable: queues may mark them (`PacketFeedback.marked`)
    see_sender(params, state, s, news)                      `SenderStatus`, before each `decide`; at the sender alone
    window_bytes(params, state, s) -> int                   how many bytes may be under way that no report has told of, from now on
    pacing(params, state, s, usual) -> float                transmission opportunities, so many times as fast as the target, from now on

An oracle is told besides what no location knows; it plays inside calls only, is called Oracle..., and is never ranked:

    reveal_delay(params, state, s, path, delay_us)          to a router, as each packet leaves
    see_capacity(params, state, s, capacity, now_us)        to a rate rule, before each `decide`
"""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from vcgym.baselines.records import path_history
from vcgym.network.kernels.generic import class_constant, generic
from vcgym.network.kernels.jit import allocating_kernel
from vcgym.network.playout.receiver import COUNT, PUBLISHED, WATERMARK

NEVER_US = 1 << 62

Rule = TypeVar("Rule", bound=type)

_RULES: list[type] = []  # every class that the decorator `rule` has seen


class Control(enum.StrEnum):
    """Quantity that a rule sets."""

    PATH = "path"
    LAG = "lag"  # of the watermark behind the newest packet
    TARGET = "target"  # of a count buffer
    RATE = "rate"
    ORDER = "order"
    TREES = "trees"  # of all sessions of a conference, and the rates on them


class Decided(enum.IntEnum):
    """Origin of a decision: made by the rule inside the loop, by an agent outside it, or far away and sent as a command."""

    INSIDE = 0
    OUTSIDE = 1
    COMMANDED = 2


INSIDE, OUTSIDE, COMMANDED = map(int, Decided)  # as `decided` has them inside kernels


class Facts(NamedTuple):
    """Statement of the decorator `rule` about a class."""

    control: Control
    learns: bool
    oracle: bool
    buffer: int
    decided: Decided
    learned: bool


def rule(
    control: Control,
    *,
    learns: bool = True,
    oracle: bool = False,
    buffer: int | None = None,
    decided: Decided = Decided.INSIDE,
    learned: bool = False,
) -> Callable[[Rule], Rule]:
    """Return a decorator that states what a class of parameters is.

    Args:
        control: what its decisions set.
        learns: records are kept for it and given to its `update`.
        oracle: it is told what no location knows.
        buffer: how a receiver holds its decisions (`vcgym.network.playout.receiver`): WATERMARK for a lag; COUNT or PUBLISHED for a target,
            by default COUNT.
        decided: other than INSIDE only for stand-ins of agents.
        learned: a learned rule: its parameters are weights that a learner found.
    """
    chosen_buffer = buffer if buffer is not None else COUNT if control is Control.TARGET else WATERMARK
    if chosen_buffer not in ((COUNT, PUBLISHED) if control is Control.TARGET else (WATERMARK,)):
        raise ValueError(f"buffer = {buffer!r} of a rule of {control}: allowed is WATERMARK, for a target COUNT or PUBLISHED")

    def state(cls: Rule) -> Rule:
        _RULES.append(cls)
        cls.facts = Facts(control, learns, oracle, chosen_buffer, decided, learned)  # type: ignore[attr-defined]
        return cls

    return state


def facts_of(cls: type) -> Facts:
    """Return the facts that a class of rules states.

    Raises:
        TypeError: it is no class of rules.
    """
    found = getattr(cls, "facts", None)
    if not isinstance(found, Facts):
        raise TypeError(f"{cls.__name__} is no rule: allowed are classes with the decorator `rule`")
    return found


def require_rule(name: str, params: Any, *controls: Control, stand_ins: bool = False) -> None:
    """Refuse what is not the parameters of a rule for one of the controls.

    Args:
        name: of the argument, for the error.
        params: what was given.
        controls: what the rule may control.
        stand_ins: those of agents are allowed too.

    Raises:
        TypeError: a parameter is of a wrong type.
        ValueError: another thing, naming the argument, the value and the rules there are; or a parameter out of range.
    """
    facts = getattr(type(params), "facts", None)
    if not isinstance(facts, Facts) or facts.control not in controls or not (stand_ins or facts.decided is Decided.INSIDE):
        known = ", ".join(cls.__name__ for cls in rules_of(*controls))
        raise ValueError(f"{name} = {params!r}: allowed are rules that control {' or '.join(controls)}, as {known}")
    if type(params) in allocate.versions:
        allocate(params, 1, 1)


def rules_of(*controls: Control) -> list[type]:
    """Return the classes of rules for some controls that have been imported, by name; stand-ins of agents are none."""
    found = [cls for cls in _RULES if facts_of(cls).control in controls and facts_of(cls).decided is Decided.INSIDE]
    return sorted(found, key=lambda cls: cls.__name__)


def is_oracle(params: Any) -> bool:
    """Return True for a rule that is told what no location knows."""
    return facts_of(type(params)).oracle


def is_learned(params: Any) -> bool:
    """Return True for a rule whose parameters are weights that a learner found."""
    return facts_of(type(params)).learned


learns = class_constant(lambda cls: facts_of(cls).learns)
buffer_type = class_constant(lambda cls: facts_of(cls).buffer)  # WATERMARK, COUNT or PUBLISHED
decided = class_constant(lambda cls: int(facts_of(cls).decided))


@generic(abstract=True)
def allocate(params: Any, sessions: int, paths: int) -> Any:
    """Return the state of `sessions` rows, not yet started; refuse parameters out of range."""


@generic(abstract=True, allocates=True)
def init(params: Any, state: Any, s: int, start: Any, key: Any) -> None:
    """Start row `s` of `state`."""


@generic()
def update(params: Any, state: Any, s: int, record: Any) -> None:
    """Let row `s` learn from one record."""


@generic(abstract=True)
def decide(params: Any, state: Any, s: int, now_us: int) -> Any:
    """Return the decision of row `s` at `now_us`."""


@generic()
def report_every_us(params: Any, state: Any, s: int, default_us: int) -> int:
    """Return how long the receiver collects; by default as the call says."""
    return default_us


@generic()
def wake_us(params: Any, state: Any, s: int) -> int:
    """Return when the rule is to be asked next without a report; by default never."""
    return NEVER_US


@generic()
def reads_marks(params: Any, state: Any, s: int) -> bool:
    """Return True if the packets of the rule are ECN-capable (RFC 3168), so that a queue may mark them; by default they are not."""
    return False


@generic()
def see_sender(params: Any, state: Any, s: int, status: Any) -> None:
    """Tell row `s` of the sender (`vcgym.baselines.records.SenderStatus`)."""


@generic()
def window_bytes(params: Any, state: Any, s: int) -> int:
    """Return how many bytes may be under way that no report has told of; by default as many as there are."""
    return NEVER_US


@generic()
def pacing(params: Any, state: Any, s: int, default: float) -> float:
    """Return in which multiple of the target transmission opportunities come; by default in the call's, `default`."""
    return default


@generic()
def reveal_delay(params: Any, state: Any, s: int, path: int, delay_us: int) -> None:
    """Tell an oracle that the packet of this slot leaves on `path` and will take `delay_us`, LOST if it never arrives."""


@generic()
def see_capacity(params: Any, state: Any, s: int, capacity: Any, now_us: int) -> None:
    """Tell an oracle the whole capacity trace of the bottleneck (`vcgym.network.bottleneck.capacity.capacity`)."""


def for_kernels(params: Any) -> Any:
    """Return parameters with each enum as its integer: numba would take a millisecond to type an enum, at every call of a kernel."""
    if isinstance(params, enum.Enum):
        return params.value
    return type(params)(*map(for_kernels, params)) if isinstance(params, tuple) and hasattr(params, "_fields") else params


@allocating_kernel
def start_row(params, state, s, history, key):
    """Start row `s` of a router or a receiver on `history` (paths, 3): samples, mean and standard deviation (ms) of each path."""
    init(params, state, s, path_history(history), key)


@allocating_kernel
def start(params, state, starts, history, key):
    """Start each row s with `starts[s]`, on history[s] (paths, 3) and key[s]."""
    for s in range(starts.size):
        if starts[s]:
            start_row(params, state, s, history[s], key[s])
