"""The one loop: a call of one packet per 10-ms slot, in which levers are moved by rules inside or by an agent outside.

In each slot, in this order: what arrives up to now (each arrival moves the receiver's lever and its queue), the player's ticks up to now,
the router's decision, the packet (and possibly a probe) leaves. The loop stops where the next block of the world is needed, where an agent
must decide, and at the end. After the last packet everything in flight is settled: arrivals go on, the receiver flushes, the player plays
to the end.

With an uplink (vcgym.envs.call.sender.uplink) a packet does not leave in its slot at once, but when send queue, pacer and a shared
bottleneck let it;
and after the last one the sender is drained first.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.records import MEDIA, PROBE, Record
from vcgym.baselines.rule import COMMANDED, INSIDE, OUTSIDE, buffer_type, decide, decided, learns, reveal_delay, update
from vcgym.envs.call.counters import BOOKS, NOT_LOGGED, book_send, book_tick
from vcgym.envs.call.feed import COMMANDS, FEED, RECORDS, append, command, in_force, read_next, unread
from vcgym.envs.call.prefetching import ask_for_beginnings, ask_for_places, beginnings, ring
from vcgym.envs.call.sender.stage import has_uplink, is_commanded, is_draining, leave, pass_on, sent_onto_path_us
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.playout import player as players
from vcgym.network.playout.in_flight import SLOTS, WIRE, pop, push, sort_day
from vcgym.network.playout.player import Player
from vcgym.network.playout.receiver import RECEIVER, accept, expect, flush, is_late
from vcgym.network.playout.slot_window import SLOT_WINDOW, expect_slot, smallest_delay_us

# Why the loop stopped.
DECIDE, BLOCK, DONE = 0, 1, 2
RING_FULL = 3  # a packet arrives too late for the calendar, or more records, commands or packets wait than their rings hold

_ARRIVALS, _LEVEL, _ANSWERED, _OVER = 0, 1, 2, 3  # where a call goes on

CALL = np.dtype(
    (
        np.record,
        [
            ("slot", "i8"),  # the slot being played = packets sent so far
            ("packets", "i8"),  # length of the call
            ("interval", "i8"),  # packets from decision to decision of an agent that holds the router's lever
            ("phase", "i8"),
            ("why", "i8"),  # why the loop stopped
            ("block", "i8"),  # first block of the world that is loaded
            ("waiting_node", "i8"),  # the arrival an agent at the receiver is asked about
            ("heard", "i8"),  # of the feed, by a router inside where an agent reads it too
            ("probe_turn", "i8"),  # place of this slot in the schedule of probes
            ("seed", "u8"),
            ("feedback_loss", "f8"),
            ("wire", WIRE),
            ("receiver", RECEIVER),
            ("window", SLOT_WINDOW),  # of the delays that the player aims by
            ("feed", FEED),  # to the router's place
            ("to_sender", COMMANDS),
            ("to_receiver", COMMANDS),
            ("books", BOOKS),
        ],
    )
)

ANSWER = np.dtype((np.record, [("path", "i8"), ("level_us", "i8")]))

# Where in a call lies what a slot touches (ahead.py).
BEGINNINGS = beginnings(CALL)
_BY_SLOT = tuple(
    ring(CALL, part, name)
    for part, name in (
        ("wire", "arrival_us"), ("wire", "next_node"), ("wire", "path"), ("wire", "head"), ("receiver", "standing"), ("window", "delay_us"),
    )
)  # fmt: skip
FEED_ROWS = ring(CALL, "feed", "rows")


class Tables(NamedTuple):
    """What differs in size from call to call; first axis the session but for `probe_path`."""

    player: Player
    last_used: NDArray[np.int64]  # (sessions, paths) slot in which a path last carried a media packet
    windows: NDArray[np.int64]  # (sessions, windows, 3): ticks that are not silent, concealed ticks, sum of the offset in us
    log: NDArray  # (sessions, packets) of LOG, or (sessions, 0)
    answers: NDArray  # (sessions,) of ANSWER, what the agent decided: apart from the calls, which lie too far from each other
    probe_path: NDArray[np.int64]  # schedule of probes: the path probed in each slot of a period, or -1
    uplink: Any  # NoUplink, or vcgym.envs.call.sender.onto_paths.Uplink


@kernel
def _slot_of(call, node):
    """The slot in which a node was sent: the latest one that falls on it."""
    return call.slot - ((call.slot - node) & (SLOTS - 1))


@kernel
def record_in_hand(call, receiver_lever):
    """The media packet that has just arrived, as the receiver sees it."""
    node = call.waiting_node
    packet = _slot_of(call, node)
    arrived_us = call.wire.arrival_us[node]
    late = 1 if is_late(call.receiver, packet, buffer_type(receiver_lever)) else 0
    path = int(call.wire.path[node])
    return Record(MEDIA, packet, path, packet * SLOT_US, arrived_us, arrived_us, call.receiver.level_us, late)


@kernel
def _asks(router, receiver_lever, uplink):
    """Whether an agent is asked every `interval` slots: one at the router's place, of which commands go out."""
    return decided(router) == OUTSIDE or decided(receiver_lever) == COMMANDED or is_commanded(uplink)


