"""Other packets at the bottleneck of a call, and the way of its own packets to a second bottleneck behind it.

Cross traffic is selected by class: flows only, or flows and other calls (other_calls.py).

The time at which a packet of the first call reaches the second bottleneck is known when it enters the first. Until then its arrival is
NOT_YET plus this time, and no report covers it. Packets pass in order.
"""

from typing import Any, NamedTuple

import numpy as np

from vcgym.baselines.rule import NEVER_US
from vcgym.envs.call.sender.in_flight import LOST, NO_QUEUE, NOT_YET, ring_index
from vcgym.network.bottleneck.cross_traffic import DEPARTED, run_flows
from vcgym.network.bottleneck.queue import DROPPED, offer
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel


class NoOtherCalls(NamedTuple):
    """Placeholder for no other calls."""


@generic(abstract=True)
def run_cross_traffic(others: Any, sender: Any, tables: Any, s: int, until_us: int) -> None:
    """Play all events of bottleneck `s` except those of the first call.

    Args:
        others: OtherCalls or NoOtherCalls; updated.
        sender: record of SENDER of the first call.
        tables: Tables of the first call; bottleneck and packets are updated.
        s: int64, session, and its bottleneck.
        until_us: int64, last instant that is played.
    """


@run_cross_traffic.register(NoOtherCalls)
def _alone(others, sender, tables, s, until_us):
    while run_flows(tables.dumbbell, s, until_us) == DEPARTED:
        deliver(sender, tables, s)


@kernel
def deliver(sender, tables, row):
    """Record the departure of a call's packet from the fair queue; until then it counts as lost."""
    fair = tables.dumbbell.queue.fair
    schedule = fair.schedule[sender.bottleneck]
    packet = fair.packets[sender.bottleneck, schedule.out_index]
    tables.flight.marked[row, ring_index(packet.number)] = packet.marked
    record_arrival(tables, row, packet.number, schedule.out_us - sender.begins_us + sender.forward_us)


@kernel
def record_arrival(tables, row, number, arrived_us):
    """Record the arrival of a packet in flight and in the log.

    Args:
        tables: Tables of the call, updated.
        row: int64, row of the call.
        number: int64, packet number, one of the last MAX_IN_FLIGHT.
        arrived_us: int64, arrival in time of the call, or LOST.
    """
    tables.flight.arrived_us[row, ring_index(number)] = arrived_us
    if number < tables.log.shape[1]:
        tables.log[row, number].arrived_us = arrived_us


@kernel
def skip_dropped(sender, flight, s):
    """Move `passed` to the next packet that is on its way; without a second bottleneck do nothing."""
    if sender.second != NO_QUEUE:
        while sender.passed < sender.packets and flight.arrived_us[s, ring_index(sender.passed)] == LOST:
            sender.passed += 1


@kernel
def onward_us(sender, flight, s):
    """Return the time at which the next packet reaches the second bottleneck, or NEVER_US."""
    if sender.second == NO_QUEUE or sender.passed == sender.packets:
        return np.int64(NEVER_US)
    return flight.arrived_us[s, ring_index(sender.passed)] - NOT_YET


@kernel
def pass_on(sender, tables, s):
    """Offer the next packet to the queue of the second bottleneck."""
    at_us, size = onward_us(sender, tables.flight, s), tables.flight.size_bytes[s, ring_index(sender.passed)]
    out_us = offer(tables.dumbbell.queue, tables.dumbbell.capacity, sender.second, sender.begins_us + at_us, size)
    record_arrival(tables, s, sender.passed, LOST if out_us == DROPPED else out_us - sender.begins_us + sender.forward_us)
    sender.passed += 1
    skip_dropped(sender, tables.flight, s)
