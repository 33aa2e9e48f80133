"""The stages of a call, and what the loop asks of each; which function answers is chosen by the class of a stage while compiling.

    source -> [scheduler -> pacer -> bottleneck] -> routing onto a path -> receiver -> player

The sender's stage is everything before the paths: `NoSender` (paths.routing), whose packets go onto a path in the slot of their capture;
`Sender` (sender.events), a bottleneck behind which nothing follows; or `Uplink` (sender.onto_paths), one behind which paths follow. Behind
it are `Routing` (paths.routing) and `Receiving` (paths.receiving), which share `Calls` (paths.state), or `NoPaths` in place of each. An
absent stage compiles to nothing.

A stage is handed no other stage with rules of its own: what it compiles to is then compiled once, whatever rules the others have.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.generic import generic

# Why a call stops, or that it goes on.
DECIDE, BLOCK, DONE = 0, 1, 2  # an agent must decide, the next block of the world is needed, the call is over
RING_FULL = 3  # a packet arrives too late for the calendar, or more records, commands or packets wait than their rings hold
RUNNING = 4
PAUSED = 5  # the sender has come to the end of the slot


class NoPaths(NamedTuple):
    """A call that ends behind the bottleneck; the sender knows what arrives there."""


class Stages(NamedTuple):
    """The stages of a batch of calls.

    Attributes:
        why: int64 (sessions,), why each call stopped; DONE before it begins.
        sender: NoSender, Sender or Uplink.
        calls: Calls or NoPaths.
        routing: Routing or NoPaths.
        receiving: Receiving or NoPaths.
    """

    why: NDArray[np.int64]
    sender: Any
    calls: Any = NoPaths()
    routing: Any = NoPaths()
    receiving: Any = NoPaths()


class Roles(NamedTuple):
    """Facts of the other stages that a stage has to know, constants in compiled code."""

    is_asked: bool  # a remote agent decides every `interval` slots
    sets_level: bool  # its decisions go to the receiver too
    is_told: bool  # what arrives is told to the router's location


@generic(inlined=True)
def asks_agent(stage: Any) -> bool:
    """Return True if a remote agent decides for a control of the stage."""
    return False


@generic(inlined=True)
def reads_feed(routing: Any) -> bool:
    """Return True if a router inside learns from what arrives."""
    return False


@generic(inlined=True)
def look_ahead(calls: Any, which: Any, turn: int) -> None:
    """Ask for the memory that the calls of `which` after index `turn` will touch."""


@generic(inlined=True)
def arrive(receiving: Any, calls: Any, sender: Any, s: int, roles: Any) -> int:
    """Play what comes first in a slot: arrivals, and ticks of the player. Return why the call stops, or RUNNING."""
    return RUNNING


@generic(inlined=True)
def depart(routing: Any, calls: Any, sender: Any, s: int, roles: Any) -> int:
    """Play what follows in a slot: decisions, and the capture of a packet. Return why the call stops, or RUNNING."""
    return RUNNING


@generic(abstract=True, inlined=True)
def leave(sender: Any, calls: Any, routing: Any, s: int) -> Any:
    """Play the sender of call `s` to the end of the slot, or, without paths, until it stops. Return why the call stops, or RUNNING."""


@generic(inlined=True)
def end_slot(calls: Any, s: int) -> None:
    """Go on to the next slot."""


@generic(abstract=True, inlined=True)
def capture(sender: Any, calls: Any, s: int, path: int) -> Any:
    """Send the packet of this slot onto `path` if packets leave at once; return False if it would arrive beyond the calendar."""


@generic(inlined=True)
def reveal(sender: Any, calls: Any, routing: Any, s: int, path: int) -> None:
    """Tell an oracle of the packet of this slot if it leaves at once."""


@generic(abstract=True, inlined=True)
def pass_on(sender: Any, s: int, now_us: int) -> Any:
    """Send what the agent decided on its way to the sender; return False if too many commands are under way."""


@generic(abstract=True, inlined=True)
def is_draining(sender: Any, s: int, slot: int, packets: int) -> Any:
    """Return True while anything may still leave, or arrive, after the last packet of the call was captured."""


@generic(abstract=True, inlined=True)
def sent_onto_path_us(sender: Any, s: int, record: Any) -> Any:
    """Return when the media packet of a record went onto its path."""
