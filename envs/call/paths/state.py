"""State of calls behind the sender, in slots of 10 ms: path, receiver and player.

Each slot has this order: arrivals up to now (each updates the receiver's control and queue), the player's ticks up to now, the router's
decision and the capture of a packet (and possibly a probe). After the last packet everything in flight is drained: arrivals continue, the
receiver flushes, the player plays to the end. The first half is `receiving`, the second `routing`.

Without a sender stage a packet goes onto its path in the slot of its capture (`NoSender`). With one (vcgym.envs.call.sender.onto_paths) it
first passes the send queue, the pacer and a shared bottleneck.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import PATHS, controls_of
from vcgym.envs.call.counters import Counters
from vcgym.envs.call.paths.feed import Commands, Feed
from vcgym.envs.call.paths.prefetching import ask_for_beginnings, ask_for_places, beginnings, ring
from vcgym.envs.call.stages import end_slot, look_ahead
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records
from vcgym.network.playout.in_flight import InFlight
from vcgym.network.playout.player import Player
from vcgym.network.playout.receiver import Receiver
from vcgym.network.playout.slot_window import SlotWindow

ARRIVALS, LEVEL, ANSWERED, FINISHED = 0, 1, 2, 3  # points at which a call resumes


@record
class CallState:
    """State of a call over paths."""

    slot: int = 0  # current slot
    slots: int = 0  # length of the call
    interval: int = 0  # slots between decisions of an agent that controls the path
    phase: int = ARRIVALS
    block: int = 0  # first loaded block of the world
    waiting_node: int = -1  # the arrival for which an agent at the receiver must decide
    router_read: int = 0  # records that an internal router has read from a feed shared with an agent
    probe_turn: int = 0  # index of this slot in the probe schedule
    seed: np.uint64 = np.uint64(0)
    feedback_loss: float = 0.0
    in_flight: InFlight
    receiver: Receiver
    window: SlotWindow  # delays for the player's target
    feed: Feed  # to the router's location
    to_sender: Commands  # path
    to_receiver: Commands  # lag or target
    counters: Counters
    packet_shift: int = 0  # a packet is captured every 2^packet_shift slots; its number is slot >> packet_shift


_CALL: np.dtype[np.void] = records(CallState, 0).dtype
ANSWER = np.dtype((np.record, [(str(control), "i8") for control in controls_of(PATHS)]))

# Offsets of the memory that a slot touches (prefetching.py).
BEGINNINGS = beginnings(_CALL)
_BY_SLOT = tuple(
    ring(_CALL, part, name)
    for part, name in (
        ("in_flight", "arrival_us"), ("in_flight", "next_node"), ("in_flight", "path"), ("in_flight", "head"), ("receiver", "standing"),
        ("window", "delay_us"),
    )
)  # fmt: skip
FEED_ROWS = ring(_CALL, "feed", "rows")


class ShortFrames(NamedTuple):
    """Frames of one slot: a constant in compiled code, which costs nothing."""


class LongFrames(NamedTuple):
    """Frames of several slots."""


@generic(inlined=True)
def shift_of(frames: Any, call: Any) -> int:
    """Return the `packet_shift` of a call, for ShortFrames the constant 0."""
    return 0


@shift_of.register(LongFrames)
def _shift_of(frames, call):
    return call.packet_shift


class PathTables(NamedTuple):
    """Arrays whose size depends on the batch; first axis: session, except for `probe_path`."""

    player: Player
    last_used: NDArray[np.int64]  # (sessions, paths), slot of the last media packet on each path
    windows: NDArray[np.int64]  # (sessions, windows, 3): ticks that are not silent, concealed ticks, sum of the offset in us
    log: NDArray  # (sessions, packets) of PacketLog, or (sessions, 0)
    answers: NDArray  # (sessions,) of ANSWER, decisions of the agent; separate from the calls for locality
    probe_path: NDArray[np.int64]  # probe schedule: the path probed in each slot of a period, or -1
    frames: Any  # ShortFrames or LongFrames


class Calls(NamedTuple):
    """Calls over paths and their world; first axis of `rows` and `tables`: session."""

    rows: NDArray  # (sessions,) of CallState
    tables: PathTables  # arrays whose size depends on the batch
    delay_us: NDArray[np.int32]  # int32 (blocks, sessions, paths, BLOCK_SLOTS), the world's delays from each call's `block` on


@kernel
def awaits_level(call):
    """Return True if an agent at the receiver must decide about the current arrival."""
    return call.phase == LEVEL


@end_slot.register(Calls)
def _end_slot(calls, s):
    calls.rows[s].slot += 1


@look_ahead.register(Calls)
def _look_ahead(calls, which, turn):
    if turn + 2 < which.size:
        ask_for_beginnings(calls.rows, which[turn + 2], BEGINNINGS)
    if turn + 1 < which.size:
        ask_for_places(calls.rows, calls.tables, which[turn + 1], _BY_SLOT, FEED_ROWS, calls.delay_us)