@kernel
def _as_told(uplink, s, seen):
    """A media packet as the router's place is told of it: sent when it went onto its path."""
    sent_us = sent_onto_path_us(uplink, s, seen)
    return Record(seen.kind, seen.packet, seen.path, sent_us, seen.arrived_us, seen.known_us, seen.lag_us, seen.late)


@kernel
def _tell(call, record):
    """Put a record into the feed; False if it is full.

    After the last packet nothing is decided: of what then arrives, seconds late, the last observation shows half a ring, the rest is news
    for nobody.
    """
    if call.slot >= call.packets and call.feed.written - call.feed.read >= RECORDS // 2:
        return True
    return append(call.feed, record)


@kernel
def _take_in(call, tables, s, seen, level_us, router, receiver_lever):
    """Let the receiver, the player and the feed have the packet in hand; False if the feed is full."""
    call.receiver.level_us = level_us
    call.receiver.last_arrival_us = seen.arrived_us
    if seen.late == 0:
        accept(call.receiver, tables.log, s, seen.packet, seen.arrived_us, level_us, buffer_type(receiver_lever))
        players.unit_there(tables.player, s, seen.packet, seen.arrived_us)
    fastest_us = smallest_delay_us(call.window, seen.packet, seen.arrived_us - seen.sent_us)
    players.aim(tables.player, s, seen.arrived_us, level_us, fastest_us)
    if not learns(router) and not _asks(router, receiver_lever, tables.uplink):
        return True
    lost = call.feedback_loss
    if lost > 0.0 and rng.uniform(rng.stream_key(call.seed, 0, rng.FEEDBACK), seen.packet) < lost:
        return True
    return _tell(call, _as_told(tables.uplink, s, seen))


@kernel
def _arrivals(call, tables, s, router, receiver_lever, receiver_state):
    """Everything that arrives up to now; DECIDE if an agent at the receiver must answer first."""
    while True:
        node = pop(call.wire, call.slot)
        if node < 0:
            return DONE
        if node >= SLOTS:
            slot = _slot_of(call, node)
            at_us = call.wire.arrival_us[node]
            path = int(call.wire.path[node])
            if not _tell(call, Record(PROBE, slot, path, slot * SLOT_US, at_us, at_us, call.receiver.level_us, 0)):
                return RING_FULL
            continue
        call.waiting_node = node
        if decided(receiver_lever) == OUTSIDE:
            return DECIDE
        seen = record_in_hand(call, receiver_lever)
        if decided(receiver_lever) == COMMANDED:
            level_us = in_force(call.to_receiver, seen.arrived_us)
        else:
            update(receiver_lever, receiver_state, s, seen)
            level_us = decide(receiver_lever, receiver_state, s, call.slot * SLOT_US)
        if not _take_in(call, tables, s, seen, level_us, router, receiver_lever):
            return RING_FULL


@kernel
def _ticks(call, tables, s, now_us):
    while tables.player.clock[s].tick_us <= now_us:
        at_us = tables.player.clock[s].tick_us
        kind, unit, offset_us = players.tick(tables.player, s)
        book_tick(call.books, tables.windows, tables.log, s, kind, unit, offset_us, at_us)


@kernel
def _publish(call, path, now_us):
    """Send the sender a plan, if it is a new one; False if too many are under way."""
    sent = command(call.to_sender, path, now_us)
    if sent == 1 and call.slot > 0:
        call.books.plans_sent += 1
    return sent >= 0


@kernel
def _route(call, s, now_us, router, router_state, is_shared):
    """The router inside: it learns what has reached its place, then decides for this packet. `is_shared`: an agent reads the feed too."""
    if learns(router):
        read_by_agent = call.feed.read
        if is_shared:
            call.feed.read = call.heard
        while unread(call.feed, now_us):
            update(router, router_state, s, read_next(call.feed))
        if is_shared:
            call.heard, call.feed.read = call.feed.read, read_by_agent
    return _publish(call, decide(router, router_state, s, now_us), now_us)


@kernel
def _answered(call, tables, s, now_us, router, receiver_lever):
    """Pass on what the agent at the router's place decided."""
    if decided(receiver_lever) == COMMANDED and command(call.to_receiver, tables.answers[s].level_us, now_us) < 0:
        return False
    return pass_on(tables.uplink, s, now_us) and (decided(router) == INSIDE or _publish(call, tables.answers[s].path, now_us))


