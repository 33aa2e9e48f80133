"""Packets of a call on their way: what became of each is fixed when it leaves, and told when a report is back."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.jit import kernel

FLYING = 8192  # packets sent and not reported; a power of two
_MASK = FLYING - 1
LOST = -1


class Flight(NamedTuple):
    """By packet number modulo FLYING; first axis the session."""

    created_us: NDArray[np.int64]
    expires_us: NDArray[np.int64]
    sent_us: NDArray[np.int64]
    arrived_us: NDArray[np.int64]  # LOST: never
    size_bytes: NDArray[np.int64]
    kind: NDArray[np.int64]


def allocate_flight(sessions: int) -> Flight:
    """Room for `sessions` calls."""
    return Flight(*(np.zeros((sessions, FLYING), np.int64) for _ in Flight._fields))


@kernel
def take_off(flight, s, packet, item, sent_us, arrived_us):
    """Packet number `packet` leaves."""
    place = packet & _MASK
    flight.created_us[s, place], flight.expires_us[s, place] = item.created_us, item.expires_us
    flight.sent_us[s, place], flight.arrived_us[s, place] = sent_us, arrived_us
    flight.size_bytes[s, place], flight.kind[s, place] = item.size_bytes, item.kind


@kernel
def place_of(packet):
    """Where a packet stands in the arrays."""
    return packet & _MASK


@kernel
def reported_by(flight, s, first, sent, report_us):
    """One past the newest packet that a report of `report_us` tells of: the last to have arrived, and all before it."""
    past = first
    for packet in range(first, sent):
        arrived_us = flight.arrived_us[s, packet & _MASK]
        if arrived_us > report_us:
            break
        if arrived_us != LOST:
            past = packet + 1
    return past
