"""Connection of a sender to the paths: slot by slot, packets that leave the shared bottleneck go onto the path in force.

In each slot, after its decisions, commands that have reached the sender take effect, and the sender's events
(vcgym.envs.call.sender.events) are played to the end of the slot. Each packet that leaves the bottleneck takes the path in force at that
instant, with the path's delay in this slot. Packets keep their order within a path if the world's mode requires it. An audio packet enters
the call's calendar under the slot of its capture; a video packet only counts as on time or not.

Reports reach the sender after the control delay of the call, rounded up to whole slots, so that all reported packets have left the
bottleneck. Probes bypass the bottleneck. A packet that would arrive more than 41 s after its capture does not fit into the calendar and is
lost; the sender stops the same time after the last capture.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.from_agent import REMOTE, origin_of
from vcgym.baselines.rule import reveal_delay
from vcgym.envs.call.features.sender import write_sender
from vcgym.envs.call.paths.feed import Commands, command, in_force
from vcgym.envs.call.paths.routing import delay_on, send
from vcgym.envs.call.sender.events import play_sender, set_target
from vcgym.envs.call.sender.in_flight import LOST, ring_index
from vcgym.envs.call.sender.reports import settle_packet
from vcgym.envs.call.sender.state import SenderTables
from vcgym.envs.call.stages import RUNNING, asks_agent, capture, is_draining, leave, pass_on, sent_onto_path_us
from vcgym.network.bottleneck.send_queue import AUDIO
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.in_flight import SLOTS

STATUSES = 512  # sender features in flight to the location, one per decision; a power of two


@record
class Commanded:
    """Decisions of a remote agent for a sender."""

    rate: Commands  # bit/s
    order: Commands
    answer_rate: int = 0  # the last decision; 0: no change
    answer_order: int = 0
    status_slots: int = 0  # delay of the sender's features in slots
    keeps_order: int = 0  # 1: packets keep their order within a path


class Uplink(NamedTuple):
    """Sender before the paths of a call; first axis of arrays: session."""

    remote: NDArray  # (sessions,) of Commanded
    senders: NDArray  # (sessions,) of SenderState
    tables: SenderTables
    rate: Any
    rate_state: Any
    order: Any
    last_us: NDArray[np.int64]  # (sessions, paths) latest arrival over a path
    out_us: NDArray[np.int64]  # (sessions, SLOTS), time at which a node's audio packet went onto its path
    statuses: NDArray[np.float32]  # (sessions, STATUSES, features) by decision modulo STATUSES


@asks_agent.register(Uplink)
def _asks_agent(stage):
    return origin_of(stage.rate) == REMOTE or origin_of(stage.order) == REMOTE


@pass_on.register(Uplink)
def _pass_on(sender, s, now_us):
    remote = sender.remote[s]
    if origin_of(sender.rate) == REMOTE:
        bps = remote.answer_rate if remote.answer_rate > 0 else remote.rate.latest
        if command(remote.rate, bps, now_us) < 0:
            return False
    return origin_of(sender.order) != REMOTE or command(remote.order, remote.answer_order, now_us) >= 0


@is_draining.register(Uplink)
def _is_draining(sender, s, slot, slots):
    row = sender.senders[s]
    return slot < slots + SLOTS and (row.queue.waiting > 0 or sender.tables.departures.settled[s] < row.packets)


@sent_onto_path_us.register(Uplink)
def _sent_onto_path_us(sender, call, s, record):
    return sender.out_us[s, record.packet & (SLOTS - 1)]


@capture.register(Uplink)
def _capture(sender, calls, s, path):
    return True


@leave.register(Uplink)
def _leave(sender, calls, routing, s):
    call, remote, row = calls.rows[s], sender.remote[s], sender.senders[s]
    if call.slot >= call.slots and not is_draining(sender, s, call.slot, call.slots):
        return RUNNING
    now_us = call.slot * SLOT_US
    if origin_of(sender.rate) == REMOTE:
        set_target(row, in_force(remote.rate, now_us))
    if origin_of(sender.order) == REMOTE:
        row.queue.governs = in_force(remote.order, now_us)
    row.until_us = now_us + SLOT_US
    play_sender(row, sender.tables, s, sender.rate, sender.rate_state, sender.order)
    _depart(sender, calls, routing, s)
    _settle(row, sender.tables, s)
    _send_status(sender, call, s)
    return RUNNING


@kernel
def _depart(sender, calls, routing, s):
    """Send all packets that leave the bottleneck in this slot, in order, onto the path in force."""
    row, flight, departures = sender.senders[s], sender.tables.flight, sender.tables.departures
    call = calls.rows[s]
    while departures.next[s] < row.packets:
        index = ring_index(departures.next[s])
        if flight.arrived_us[s, index] != LOST:
            out_us = departures.out_us[s, index]
            # It leaves in a later slot, which may have another path in force, and has its own delays.
            if out_us >= row.until_us:
                return
            path = in_force(call.to_sender, out_us)
            arrives_us = _arrives_us(sender, s, path, out_us, delay_on(calls, s, path))
            if flight.kind[s, index] == AUDIO:
                packet = departures.number[s, index]
                sender.out_us[s, packet & (SLOTS - 1)] = out_us
                reveal_delay(routing.router, routing.state, s, path, arrives_us - out_us if arrives_us != LOST else LOST)
                if not send(calls, s, packet, path, arrives_us):
                    arrives_us = np.int64(LOST)
            flight.arrived_us[s, index] = arrives_us
            if departures.next[s] < sender.tables.log.shape[1]:
                sender.tables.log[s, departures.next[s]].arrived_us = arrives_us
        departures.next[s] += 1


@kernel
def _arrives_us(sender, s, path, out_us, delay):
    """Return the arrival time of a packet that goes onto a path at `out_us`, or LOST."""
    if delay == LOST:
        return np.int64(LOST)
    arrives_us = out_us + delay
    if sender.remote[s].keeps_order:
        arrives_us = max(arrives_us, sender.last_us[s, path])
        sender.last_us[s, path] = arrives_us
    return arrives_us


@kernel
def _settle(sender, tables, s):
    """Count the outcome of each packet once it and all before it have arrived or been lost."""
    departures = tables.departures
    while departures.settled[s] < departures.next[s]:
        index = ring_index(departures.settled[s])
        # It is still under way. Packets behind it may have arrived, but are counted in order, so that one mark is enough.
        if tables.flight.arrived_us[s, index] > sender.until_us:
            return
        settle_packet(sender, tables.flight, s, index)
        departures.settled[s] += 1


@kernel
def _send_status(uplink, call, s):
    """Send the sender's features to the agent's location, if they will be the newest there at a decision."""
    arrival_slot = call.slot + 1 + uplink.remote[s].status_slots
    if arrival_slot % call.interval == 0:
        write_sender(uplink.senders[s], uplink.statuses[s, (arrival_slot // call.interval) & (STATUSES - 1)])


@kernel
def prepare(uplink, s, to_sender_us):
    """Clear everything in flight; the location knows only the sender's initial state."""
    remote = uplink.remote[s]
    remote.status_slots = -(-to_sender_us // SLOT_US)
    uplink.last_us[s, :] = 0
    for i in range(STATUSES):
        write_sender(uplink.senders[s], uplink.statuses[s, i])
