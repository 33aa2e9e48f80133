"""The router's half of a slot: decisions for packets, commands that carry them to the sender, and packets that go onto a path."""

from typing import Any, NamedTuple

import numpy as np

from vcgym.baselines.from_agent import AGENT, RULE, origin_of
from vcgym.baselines.records import MEDIA, PROBE
from vcgym.baselines.rule import decide, learns, reveal_delay, update
from vcgym.envs.call.counters import count_sent
from vcgym.envs.call.paths.feed import command, in_force, read_next, unread
from vcgym.envs.call.paths.state import ANSWERED, ARRIVALS, shift_of
from vcgym.envs.call.stages import (
    RING_FULL,
    RUNNING,
    asks_agent,
    capture,
    depart,
    is_draining,
    leave,
    pass_on,
    reads_feed,
    reveal,
    sent_onto_path_us,
)
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.playout import player as players
from vcgym.network.playout.in_flight import push
from vcgym.network.playout.receiver import expect
from vcgym.network.playout.slot_window import expect_slot


class Routing(NamedTuple):
    """Router's half of a batch of calls."""

    router: Any  # parameters of the router's rule, or `FromAgent`
    state: Any  # its state


@asks_agent.register(Routing)
def _asks_agent(stage):
    return origin_of(stage.router) == AGENT


@reads_feed.register(Routing)
def _reads_feed(stage):
    return learns(stage.router)


@kernel
def _publish(call, path, now_us):
    """Send the sender a plan if it differs from the last one; return False if too many are in flight."""
    sent = command(call.to_sender, path, now_us)
    if sent == 1 and call.slot > 0:
        call.counters.plans_sent += 1
    return sent >= 0


@kernel
def _route(routing, call, s, now_us, is_shared):
    """Update the internal router with the records at its location and decide for this packet. `is_shared`: an agent reads the feed too."""
    if learns(routing.router):
        # Agent and internal router read one ring at their own pace: put the router's mark in, and the agent's back. The ring keeps what the
        # agent has not read, since it decides less often.
        read_by_agent = call.feed.read
        if is_shared:
            call.feed.read = call.router_read
        while unread(call.feed, now_us):
            update(routing.router, routing.state, s, read_next(call.feed))
        if is_shared:
            call.router_read, call.feed.read = call.feed.read, read_by_agent
    return _publish(call, decide(routing.router, routing.state, s, now_us), now_us)


@kernel
def _pass_answer_on(answers, sender, call, s, now_us, agent_sets_playout, sets_path):
    """Send the remote agent's decisions: to the sender and, if it sets them, level and path."""
    answer = answers[s]
    if agent_sets_playout and command(call.to_receiver, answer.playout, now_us) < 0:
        return False
    return pass_on(sender, s, now_us) and (not sets_path or _publish(call, answer.path, now_us))


@kernel
def delay_on(calls, s, path):
    """Return the delay in us, or LOST, of a packet sent on `path` in the current slot."""
    call = calls.rows[s]
    return calls.delay_us[call.slot // BLOCK_SLOTS - call.block, s, path, call.slot % BLOCK_SLOTS]


@kernel
def send(calls, s, slot, path, arrives_us):
    """Send the media packet captured in `slot` on a path; it arrives at `arrives_us`, after the start of the current slot, or is LOST.

    Return False, and lose the packet, if it would arrive beyond the calendar.
    """
    call = calls.rows[s]
    fits = arrives_us == LOST or push(call.in_flight, slot, MEDIA, path, arrives_us - slot * SLOT_US)
    packet = slot >> shift_of(calls.tables.frames, call)
    count_sent(call.counters, calls.tables.log, s, packet, path, arrives_us if fits else LOST)
    return fits


@kernel
def _capture(calls, sender, s, path):
    """Capture the packet of this slot for `path`; return False if a ring is full. Its audio was captured in this slot and those before."""
    call, tables = calls.rows[s], calls.tables
    shift = shift_of(tables.frames, call)
    expect(call.receiver, tables.log, s, call.slot >> shift, call.slot * SLOT_US, SLOT_US << shift)
    for unit in range(call.slot, call.slot + (1 << shift)):
        expect_slot(call.window, unit)
        if not players.expect_unit(tables.player, s, unit):
            return False
    if tables.probe_path.size > 0:
        tables.last_used[s, path] = call.slot
    return capture(sender, calls, s, path)


@kernel
def _probe(calls, s, reports_arrivals):
    """Send the probe that is due in this slot if its path is idle; return False if it would arrive beyond the calendar."""
    call, tables = calls.rows[s], calls.tables
    probed = tables.probe_path[call.probe_turn]
    call.probe_turn = call.probe_turn + 1 if call.probe_turn + 1 < tables.probe_path.size else 0
    # A path that carried media within the last period needs no probe.
    if probed >= 0 and call.slot - tables.last_used[s, probed] >= tables.probe_path.size:
        call.counters.probes_sent += 1
        delay = delay_on(calls, s, probed)
        if reports_arrivals and delay != LOST:
            return push(call.in_flight, call.slot, PROBE, probed, delay)
    return True


@depart.register(Routing)
def _depart(routing, calls, sender, s, roles):
    call = calls.rows[s]
    if call.slot >= call.slots:
        return RUNNING
    now_us = call.slot * SLOT_US
    if roles.agent_decides and call.phase == ANSWERED:
        sets_path = origin_of(routing.router) != RULE
        if not _pass_answer_on(calls.tables.answers, sender, call, s, now_us, roles.agent_sets_playout, sets_path):
            return RING_FULL
        call.phase = ARRIVALS
    if call.slot & ((1 << shift_of(calls.tables.frames, call)) - 1) == 0:
        if origin_of(routing.router) == RULE and not _route(routing, call, s, now_us, roles.agent_decides):
            return RING_FULL
        path = in_force(call.to_sender, now_us)
        reveal(sender, calls, routing, s, path)
        if not _capture(calls, sender, s, path):
            return RING_FULL
    return RUNNING if calls.tables.probe_path.size == 0 or _probe(calls, s, roles.reports_arrivals) else RING_FULL


class NoSender(NamedTuple):
    """Sender stage of a call whose packets go onto a path in the slot of their capture."""


@pass_on.register(NoSender)
def _pass_on(sender, s, now_us):
    return True


@reveal.register(NoSender)
def _reveal(sender, calls, routing, s, path):
    reveal_delay(routing.router, routing.state, s, path, delay_on(calls, s, path))


@capture.register(NoSender)
def _capture_at_once(sender, calls, s, path):
    slot, delay = calls.rows[s].slot, delay_on(calls, s, path)
    return send(calls, s, slot, path, slot * SLOT_US + delay if delay != LOST else np.int64(LOST))


@leave.register(NoSender)
def _leave(sender, calls, routing, s):
    return RUNNING


@is_draining.register(NoSender)
def _is_draining(sender, s, slot, slots):
    return False


@sent_onto_path_us.register(NoSender)
def _sent_onto_path_us(sender, call, s, record):
    return record.sent_us
