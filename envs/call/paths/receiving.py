"""The receiver's half of a slot: an arrival updates the receiver's control and queue, and is reported to the router's location."""

from typing import Any, NamedTuple

import numpy as np

from vcgym.baselines.from_agent import AGENT, REMOTE, level_at, origin_of
from vcgym.baselines.records import COPY, MEDIA, PROBE, Record
from vcgym.baselines.rule import buffer_type, decide, learns_from_copies, update
from vcgym.envs.call.counters import count_tick
from vcgym.envs.call.paths.feed import RECORDS, append, in_force
from vcgym.envs.call.paths.state import ANSWERED, ARRIVALS, FINISHED, LEVEL, shift_of
from vcgym.envs.call.stages import (
    BLOCK,
    DECIDE,
    DONE,
    RING_FULL,
    RUNNING,
    arrive,
    asks_agent,
    is_draining,
    next_repaired,
    sent_onto_path_us,
)
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.playout import player as players
from vcgym.network.playout.in_flight import kind_of, number_of, pop, sort_bucket
from vcgym.network.playout.receiver import FIRST, accept, flush, has_arrived, is_late
from vcgym.network.playout.slot_window import smallest_delay_us


class Receiving(NamedTuple):
    """Receiver's half of a batch of calls."""

    rule: Any  # parameters of the rule of the playout, or `FromAgent`
    state: Any  # its state


@asks_agent.register(Receiving)
def _asks_agent(stage):
    return origin_of(stage.rule) == REMOTE


@kernel
def _packet_of(call, node, shift):
    """Return the number of the packet of a node that arrives in the current slot; of a probe, of the last packet before it."""
    return number_of(call.in_flight, node, call.slot) >> shift


@kernel
def _record_of(call, node, kind, late, shift):
    """Return the record of a node that arrives, for the receiver's rule."""
    slot, at_us = number_of(call.in_flight, node, call.slot), call.in_flight.arrival_us[node]
    return Record(kind, slot >> shift, int(call.in_flight.path[node]), slot * SLOT_US, at_us, at_us, call.receiver.level_us, late)


@kernel
def record_in_hand(call, rule, shift):
    """Return the record of the media packet that has just arrived at the receiver; `shift` is the `packet_shift` of the call."""
    node = call.waiting_node
    kind = kind_of(call.in_flight, node) if learns_from_copies(rule) else np.int64(MEDIA)
    late = is_late(call.receiver, _packet_of(call, node, shift), buffer_type(rule), SLOT_US << shift)
    return _record_of(call, node, kind, 1 if late else 0, shift)


@kernel
def _report(sender, call, s, seen, kind):
    """Append a record to the feed as one of `kind`, if it is not lost on the way; return False if the feed is full.

    After the last packet there are no decisions. The last observation shows at most half a ring of records that arrive then, seconds late;
    further ones are not needed.
    """
    sent_us, lost = seen.sent_us, call.feedback_loss
    if kind != PROBE:
        # A copy has a draw of its own.
        if lost > 0.0 and rng.uniform(rng.stream_key(call.seed, kind, rng.FEEDBACK), seen.packet) < lost:
            return True
        # The record contains the time at which the packet went onto its path.
        sent_us = sent_onto_path_us(sender, call, s, seen)
    if call.slot >= call.slots and call.feed.written - call.feed.read >= RECORDS // 2:
        return True
    return append(call.feed, Record(kind, seen.packet, seen.path, sent_us, seen.arrived_us, seen.known_us, seen.lag_us, seen.late))


@kernel
def _take_in(rule, sender, tables, call, s, seen, level_us, reports_arrivals):
    """Give the current packet to receiver and player, its record to the feed if `reports_arrivals`; return False if that is full."""
    call.receiver.level_us = level_us
    call.receiver.last_arrival_us = seen.arrived_us
    shift = shift_of(tables.frames, call)
    slot, units, packet_us = seen.packet << shift, 1 << shift, SLOT_US << shift
    if accept(call.receiver, tables.log, s, seen.packet, seen.arrived_us, level_us, buffer_type(rule), packet_us) == FIRST:
        for unit in range(slot, slot + units):
            players.unit_there(tables.player, s, unit, seen.arrived_us)
    # The first unit of a packet has waited for the last.
    fastest_us = smallest_delay_us(call.window, slot, seen.arrived_us - seen.sent_us) + (units - 1) * SLOT_US
    players.set_target(tables.player, s, seen.arrived_us, level_us, fastest_us)
    return not reports_arrivals or _report(sender, call, s, seen, kind_of(call.in_flight, call.waiting_node))


@kernel
def _level_of(rule, rule_state, call, s, seen):
    """Return the level of a receiver that is not set at each arrival from outside."""
    if origin_of(rule) == AGENT:
        return call.receiver.level_us
    if origin_of(rule) == REMOTE:
        return level_at(rule, rule_state, s, seen, in_force(call.to_receiver, seen.arrived_us))
    update(rule, rule_state, s, seen)
    return decide(rule, rule_state, s, call.slot * SLOT_US)


