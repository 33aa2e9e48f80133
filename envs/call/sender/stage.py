"""Where the loop of a call meets an uplink: five functions chosen by the class of what stands in `Tables.uplink`.

Without an uplink (`NoUplink`) a packet leaves in its slot, at once, and none of this costs anything: the class decides while compiling.
With one (vcgym.envs.call.sender.onto_paths) packets leave when send queue, pacer and bottleneck let them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from numba.core import types
from numba.extending import overload

from vcgym.network.kernels.by_type import constant_by_type

F = TypeVar("F", bound=Callable[..., Any])

_IMPLEMENTATIONS: dict[tuple[str, type], Callable[..., Any]] = {}


class NoUplink(NamedTuple):
    """Packets leave at once."""


has_uplink = constant_by_type(lambda kind: kind is not NoUplink)


def is_commanded(uplink: Any) -> bool:
    """Whether an agent sends commands to a lever of the sender."""
    answer: bool = _IMPLEMENTATIONS["is_commanded", type(uplink)](uplink)
    return answer


def pass_on(uplink: Any, s: int, now_us: int) -> bool:
    """Send what the agent decided on its way to the sender; False if too many commands are under way."""
    sent: bool = _IMPLEMENTATIONS["pass_on", type(uplink)](uplink, s, now_us)
    return sent


def leave(uplink: Any, call: Any, tables: Any, s: int, delay_us: Any, router: Any, router_state: Any) -> None:
    """Play the sender to the end of the slot; what comes out of the bottleneck goes onto the path in force."""
    _IMPLEMENTATIONS["leave", type(uplink)](uplink, call, tables, s, delay_us, router, router_state)


def is_draining(uplink: Any, s: int, slot: int, packets: int) -> bool:
    """Whether anything may still leave, or arrive, after the last packet of the call was captured."""
    answer: bool = _IMPLEMENTATIONS["is_draining", type(uplink)](uplink, s, slot, packets)
    return answer


def sent_onto_path_us(uplink: Any, s: int, record: Any) -> int:
    """When the media packet of a record went onto its path."""
    at_us: int = _IMPLEMENTATIONS["sent_onto_path_us", type(uplink)](uplink, s, record)
    return at_us


def through(generic: Callable[..., Any], kind: type) -> Callable[[F], F]:
    """Make the decorated function the version of one of the five for uplinks of class `kind`."""

    def register(function: F) -> F:
        _IMPLEMENTATIONS[generic.__name__, kind] = function
        return function

    return register


_NO_REFERENCE_COUNTS = {"_nrt": False}  # see vcgym.network.kernels.jit.kernel


def _of(name: str, uplink: Any) -> Callable[..., Any] | None:
    return _IMPLEMENTATIONS.get((name, uplink.instance_class)) if isinstance(uplink, types.BaseNamedTuple) else None


@overload(is_commanded, jit_options=_NO_REFERENCE_COUNTS)
def _is_commanded(uplink):
    return _of("is_commanded", uplink)


@overload(pass_on, jit_options=_NO_REFERENCE_COUNTS)
def _pass_on(uplink, s, now_us):
    return _of("pass_on", uplink)


@overload(leave, jit_options=_NO_REFERENCE_COUNTS)
def _leave(uplink, call, tables, s, delay_us, router, router_state):
    return _of("leave", uplink)


@overload(is_draining, jit_options=_NO_REFERENCE_COUNTS)
def _is_draining(uplink, s, slot, packets):
    return _of("is_draining", uplink)


@overload(sent_onto_path_us, jit_options=_NO_REFERENCE_COUNTS)
def _sent_onto_path_us(uplink, s, record):
    return _of("sent_onto_path_us", uplink)


@through(is_commanded, NoUplink)
def _never(uplink):
    return False


@through(pass_on, NoUplink)
def _nothing_to_pass_on(uplink, s, now_us):
    return True


@through(leave, NoUplink)
def _nothing_leaves(uplink, call, tables, s, delay_us, router, router_state):
    pass


@through(is_draining, NoUplink)
def _nothing_drains(uplink, s, slot, packets):
    return False


@through(sent_onto_path_us, NoUplink)
def _at_once(uplink, s, record):
    return record.sent_us