@kernel
def _send(call, tables, s, now_us, delay_us, router, router_state, is_asked):
    """The packet of this slot leaves on the path in force, and the probe that is due on an idle path."""
    packet = call.slot
    expect(call.receiver, tables.log, s, packet, now_us)
    expect_slot(call.window, packet)
    if not players.expect_unit(tables.player, s, packet):
        return False
    path = in_force(call.to_sender, now_us)
    if not has_uplink(tables.uplink):
        delay = delay_us[packet // BLOCK_SLOTS - call.block, s, path, packet % BLOCK_SLOTS]
        reveal_delay(router, router_state, s, path, delay)
        book_send(call.books, tables.log, s, packet, path, NOT_LOGGED if delay == LOST else now_us + delay)
        if delay != LOST and not push(call.wire, packet, packet & (SLOTS - 1), path, delay):
            return False
    if tables.probe_path.size == 0:
        return True
    tables.last_used[s, path] = packet
    probed = tables.probe_path[call.probe_turn]
    call.probe_turn = call.probe_turn + 1 if call.probe_turn + 1 < tables.probe_path.size else 0
    if probed >= 0 and packet - tables.last_used[s, probed] >= tables.probe_path.size:
        call.books.probes_sent += 1
        delay = delay_us[packet // BLOCK_SLOTS - call.block, s, probed, packet % BLOCK_SLOTS]
        if (learns(router) or is_asked) and delay != LOST:
            return push(call.wire, packet, SLOTS + (packet & (SLOTS - 1)), probed, delay)
    return True


@kernel
def _settle(call, tables, s):
    """A slot after the last packet; True when everything has come out."""
    if call.wire.in_flight == 0:
        flush(call.receiver, tables.log, s, call.packets)
        return tables.player.clock[s].tick_us == players.NEVER_US
    return False


@kernel
def _play(call, tables, s, delay_us, router, router_state, receiver_lever, receiver_state):
    """Play a call until it has to wait; returns why."""
    is_asked = _asks(router, receiver_lever, tables.uplink)
    while True:
        sending, now_us = call.slot < call.packets, call.slot * SLOT_US
        leaving = sending or is_draining(tables.uplink, s, call.slot, call.packets)
        if leaving and call.slot // BLOCK_SLOTS - call.block >= delay_us.shape[0]:
            return BLOCK
        if call.phase == _ARRIVALS:
            sort_day(call.wire, call.slot)
        elif call.phase == _LEVEL:
            seen = record_in_hand(call, receiver_lever)
            if not _take_in(call, tables, s, seen, tables.answers[s].level_us, router, receiver_lever):
                return RING_FULL
            call.phase = _ARRIVALS
        if call.phase == _ARRIVALS:
            why = _arrivals(call, tables, s, router, receiver_lever, receiver_state)
            if why != DONE:
                call.phase = _LEVEL
                return why
            _ticks(call, tables, s, now_us)
            if is_asked and sending and call.slot % call.interval == 0:
                call.phase = _ANSWERED
                return DECIDE
        if sending:
            if is_asked and call.phase == _ANSWERED:
                if not _answered(call, tables, s, now_us, router, receiver_lever):
                    return RING_FULL
                call.phase = _ARRIVALS
            if decided(router) == INSIDE and not _route(call, s, now_us, router, router_state, is_asked):
                return RING_FULL
            if not _send(call, tables, s, now_us, delay_us, router, router_state, is_asked):
                return RING_FULL
        elif not leaving and _settle(call, tables, s):
            call.phase = _OVER
            return DONE
        if leaving:
            leave(tables.uplink, call, tables, s, delay_us, router, router_state)
        call.slot += 1


@kernel
def play(calls, tables, which, delay_us, router, router_state, receiver_lever, receiver_state):
    """Play each call of `which` until it has to wait; its `why` says for what (DECIDE, BLOCK, DONE, RING_FULL).

    Args:
        calls: (sessions,) of CALL.
        tables: of class Tables.
        which: int64, the sessions to play, each once.
        delay_us: int32 (blocks, sessions, paths, BLOCK_SLOTS) of the world, from each call's `block` on.
        router: parameters of the router, or a holder of `vcgym.envs.call.controllers`.
        router_state: its state.
        receiver_lever: parameters of the receiver's rule, or a holder.
        receiver_state: its state.

    Returns:
        RING_FULL if a ring of any call is full, else BLOCK if any call waits for the world, else DECIDE.
    """
    waits = DECIDE
    for turn in range(which.size):
        if turn + 2 < which.size:
            ask_for_beginnings(calls, which[turn + 2], BEGINNINGS)
        if turn + 1 < which.size:
            ask_for_places(calls, tables, which[turn + 1], _BY_SLOT, FEED_ROWS, delay_us)
        s = which[turn]
        call = calls[s]
        if call.phase != _OVER:
            call.why = _play(call, tables, s, delay_us, router, router_state, receiver_lever, receiver_state)
            if call.why == RING_FULL or (call.why == BLOCK and waits == DECIDE):
                waits = call.why
    return waits
