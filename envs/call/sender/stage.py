"""Where the loop of a call meets an uplink: five functions chosen by the class of what stands in `Tables.uplink`.

Without an uplink (`NoUplink`) a packet leaves in its slot, at once, and none of this costs anything: the class decides while compiling.
With one (vcgym.envs.call.sender.onto_paths) packets leave when send queue, pacer and bottleneck let them.
"""

from typing import Any, NamedTuple

from vcgym.network.kernels.generic import class_constant, generic


class NoUplink(NamedTuple):
    """Packets leave at once."""


has_uplink = class_constant(lambda cls: cls is not NoUplink)


@generic(abstract=True)
def is_commanded(uplink: Any) -> Any:
    """Return True if an agent sends commands to the sender."""


@generic(abstract=True)
def pass_on(uplink: Any, s: int, now_us: int) -> Any:
    """Send what the agent decided on its way to the sender; False if too many commands are under way."""


@generic(abstract=True)
def leave(uplink: Any, call: Any, tables: Any, s: int, delay_us: Any, router: Any, router_state: Any) -> None:
    """Play the sender to the end of the slot; what comes out of the bottleneck goes onto the path in force."""


@generic(abstract=True)
def is_draining(uplink: Any, s: int, slot: int, packets: int) -> Any:
    """Return True if anything may still leave, or arrive, after the last packet of the call was captured."""


@generic(abstract=True)
def sent_onto_path_us(uplink: Any, s: int, record: Any) -> Any:
    """Return the instant at which the media packet of a record went onto its path."""


@is_commanded.register(NoUplink)
def _never(uplink):
    return False


@pass_on.register(NoUplink)
def _nothing_to_pass_on(uplink, s, now_us):
    return True


@leave.register(NoUplink)
def _nothing_leaves(uplink, call, tables, s, delay_us, router, router_state):
    pass


@is_draining.register(NoUplink)
def _nothing_drains(uplink, s, slot, packets):
    return False


@sent_onto_path_us.register(NoUplink)
def _at_once(uplink, s, record):
    return record.sent_us
