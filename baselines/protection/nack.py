"""Retransmission on request, as libwebrtc's receiver asks for it (nack_requester.cc), seen from the sender.

The receiver asks for a packet with the first one that arrives after the gap, and again after each round trip, ten times at most. A record
of a newer packet at the sender is that request: reports and requests travel together. A packet of which a record comes is not sent again.
A retransmission goes on the path of the packets (RFC 4588). It helps only if round trip and spacing fit into the playout delay.

The round trip is the smoothed time from a packet's departure to its record, 100 ms before the first (libwebrtc's default). Left out: the
check of requests each 20 ms; packets more than 62 packets old.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.protection.protect import DISTANCES, NONE, Protection, protect
from vcgym.baselines.records import COPY, MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import packet_at

_RING = 64
_GAIN = 0.125  # RFC 6298
DEFAULT_RTT_US = 100_000

NACK = np.dtype(
    (
        np.record,
        [
            ("newest", "i8"),  # largest packet number reported; -1 before
            ("rtt_us", "f8"),
            ("asked", "i8", (_RING,)),  # by packet modulo the ring: times that it was asked for; 0: never, -1: received
            ("due_us", "i8", (_RING,)),  # of the next request
        ],
    )
)


@rule(Control.PROTECTION)
class Nack(NamedTuple):
    """Parameters: requests of one packet, packet interval."""

    requests: int = 10
    packet_ms: float = 10.0


class NackState(NamedTuple):
    """State; first axis: session."""

    rows: np.recarray  # (sessions,) of NACK


@allocate.register(Nack)
def _allocate(params, sessions, paths):
    require_within(params, requests=(1, 100), packet_ms=PACKET_MS_RANGE)
    return NackState(np.zeros(sessions, NACK).view(np.recarray))


@kernel
def clear_requests(row):
    """Forget all requests; `row` is a record of NACK."""
    row.newest = -1
    row.rtt_us = DEFAULT_RTT_US
    row.asked[:] = 0
    row.due_us[:] = 0


@init.register(Nack)
def _init(params, state, s, start, key):
    clear_requests(state.rows[s])


@kernel
def see_gaps(row, record):
    """Take in a record of a packet or a copy: it has come, and those before it that have not are asked for."""
    row.rtt_us += _GAIN * (record.known_us - record.sent_us - row.rtt_us)
    for packet in range(max(row.newest + 1, record.packet - DISTANCES), record.packet):
        row.asked[packet % _RING] = 1
        row.due_us[packet % _RING] = record.known_us
    if record.packet > row.newest - DISTANCES:
        row.asked[record.packet % _RING] = -1
    row.newest = max(row.newest, record.packet)


@update.register(Nack)
def _update(params, state, s, record):
    if record.kind in (MEDIA, COPY):
        see_gaps(state.rows[s], record)


@kernel
def requested(row, requests, newest, now_us):
    """Return the set of the packets of which a request is due, as in `Protection`, and ask again in a round trip.

    Args:
        row: record of NACK, updated.
        requests: int64, requests of one packet at most.
        newest: int64, packet that leaves now.
        now_us: int64, current time.
    """
    again = 0
    for packet in range(max(newest - DISTANCES, 0), row.newest):
        place = packet % _RING
        if 0 < row.asked[place] <= requests and row.due_us[place] <= now_us:
            again |= 1 << (newest - packet)
            row.asked[place] += 1
            row.due_us[place] = now_us + np.int64(row.rtt_us)
    return again


@protect.register(Nack)
def _protect(params, state, s, now_us, path):
    newest = packet_at(now_us, params.packet_ms)
    return Protection(0, requested(state.rows[s], params.requests, newest, now_us), path, NONE, 0, 0)
