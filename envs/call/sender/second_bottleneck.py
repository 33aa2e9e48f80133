"""Packets of the first call on their way from the first to the second bottleneck, in order.

The time at which a packet reaches the second bottleneck is known when it enters the first. Until then its arrival is NOT_YET plus this
time, and no report covers it.
"""

import numpy as np

from vcgym.baselines.rule import NEVER_US
from vcgym.envs.call.sender.cross_traffic import record_arrival
from vcgym.envs.call.sender.in_flight import LOST, NOT_YET, ring_index
from vcgym.envs.call.sender.state import NO_QUEUE
from vcgym.network.bottleneck.queue import DROPPED, offer
from vcgym.network.kernels.jit import kernel


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
