"""The stages of a call and their interface to the loop; the class of a stage selects its functions at compile time.

    source -> [scheduler -> pacer -> bottleneck] -> routing onto a path -> receiver -> player

The sender stage is everything before the paths: `NoSender` (paths.routing), whose packets go onto a path in the slot of their capture;
`Protecting` (paths.protecting), the same with copies, earlier frames and repair packets; `Sender` (sender.events), a bottleneck without
paths behind it; or `Uplink` (sender.onto_paths), a bottleneck with paths behind it. It is followed by `Routing` (paths.routing) and
`Receiving` (paths.receiving), which share `Calls` (paths.state), or by `NoPaths` in place of each. An absent stage compiles to nothing.

A stage never receives another stage that has rules, so it is compiled once for all rules of the other stages.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.generic import generic

# Reasons why a call stops, or RUNNING.
DECIDE, BLOCK, DONE = 0, 1, 2  # an agent must decide, the next block of the world is needed, the call is done
RING_FULL = 3  # a packet arrives too late for the calendar, or a ring of records, commands or packets is full
RUNNING = 4
PAUSED = 5  # the sender has reached the end of the slot


class NoPaths(NamedTuple):
    """Placeholder for paths in a call that ends behind the bottleneck."""


class Stages(NamedTuple):
    """The stages of a batch of calls."""

    why: NDArray[np.int64]  # int64 (sessions,), reason why each call stopped; DONE before its start
    sender: Any  # NoSender, Sender or Uplink
    calls: Any = NoPaths()  # Calls or NoPaths
    routing: Any = NoPaths()  # Routing or NoPaths
    receiving: Any = NoPaths()  # Receiving or NoPaths


class Roles(NamedTuple):
    """Properties of the other stages that a stage needs; constants in compiled code."""

    agent_decides: bool  # a remote agent decides every `interval` slots
    agent_sets_playout: bool  # its decisions go to the receiver too
    reports_arrivals: bool  # arrivals are reported to the router's location


@generic(inlined=True)
def asks_agent(stage: Any) -> bool:
    """Return True if a remote agent decides for a control of the stage."""
    return False


@generic(inlined=True)
def reads_feed(stage: Any) -> bool:
    """Return True if a rule of the stage learns from records that leave the receiver."""
    return False


@generic(inlined=True)
def look_ahead(calls: Any, which: Any, turn: int) -> None:
    """Prefetch the memory of the calls in `which` after index `turn`."""


@generic(inlined=True)
def arrive(receiving: Any, calls: Any, sender: Any, s: int, roles: Any) -> int:
    """Play the first part of a slot: arrivals and ticks of the player. Return the reason why the call stops, or RUNNING."""
    return RUNNING


@generic(inlined=True)
def depart(routing: Any, calls: Any, sender: Any, s: int, roles: Any) -> int:
    """Play the second part of a slot: decisions and the capture of a packet. Return the reason why the call stops, or RUNNING."""
    return RUNNING


@generic(abstract=True, inlined=True)
def leave(sender: Any, calls: Any, routing: Any, s: int) -> Any:
    """Play the sender of a call to the end of the slot or, without paths, until it stops. Return the reason why it stops, or RUNNING."""


@generic(inlined=True)
def end_slot(calls: Any, s: int) -> None:
    """Advance to the next slot."""


@generic(abstract=True, inlined=True)
def capture(sender: Any, calls: Any, s: int, path: int) -> Any:
    """Send the packet of this slot on the path in force, if packets leave at once; return False if it would arrive beyond the calendar."""


@generic(inlined=True)
def reveal(sender: Any, calls: Any, routing: Any, s: int, path: int) -> None:
    """Give an oracle the delay that this slot's packet has on `path`, the one in force, if it leaves at once."""


@generic(abstract=True, inlined=True)
def pass_on(sender: Any, s: int, now_us: int) -> Any:
    """Send the agent's decision to the sender; return False if too many commands are in flight."""


@generic(abstract=True, inlined=True)
def is_draining(sender: Any, s: int, slot: int, slots: int) -> Any:
    """Return True while a packet may still leave or arrive in `slot`, after the capture of the last of `slots` packets."""


@generic(inlined=True)
def next_repaired(sender: Any, call: Any, s: int, node: int, so_far: int) -> int:
    """Return the number of a packet that has not arrived and that the arrival of `node` makes available, -1 if there is none.

    `so_far` packets have been made available by this arrival before; the call is read.
    """
    return -1


@generic(abstract=True, inlined=True)
def sent_onto_path_us(sender: Any, call: Any, s: int, record: Any) -> Any:
    """Return the time at which the packet of a record, whose node is the call's `waiting_node`, went onto its path."""
