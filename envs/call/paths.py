"""The stages behind the sender: path, receiver and player of a call of one packet per 10-ms slot.

In each slot, in this order: what arrives up to now (each arrival moves the receiver's control and its queue), the player's ticks up to now,
the router's decision, the packet is captured (and a probe may leave). After the last packet everything in flight is drained: arrivals go
on, the receiver flushes, the player plays to the end.

Without a sender's stage a packet goes onto its path in the slot of its capture (`NoSender`); with one (vcgym.envs.call.sender.onto_paths)
when send queue, pacer and a shared bottleneck let it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.records import MEDIA, PROBE, Record
from vcgym.baselines.rule import COMMANDED, INSIDE, OUTSIDE, buffer_type, decide, decided, learns, reveal_delay, update
from vcgym.envs.call.controllers import level_at
from vcgym.envs.call.counters import COUNTERS, count_sent, count_tick
from vcgym.envs.call.feed import COMMANDS, FEED, RECORDS, append, command, in_force, read_next, unread
from vcgym.envs.call.prefetching import ask_for_beginnings, ask_for_places, beginnings, ring
from vcgym.envs.call.stages import (
    BLOCK,
    DECIDE,
    DONE,
    GOES_ON,
    RING_FULL,
    capture,
    end_slot,
    is_commanded,
    is_draining,
    leave,
    look_ahead,
    pass_on,
    receive,
    sent_onto_path_us,
)  # fmt: skip
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.playout import player as players
from vcgym.network.playout.in_flight import SLOTS, WIRE, pop, push, sort_day
from vcgym.network.playout.player import Player
from vcgym.network.playout.receiver import RECEIVER, accept, expect, flush, is_late
from vcgym.network.playout.slot_window import SLOT_WINDOW, expect_slot, smallest_delay_us

_ARRIVALS, _LEVEL, _ANSWERED, _DONE = 0, 1, 2, 3  # where a call goes on

CALL = np.dtype(
    (
        np.record,
        [
            ("slot", "i8"),  # the slot being played = packets sent so far
            ("packets", "i8"),  # length of the call
            ("interval", "i8"),  # packets from decision to decision of an agent that controls the path
            ("phase", "i8"),
            ("block", "i8"),  # first block of the world that is loaded
            ("waiting_node", "i8"),  # the arrival an agent at the receiver is asked about
            ("heard", "i8"),  # of the feed, by a router inside where an agent reads it too
            ("probe_turn", "i8"),  # index of this slot in the schedule of probes
            ("seed", "u8"),
            ("feedback_loss", "f8"),
            ("wire", WIRE),
            ("receiver", RECEIVER),
            ("window", SLOT_WINDOW),  # of the delays that the player aims by
            ("feed", FEED),  # to the router's location
            ("to_sender", COMMANDS),
            ("to_receiver", COMMANDS),
            ("counters", COUNTERS),
        ],
    )
)
ANSWER = np.dtype((np.record, [("path", "i8"), ("level_us", "i8")]))

# Where in a call lies what a slot touches (prefetching.py).
BEGINNINGS = beginnings(CALL)
_BY_SLOT = tuple(
    ring(CALL, part, name)
    for part, name in (
        ("wire", "arrival_us"), ("wire", "next_node"), ("wire", "path"), ("wire", "head"), ("receiver", "standing"), ("window", "delay_us"),
    )
)  # fmt: skip
FEED_ROWS = ring(CALL, "feed", "rows")


class Tables(NamedTuple):
    """Arrays whose size depends on the batch; first axis the session but for `probe_path`."""

    player: Player
    last_used: NDArray[np.int64]  # (sessions, paths) slot in which a path last carried a media packet
    windows: NDArray[np.int64]  # (sessions, windows, 3): ticks that are not silent, concealed ticks, sum of the offset in us
    log: NDArray  # (sessions, packets) of LOG, or (sessions, 0)
    answers: NDArray  # (sessions,) of ANSWER, what the agent decided: apart from the calls, which lie too far from each other
    probe_path: NDArray[np.int64]  # schedule of probes: the path probed in each slot of a period, or -1


class Paths(NamedTuple):
    """The stages behind the sender, of a batch of calls.

    Attributes:
        calls: (sessions,) of CALL.
        tables: what differs in size.
        delay_us: int32 (blocks, sessions, paths, BLOCK_SLOTS) of the world, from each call's `block` on.
        router: parameters of the router's rule, or a controller of `vcgym.envs.call.controllers`.
        router_state: its state.
        receiver: the same for the receiver.
        receiver_state: its state.
    """

    calls: NDArray
    tables: Tables
    delay_us: NDArray[np.int32]
    router: Any
    router_state: Any
    receiver: Any
    receiver_state: Any


@kernel
def _slot_of(call, node):
    """Return the slot in which a node was sent: the latest one that falls on it."""
    return call.slot - ((call.slot - node) & (SLOTS - 1))


@kernel
def record_in_hand(call, receiver):
    """Return the media packet that has just arrived, as the receiver sees it."""
    node = call.waiting_node
    packet = _slot_of(call, node)
    arrived_us = call.wire.arrival_us[node]
    late = 1 if is_late(call.receiver, packet, buffer_type(receiver)) else 0
    path = int(call.wire.path[node])
    return Record(MEDIA, packet, path, packet * SLOT_US, arrived_us, arrived_us, call.receiver.level_us, late)


@kernel
def awaits_level(call):
    """Return True if an agent at the receiver must answer the arrival in hand."""
    return call.phase == _LEVEL


@kernel
def _asks_agent(paths, sender):
    """Return True if a remote agent decides every `interval` slots."""
    return decided(paths.router) == OUTSIDE or decided(paths.receiver) == COMMANDED or is_commanded(sender)


@kernel
def _tell(call, record):
    """Put a record into the feed; return False if it is full.

    After the last packet nothing is decided: of what then arrives, seconds late, the last observation shows half a ring; nobody needs the
    rest.
    """
    if call.slot >= call.packets and call.feed.written - call.feed.read >= RECORDS // 2:
        return True
    return append(call.feed, record)


@kernel
def _take_in(paths, sender, call, s, seen, level_us, is_asked):
    """Give the packet in hand to the receiver, the player and the feed; return False if the feed is full."""
    tables = paths.tables
    call.receiver.level_us = level_us
    call.receiver.last_arrival_us = seen.arrived_us
    if seen.late == 0:
        accept(call.receiver, tables.log, s, seen.packet, seen.arrived_us, level_us, buffer_type(paths.receiver))
        players.unit_there(tables.player, s, seen.packet, seen.arrived_us)
    fastest_us = smallest_delay_us(call.window, seen.packet, seen.arrived_us - seen.sent_us)
    players.aim(tables.player, s, seen.arrived_us, level_us, fastest_us)
    if not learns(paths.router) and not is_asked:
        return True
    lost = call.feedback_loss
    if lost > 0.0 and rng.uniform(rng.stream_key(call.seed, 0, rng.FEEDBACK), seen.packet) < lost:
        return True
    # The router's location is told when the packet went onto its path.
    sent_us = sent_onto_path_us(sender, s, seen)
    return _tell(call, Record(seen.kind, seen.packet, seen.path, sent_us, seen.arrived_us, seen.known_us, seen.lag_us, seen.late))


@kernel
def _arrivals(paths, sender, call, s, is_asked):
    """Take in everything that arrives up to now; return DECIDE if an agent at the receiver must answer first."""
    while True:
        node = pop(call.wire, call.slot)
        if node < 0:
            return GOES_ON
        if node >= SLOTS:
            slot = _slot_of(call, node)
            at_us = call.wire.arrival_us[node]
            path = int(call.wire.path[node])
            if not _tell(call, Record(PROBE, slot, path, slot * SLOT_US, at_us, at_us, call.receiver.level_us, 0)):
                return RING_FULL
            continue
        call.waiting_node = node
        if decided(paths.receiver) == OUTSIDE:
            return DECIDE
        seen = record_in_hand(call, paths.receiver)
        if decided(paths.receiver) == COMMANDED:
            commanded_us = in_force(call.to_receiver, seen.arrived_us)
            level_us = level_at(paths.receiver, paths.receiver_state, s, seen, commanded_us)
        else:
            update(paths.receiver, paths.receiver_state, s, seen)
            level_us = decide(paths.receiver, paths.receiver_state, s, call.slot * SLOT_US)
        if not _take_in(paths, sender, call, s, seen, level_us, is_asked):
            return RING_FULL


@kernel
def _ticks(call, tables, s, now_us):
    while tables.player.clock[s].tick_us <= now_us:
        at_us = tables.player.clock[s].tick_us
        kind, unit, offset_us = players.tick(tables.player, s)
        count_tick(call.counters, tables.windows, tables.log, s, kind, unit, offset_us, at_us)


@kernel
def _publish(call, path, now_us):
    """Send the sender a plan, if it is a new one; return False if too many are under way."""
    sent = command(call.to_sender, path, now_us)
    if sent == 1 and call.slot > 0:
        call.counters.plans_sent += 1
    return sent >= 0


@kernel
def _route(paths, call, s, now_us, is_shared):
    """Let the router inside learn what has reached its location and decide for this packet. `is_shared`: an agent reads the feed too."""
    if learns(paths.router):
        read_by_agent = call.feed.read
        if is_shared:
            call.feed.read = call.heard
        while unread(call.feed, now_us):
            update(paths.router, paths.router_state, s, read_next(call.feed))
        if is_shared:
            call.heard, call.feed.read = call.feed.read, read_by_agent
    return _publish(call, decide(paths.router, paths.router_state, s, now_us), now_us)


@kernel
def _answered(paths, sender, call, s, now_us):
    """Pass on what the remote agent decided."""
    answer = paths.tables.answers[s]
    if decided(paths.receiver) == COMMANDED and command(call.to_receiver, answer.level_us, now_us) < 0:
        return False
    return pass_on(sender, s, now_us) and (decided(paths.router) == INSIDE or _publish(call, answer.path, now_us))


@kernel
def delay_on(paths, s, path):
    """Return the delay of what goes onto `path` in the slot being played, in us, or LOST."""
    slot = paths.calls[s].slot
    return paths.delay_us[slot // BLOCK_SLOTS - paths.calls[s].block, s, path, slot % BLOCK_SLOTS]


@kernel
def send(paths, s, packet, path, sent_us, arrives_us):
    """Send media packet `packet` onto `path` at `sent_us`.

    Args:
        paths: of class Paths.
        s: the session.
        packet: number of the packet, the slot of its capture.
        path: index of the path.
        sent_us: when it goes onto the path.
        arrives_us: when it arrives, or LOST.

    Returns:
        False, and the packet is lost, if it would arrive beyond the calendar.
    """
    call = paths.calls[s]
    reveal_delay(paths.router, paths.router_state, s, path, arrives_us - sent_us if arrives_us != LOST else LOST)
    fits = arrives_us == LOST or push(call.wire, packet, packet & (SLOTS - 1), path, arrives_us - packet * SLOT_US)
    count_sent(call.counters, paths.tables.log, s, packet, path, arrives_us if fits else LOST)
    return fits


@kernel
def _capture(paths, sender, call, s, now_us, is_asked):
    """Capture the packet of this slot, and send the probe that is due on an idle path."""
    tables, packet = paths.tables, call.slot
    expect(call.receiver, tables.log, s, packet, now_us)
    expect_slot(call.window, packet)
    if not players.expect_unit(tables.player, s, packet):
        return False
    path = in_force(call.to_sender, now_us)
    if not capture(sender, paths, s, path):
        return False
    if tables.probe_path.size == 0:
        return True
    tables.last_used[s, path] = packet
    probed = tables.probe_path[call.probe_turn]
    call.probe_turn = call.probe_turn + 1 if call.probe_turn + 1 < tables.probe_path.size else 0
    if probed >= 0 and packet - tables.last_used[s, probed] >= tables.probe_path.size:
        call.counters.probes_sent += 1
        delay = delay_on(paths, s, probed)
        if (learns(paths.router) or is_asked) and delay != LOST:
            return push(call.wire, packet, SLOTS + (packet & (SLOTS - 1)), probed, delay)
    return True


@kernel
def _drain(call, tables, s):
    """Play a slot after the last packet; return True when everything has come out."""
    if call.wire.in_flight == 0:
        flush(call.receiver, tables.log, s, call.packets)
        return tables.player.clock[s].tick_us == players.NEVER_US
    return False


@receive.register(Paths)
def _receive(paths, sender, s):
    call, tables = paths.calls[s], paths.tables
    is_asked = _asks_agent(paths, sender)
    captures, now_us = call.slot < call.packets, call.slot * SLOT_US
    sends = captures or is_draining(sender, s, call.slot, call.packets)
    if call.phase == _DONE:
        return DONE
    if sends and call.slot // BLOCK_SLOTS - call.block >= paths.delay_us.shape[0]:
        return BLOCK
    if call.phase == _ARRIVALS:
        sort_day(call.wire, call.slot)
    elif call.phase == _LEVEL:
        seen = record_in_hand(call, paths.receiver)
        level_us = level_at(paths.receiver, paths.receiver_state, s, seen, tables.answers[s].level_us)
        if not _take_in(paths, sender, call, s, seen, level_us, is_asked):
            return RING_FULL
        call.phase = _ARRIVALS
    if call.phase == _ARRIVALS:
        why = _arrivals(paths, sender, call, s, is_asked)
        if why != GOES_ON:
            call.phase = _LEVEL
            return why
        _ticks(call, tables, s, now_us)
        if is_asked and captures and call.slot % call.interval == 0:
            call.phase = _ANSWERED
            return DECIDE
    if captures:
        if is_asked and call.phase == _ANSWERED:
            if not _answered(paths, sender, call, s, now_us):
                return RING_FULL
            call.phase = _ARRIVALS
        if decided(paths.router) == INSIDE and not _route(paths, call, s, now_us, is_asked):
            return RING_FULL
        if not _capture(paths, sender, call, s, now_us, is_asked):
            return RING_FULL
    elif not sends and _drain(call, tables, s):
        call.phase = _DONE
        return DONE
    return GOES_ON


@end_slot.register(Paths)
def _end_slot(paths, s):
    paths.calls[s].slot += 1


@look_ahead.register(Paths)
def _look_ahead(paths, which, turn):
    if turn + 2 < which.size:
        ask_for_beginnings(paths.calls, which[turn + 2], BEGINNINGS)
    if turn + 1 < which.size:
        ask_for_places(paths.calls, paths.tables, which[turn + 1], _BY_SLOT, FEED_ROWS, paths.delay_us)


class NoSender(NamedTuple):
    """The sender's stage of a call whose packets go onto a path in the slot of their capture."""


@is_commanded.register(NoSender)
def _is_commanded(sender):
    return False


@pass_on.register(NoSender)
def _pass_on(sender, s, now_us):
    return True


@capture.register(NoSender)
def _capture_at_once(sender, paths, s, path):
    packet = paths.calls[s].slot
    delay, now_us = delay_on(paths, s, path), packet * SLOT_US
    return send(paths, s, packet, path, now_us, now_us + delay if delay != LOST else np.int64(LOST))


@leave.register(NoSender)
def _leave(sender, paths, s):
    return GOES_ON


@is_draining.register(NoSender)
def _is_draining(sender, s, slot, packets):
    return False


@sent_onto_path_us.register(NoSender)
def _sent_onto_path_us(sender, s, record):
    return record.sent_us
