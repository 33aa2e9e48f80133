"""Packets of a call in flight; their outcomes become known with reports.

If the delay behind the bottleneck is constant, a packet's outcome is determined when it leaves the sender. With paths it is determined when
the packet leaves the bottleneck (`Departures`), and a later packet may overtake an earlier one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    told_us: NDArray[np.int64]  # arrival as reported to the sender, or LOST if a later packet arrived first
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
    """Store a packet that leaves the sender.

    Args:
        flight: Flight; an entry of row `s` is overwritten.
        s: int64, row of the sender.
        packet: int64, packet number; all but the last MAX_IN_FLIGHT - 1 before it are settled.
        item: record of ITEM, the queued packet.
        sent_us: int64, send time.
        arrived_us: int64, arrival; LOST; or, while it is not known, NOT_YET or more.
        marked: bool, congestion experienced.
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
    """Return the end (last + 1) of the packets covered by a report: the newest arrived packet and all before it.

    Args:
        flight: Flight; read only.
        s: int64, row of the sender.
        first: int64, first packet that was not reported before.
        sent: int64, number of packets sent so far.
        report_us: int64, time at which the receiver makes the report.
    """
    past = first
    for packet in range(first, sent):
        if LOST != flight.arrived_us[s, packet & _MASK] <= report_us:
            past = packet + 1
    return past
