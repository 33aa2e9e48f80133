"""Cross traffic at the bottleneck of a call, selected by class: flows only, or flows and other calls (other_calls.py)."""

from typing import Any, NamedTuple

from vcgym.envs.call.sender.in_flight import ring_index
from vcgym.network.bottleneck.cross_traffic import DEPARTED, run_flows
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
