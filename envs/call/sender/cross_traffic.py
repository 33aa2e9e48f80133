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
    """Play all events of bottleneck `s` except those of the first call, up to and including `until_us`."""


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
    arrived_us = schedule.out_us - sender.begins_us + sender.forward_us
    index = ring_index(packet.number)
    tables.flight.arrived_us[row, index] = arrived_us
    tables.flight.marked[row, index] = packet.marked
    if packet.number < tables.log.shape[1]:
        tables.log[row, packet.number].arrived_us = arrived_us