@kernel
def _take_repaired(rule, rule_state, sender, tables, call, s, node):
    """Take in the packets that a node that has arrived makes available; they are not reported."""
    so_far = 0
    while True:
        packet = next_repaired(sender, call, s, node, so_far)
        if packet < 0:
            return
        at_us, packet_us = call.in_flight.arrival_us[node], SLOT_US << shift_of(tables.frames, call)
        late = 1 if is_late(call.receiver, packet, buffer_type(rule), packet_us) else 0
        path = int(call.in_flight.path[node])
        seen = Record(MEDIA, packet, path, packet * packet_us, at_us, at_us, call.receiver.level_us, late)
        _take_in(rule, sender, tables, call, s, seen, _level_of(rule, rule_state, call, s, seen), False)
        if packet < tables.log.shape[1]:
            tables.log[s, packet].arrived_us = at_us
        so_far += 1


@kernel
def _take_arrivals(rule, rule_state, sender, tables, call, s, reports_arrivals):
    """Process all arrivals up to now; return DECIDE if an agent at the receiver must decide first."""
    node, shift = np.int64(-1), shift_of(tables.frames, call)
    while True:
        # What the last arrival has brought besides its own packet.
        if node >= 0:
            _take_repaired(rule, rule_state, sender, tables, call, s, node)
        node = pop(call.in_flight, call.slot)
        if node < 0:
            return RUNNING
        call.waiting_node = node
        kind = kind_of(call.in_flight, node)
        is_packet = kind in (MEDIA, COPY)
        # What brings no packet of the call only gives a record, as news of its path.
        if not is_packet or has_arrived(call.receiver, _packet_of(call, node, shift)):
            seen = _record_of(call, node, kind, 0, shift)
            if learns_from_copies(rule) and is_packet:
                update(rule, rule_state, s, seen)
            if reports_arrivals and not _report(sender, call, s, seen, kind):
                return RING_FULL
            continue
        if origin_of(rule) == AGENT:
            return DECIDE
        seen = record_in_hand(call, rule, shift)
        level_us = _level_of(rule, rule_state, call, s, seen)
        if not _take_in(rule, sender, tables, call, s, seen, level_us, reports_arrivals):
            return RING_FULL
        if kind == COPY and seen.packet < tables.log.shape[1]:
            tables.log[s, seen.packet].arrived_us = seen.arrived_us


@kernel
def _tick(tables, call, s, now_us):
    """Run the player up to `now_us`."""
    shift = shift_of(tables.frames, call)
    while tables.player.clock[s].tick_us <= now_us:
        at_us = tables.player.clock[s].tick_us
        kind, unit, offset_us = players.tick(tables.player, s)
        count_tick(call.counters, tables.windows, tables.log, s, kind, unit, offset_us, at_us, shift)


@kernel
def _drain(tables, call, s):
    """Play a slot after the last packet; return True when the call has ended."""
    # What has not arrived by now never will, so the receiver gives out what it holds, and the player plays to the end of the stream.
    if call.in_flight.count == 0:
        shift = shift_of(tables.frames, call)
        flush(call.receiver, tables.log, s, call.slots >> shift, SLOT_US << shift)
        return tables.player.clock[s].tick_us == players.NEVER_US
    return False


@arrive.register(Receiving)
def _arrive(receiving, calls, sender, s, roles):
    rule, call, tables = receiving.rule, calls.rows[s], calls.tables
    captures, now_us = call.slot < call.slots, call.slot * SLOT_US
    sends = captures or is_draining(sender, s, call.slot, call.slots)
    if call.phase == FINISHED:
        return DONE
    if sends and call.slot // BLOCK_SLOTS - call.block >= calls.delay_us.shape[0]:
        return BLOCK
    if call.phase == ARRIVALS:
        sort_bucket(call.in_flight, call.slot)
    elif origin_of(rule) == AGENT and call.phase == LEVEL:
        seen = record_in_hand(call, rule, shift_of(tables.frames, call))
        level_us = level_at(rule, receiving.state, s, seen, tables.answers[s].playout)
        if not _take_in(rule, sender, tables, call, s, seen, level_us, roles.reports_arrivals):
            return RING_FULL
        call.phase = ARRIVALS
    if call.phase == ARRIVALS:
        why = _take_arrivals(rule, receiving.state, sender, tables, call, s, roles.reports_arrivals)
        if why != RUNNING:
            call.phase = LEVEL
            return why
        _tick(tables, call, s, now_us)
        if roles.agent_decides and captures and call.slot % call.interval == 0:
            call.phase = ANSWERED
            return DECIDE
    if not sends and _drain(tables, call, s):
        call.phase = FINISHED
        return DONE
    return RUNNING
