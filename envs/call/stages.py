"""The stages of a call, and what the loop asks of each; which function answers is chosen by the class of a stage while compiling.

    source -> [scheduler -> pacer -> bottleneck] -> path -> receiver -> player

The sender's stage is everything before the paths: `NoSender` (vcgym.envs.call.paths), whose packets go onto a path in the slot of their
capture; `Sender` (vcgym.envs.call.sender.events), a bottleneck behind which nothing follows; or `Uplink`
(vcgym.envs.call.sender.onto_paths), one behind which paths follow. The paths' stage is everything behind: `NoPaths`, or `Paths`
(vcgym.envs.call.paths). An absent stage compiles to nothing.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.generic import generic

# Why a call stops, or that it goes on.
DECIDE, BLOCK, DONE = 0, 1, 2  # an agent must decide, the next block of the world is needed, the call is over
RING_FULL = 3  # a packet arrives too late for the calendar, or more records, commands or packets wait than their rings hold
GOES_ON = 4
PAUSED = 5  # the sender has come to the end of the slot


class NoPaths(NamedTuple):
    """A call that ends behind the bottleneck; the sender knows what arrives there."""


class Stages(NamedTuple):
    """The stages of a batch of calls.

    Attributes:
        sender: NoSender, Sender or Uplink.
        paths: NoPaths or Paths.
        why: int64 (sessions,), why each call stopped; DONE before it begins.
    """

    sender: Any
    paths: Any
    why: NDArray[np.int64]


@generic(inlined=True)
def look_ahead(paths: Any, which: Any, turn: int) -> None:
    """Ask for the memory that the calls of `which` after index `turn` will touch."""


@generic(inlined=True)
def receive(paths: Any, sender: Any, s: int) -> int:
    """Play a slot of call `s` at the paths: arrivals, ticks of the player, decisions, capture. Return why the call stops, or GOES_ON."""
    return GOES_ON


@generic(inlined=True)
def end_slot(paths: Any, s: int) -> None:
    """Go on to the next slot."""


@generic(abstract=True, inlined=True)
def leave(sender: Any, paths: Any, s: int) -> Any:
    """Play the sender of call `s` to the end of the slot, or, without paths, until it stops. Return why the call stops, or GOES_ON."""


@generic(abstract=True, inlined=True)
def capture(sender: Any, paths: Any, s: int, path: int) -> Any:
    """Send the packet of this slot onto `path` if packets leave at once; return False if it would arrive beyond the calendar."""


@generic(abstract=True, inlined=True)
def is_commanded(sender: Any) -> Any:
    """Return True if an agent sends commands to a control of the sender."""


@generic(abstract=True, inlined=True)
def pass_on(sender: Any, s: int, now_us: int) -> Any:
    """Send what the agent decided on its way to the sender; return False if too many commands are under way."""


@generic(abstract=True, inlined=True)
def is_draining(sender: Any, s: int, slot: int, packets: int) -> Any:
    """Return True while anything may still leave, or arrive, after the last packet of the call was captured."""


@generic(abstract=True, inlined=True)
def sent_onto_path_us(sender: Any, s: int, record: Any) -> Any:
    """Return when the media packet of a record went onto its path."""
