"""Between the sender and the paths: slot by slot, what comes out of the shared bottleneck goes onto the path in force.

In each slot, after the decisions of that slot: commands that have reached the sender take effect, the sender's own loop
(vcgym.envs.call.sender.loop) runs to the end of the slot, and each packet that comes out of the bottleneck in it takes the path in force at
that instant, for as long as the path takes in this slot. Within a path packets keep their order where the world's mode says so. An audio
packet goes onto the wire of the call, where it belongs to the slot of its capture; a video packet is on time or not.

Reports reach the sender after the control delay of the call, rounded up to whole slots, so that nothing they tell is still to come out.
Probes go onto their paths past the bottleneck. What is on its way for longer than the wire holds (41 s after its capture) is lost; as long
after the last capture the sender stops.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rule import COMMANDED, decided, reveal_delay
from vcgym.envs.call.counters import NOT_LOGGED, book_send
from vcgym.envs.call.features.sender import write_sender
from vcgym.envs.call.feed import COMMANDS, command, in_force
from vcgym.envs.call.sender import loop as sending
from vcgym.envs.call.sender.in_flight import LOST, place_of
from vcgym.envs.call.sender.stage import is_commanded, is_draining, leave, pass_on, sent_onto_path_us
from vcgym.network.bottleneck.send_queue import AUDIO
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.playout.in_flight import SLOTS, push

STATUSES = 512  # the sender's features on their way to the place, one for each decision; a power of two

OWN = np.dtype(
    (
        np.record,
        [
            ("rate", COMMANDS),  # bit/s
            ("order", COMMANDS),
            ("answer_bps", "i8"),  # what the agent decided; 0: as it is
            ("answer_order", "i8"),
            ("status_slots", "i8"),  # how long features of the sender are on their way
            ("keeps_order", "i8"),  # of each path
        ],
    )
)


class Uplink(NamedTuple):
    """A sender before the paths of a call; first axis of arrays the session."""

    own: NDArray  # (sessions,) of OWN
    senders: NDArray  # (sessions,) of SENDER
    tables: sending.Tables
    rate: Any
    rate_state: Any
    order: Any
    last_us: NDArray[np.int64]  # (sessions, paths) latest arrival over a path
    out_us: NDArray[np.int64]  # (sessions, SLOTS) when the audio packet of a node went onto its path
    statuses: NDArray[np.float32]  # (sessions, STATUSES, features) by decision modulo STATUSES


@is_commanded.register(Uplink)
def _is_commanded(uplink):
    return decided(uplink.rate) == COMMANDED or decided(uplink.order) == COMMANDED


@pass_on.register(Uplink)
def _pass_on(uplink, s, now_us):
    own = uplink.own[s]
    if decided(uplink.rate) == COMMANDED:
        bps = own.answer_bps if own.answer_bps > 0 else own.rate.latest
        if command(own.rate, bps, now_us) < 0:
            return False
    return decided(uplink.order) != COMMANDED or command(own.order, own.answer_order, now_us) >= 0


@is_draining.register(Uplink)
def _is_draining(uplink, s, slot, packets):
    sender = uplink.senders[s]
    return slot < packets + SLOTS and (sender.queue.waiting > 0 or uplink.tables.exits.settled[s] < sender.packets)


@sent_onto_path_us.register(Uplink)
def _sent_onto_path_us(uplink, s, record):
    return uplink.out_us[s, record.packet & (SLOTS - 1)]


@leave.register(Uplink)
def _leave(uplink, call, tables, s, delay_us, router, router_state):
    sender, own, now_us = uplink.senders[s], uplink.own[s], call.slot * SLOT_US
    if decided(uplink.rate) == COMMANDED:
        sending.set_target(sender, in_force(own.rate, now_us))
    if decided(uplink.order) == COMMANDED:
        sender.queue.governs = in_force(own.order, now_us)
    sender.until_us = now_us + SLOT_US
    sending.play_one(sender, uplink.tables, s, uplink.rate, uplink.rate_state, uplink.order)
    _come_out(uplink, call, tables, s, delay_us, router, router_state)
    _settle(sender, uplink.tables, s)
    _send_status(uplink, call, s)


@kernel
def _come_out(uplink, call, tables, s, delay_us, router, router_state):
    """All that leave the bottleneck in this slot, in order."""
    sender, flight, exits = uplink.senders[s], uplink.tables.flight, uplink.tables.exits
    while exits.next[s] < sender.packets:
        place = place_of(exits.next[s])
        if flight.arrived_us[s, place] != LOST:
            out_us = exits.out_us[s, place]
            if out_us >= sender.until_us:
                return
            path = in_force(call.to_sender, out_us)
            delay = delay_us[call.slot // BLOCK_SLOTS - call.block, s, path, call.slot % BLOCK_SLOTS]
            arrived_us = _arrives_us(uplink, s, path, out_us, delay)
            if flight.kind[s, place] == AUDIO:
                packet = exits.number[s, place]
                reveal_delay(router, router_state, s, path, arrived_us - out_us if arrived_us != LOST else LOST)
                if arrived_us != LOST and not push(call.wire, packet, packet & (SLOTS - 1), path, arrived_us - packet * SLOT_US):
                    arrived_us = np.int64(LOST)
                uplink.out_us[s, packet & (SLOTS - 1)] = out_us
                book_send(call.books, tables.log, s, packet, path, arrived_us if arrived_us != LOST else NOT_LOGGED)
            flight.arrived_us[s, place] = arrived_us
        exits.next[s] += 1


@kernel
def _arrives_us(uplink, s, path, out_us, delay):
    """When what goes onto a path now arrives."""
    if delay == LOST:
        return np.int64(LOST)
    arrived_us = out_us + delay
    if uplink.own[s].keeps_order:
        arrived_us = max(arrived_us, uplink.last_us[s, path])
        uplink.last_us[s, path] = arrived_us
    return arrived_us


@kernel
def _settle(sender, tables, s):
    """Book what became of each packet, once it and all before it have arrived or been lost."""
    exits = tables.exits
    while exits.settled[s] < exits.next[s]:
        place = place_of(exits.settled[s])
        if tables.flight.arrived_us[s, place] > sender.until_us:
            return
        sending.settle_packet(sender, tables.flight, s, place)
        exits.settled[s] += 1


@kernel
def _send_status(uplink, call, s):
    """The sender's features leave for the place, if they will be the newest there at a decision."""
    there = call.slot + 1 + uplink.own[s].status_slots
    if there % call.interval == 0:
        write_sender(uplink.senders[s], uplink.statuses[s, (there // call.interval) & (STATUSES - 1)])


@kernel
def prepare(uplink, s, to_sender_us):
    """Nothing is under way any more; all that is known at the place is how the sender begins."""
    own = uplink.own[s]
    own.status_slots = -(-to_sender_us // SLOT_US)
    uplink.last_us[s, :] = 0
    for i in range(STATUSES):
        write_sender(uplink.senders[s], uplink.statuses[s, i])
