"""Packets of a call in flight, at the bottlenecks and behind them; their outcomes become known with reports.

If the delay behind the bottleneck is constant, a packet's outcome is determined when it leaves the sender. With paths it is determined when
the packet leaves the bottleneck (`Departures`), and a later packet may overtake an earlier one.

The time at which a packet of the first call reaches a second bottleneck is known when it enters the first. Until then its arrival is
NOT_YET plus this time, and no report covers it. Packets pass in order.

Cross traffic is selected by class: flows only, or flows and other calls (other_calls.py).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rule import NEVER_US
from vcgym.network.bottleneck.cross_traffic import DEPARTED, run_flows
from vcgym.network.bottleneck.queue import DROPPED, offer
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel

MAX_IN_FLIGHT = 8192  # packets sent and not reported; a power of two
_MASK = MAX_IN_FLIGHT - 1
LOST = -1
NOT_YET = 1 << 62  # has not left the bottleneck
NO_QUEUE = -1  # in place of the index of a reverse or second bottleneck that the world lacks


class Flight(NamedTuple):
    """Packets by number modulo MAX_IN_FLIGHT; first axis: session."""

    created_us: NDArray[np.int64]
    expires_us: NDArray[np.int64]
    sent_us: NDArray[np.int64]
    arrived_us: NDArray[np.int64]  # LOST: never
    size_bytes: NDArray[np.int64]
    kind: NDArray[np.int64]
    marked: NDArray[np.int8]  # 1: congestion experienced


class Departures(NamedTuple):
    """Packets that leave the bottleneck onto paths, by number modulo MAX_IN_FLIGHT; first axis: session, of length 0 without paths."""

    out_us: NDArray[np.int64]  # (sessions, MAX_IN_FLIGHT), departure from the bottleneck; undefined for dropped packets
    number: NDArray[np.int64]  # number of the audio packet or the video frame
    reported_us: NDArray[np.int64]  # arrival as reported to the sender, or LOST if a later packet arrived first
    known_us: NDArray[np.int64]  # time of that report
    next: NDArray[np.int64]  # (sessions,), the first packet that has not left the bottleneck
    settled: NDArray[np.int64]  # the first packet that may still arrive


def allocate_departures(sessions: int) -> Departures:
    """Allocate departures for `sessions` calls; 0 without paths."""
    ring, mark = (sessions, MAX_IN_FLIGHT), (sessions,)
    return Departures(*(np.zeros(shape, np.int64) for shape in (ring, ring, ring, ring, mark, mark)))


@kernel
def followed_by_paths(departures):
    """Return True if paths follow the bottleneck."""
    return departures.next.size > 0


def allocate_flight(sessions: int) -> Flight:
    """Allocate the packets of `sessions` calls."""
    ring = (sessions, MAX_IN_FLIGHT)
    created_us, expires_us, sent_us, arrived_us, size_bytes, kind = (np.zeros(ring, np.int64) for _ in range(6))
    return Flight(created_us, expires_us, sent_us, arrived_us, size_bytes, kind, np.zeros(ring, np.int8))


@kernel
def on_send(flight, s, packet, item, sent_us, arrived_us, marked):
    """Store packet number `packet`, the queued `item`, as it leaves the sender; all but the last MAX_IN_FLIGHT - 1 before it are settled.

    `arrived_us` is its arrival; LOST; or, while that is not known, NOT_YET or more. `marked`: congestion experienced.
    """
    index = packet & _MASK
    flight.created_us[s, index], flight.expires_us[s, index] = item.created_us, item.expires_us
    flight.sent_us[s, index], flight.arrived_us[s, index] = sent_us, arrived_us
    flight.size_bytes[s, index], flight.kind[s, index] = item.size_bytes, item.kind
    flight.marked[s, index] = 1 if marked else 0


@kernel
def ring_index(packet):
    """Return the ring index of a packet."""
    return packet & _MASK


@kernel
def reported_by(flight, s, first, sent, report_us):
    """Return the end (last + 1) of the packets covered by a report made at `report_us`: the newest arrived packet and all before it.

    `first` is the first packet that was not reported before, `sent` the number sent so far.
    """
    past = first
    for packet in range(first, sent):
        if LOST != flight.arrived_us[s, packet & _MASK] <= report_us:
            past = packet + 1
    return past


class NoOtherCalls(NamedTuple):
    """Placeholder for no other calls."""


@generic(abstract=True, inlined=True)
def run_cross_traffic(others: Any, sender: Any, tables: Any, s: int, until_us: int) -> None:
    """Play all events of bottleneck `s` up to and including `until_us`, except those of the first call, the row `sender` of `tables`.

    `others` are the rules of the other calls.
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
    """Record the arrival (in time of the call, or LOST) of packet `number`, one of the last MAX_IN_FLIGHT, in flight and in the log."""
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
