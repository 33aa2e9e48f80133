"""Hairpin for voice: copies and retransmissions by the rounds that are left before the deadline (Meng et al., NSDI 2024).

A packet that leaves, or leaves again, has L = (remaining - r) / r rounds, rounded down, 1 to 15; r is the round trip as in `nack` plus its
deviation, in whole ms rounded up. With L and the loss seen so far, in steps of 1 % up to 50 %, `hairpin_plan` says how many copies follow:
a packet of voice is a frame of its own, F = n = 1.

Deadlines come from the call: the receiver plays a packet when the newest delay and the lag in the same record have passed. Packets are
asked for as in `nack`, and go again as long as they can arrive by then. Copies follow on the path of the packet, one with each of the next
packets: in its own slot they would share its fate. Named choices: the deviation is that of RFC 6298; the loss is an average over 500
packets; the price of a copy, as the source has frames of video, with prices of its own.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.hairpin_plan import repair_plan
from vcgym.baselines.protection.nack import DEFAULT_RTT_US, NACK, clear_requests, requested, see_gaps
from vcgym.baselines.protection.protect import DISTANCES, NONE, Protection, protect
from vcgym.baselines.protection.seen_loss import SEEN_LOSS, clear_seen_loss, see_loss
from vcgym.baselines.records import COPY, MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds, packet_at

_ROUNDS, _PERCENT = 15, 50
_REQUESTS = 1000  # the deadline ends them
_GAIN = 1.0 / 500.0
_DEVIATION_GAIN = 0.25  # RFC 6298
_RING = 64

HAIRPIN = np.dtype(
    (
        np.record,
        [
            *SEEN_LOSS,
            ("deviation_us", "f8"),  # of the round trip
            ("delay_us", "i8"),  # of the newest record, and the lag that it tells
            ("lag_us", "i8"),
            ("left", "i8", (_RING,)),  # by packet modulo the ring: transmissions that are still to go
        ],
    )
)


@rule(Control.PROTECTION)
class Hairpin(NamedTuple):
    """Parameters.

    Attributes:
        cost: price of a copy of each packet, in packets that miss their deadline; 1e-4 and 1e-7 are the source's, for video.
        packet_ms: packet interval.
    """

    cost: float = 0.01
    packet_ms: float = 10.0


class HairpinState(NamedTuple):
    """State; first axis: session."""

    rows: np.recarray  # (sessions,) of HAIRPIN
    requests: np.recarray  # (sessions,) of NACK
    copies: NDArray[np.int64]  # (sessions, rounds - 1, percent of loss)


@allocate.register(Hairpin)
def _allocate(params, sessions, paths):
    require_within(params, cost=(1e-9, 1.0), packet_ms=PACKET_MS_RANGE)
    plans = [repair_plan(percent / 100.0, params.cost, 1, _ROUNDS)[1:, 1] for percent in range(_PERCENT + 1)]
    copies = np.repeat(np.stack(plans, axis=1)[None], sessions, axis=0)
    return HairpinState(np.zeros(sessions, HAIRPIN).view(np.recarray), np.zeros(sessions, NACK).view(np.recarray), copies)


@init.register(Hairpin)
def _init(params, state, s, start, key):
    row = state.rows[s]
    clear_seen_loss(row)
    clear_requests(state.requests[s])
    row.deviation_us = DEFAULT_RTT_US / 2
    row.delay_us = 0
    row.lag_us = 0
    row.left[:] = 0


@update.register(Hairpin)
def _update(params, state, s, record):
    row, requests = state.rows[s], state.requests[s]
    if record.kind == MEDIA:
        see_loss(row, record.packet, _GAIN)
    if record.kind not in (MEDIA, COPY):
        return
    error_us = abs(record.known_us - record.sent_us - requests.rtt_us)
    row.deviation_us += _DEVIATION_GAIN * (error_us - row.deviation_us)
    row.delay_us = record.arrived_us - record.sent_us
    row.lag_us = record.lag_us
    if packet_at(record.known_us, params.packet_ms) - record.packet <= DISTANCES:
        row.left[record.packet % _RING] = 0
    see_gaps(requests, record)


@kernel
def _copies(row, rtt_us, copies, age_us):
    """Return how many copies follow a packet of this age."""
    round_us = 1000 * np.int64(np.ceil((rtt_us + row.deviation_us) / 1000.0))
    remaining_us = row.delay_us + row.lag_us - age_us
    rounds = min(max((remaining_us - round_us) // round_us, 1), _ROUNDS)
    percent = min(max(np.int64(np.rint(100.0 * row.missing)), 0), _PERCENT)
    return copies[rounds - 1, percent]


@protect.register(Hairpin)
def _protect(params, state, s, now_us, path):
    row, newest, again = state.rows[s], packet_at(now_us, params.packet_ms), 0
    packet_us = microseconds(params.packet_ms)
    rtt_us, copies = state.requests[s].rtt_us, state.copies[s]
    asked = requested(state.requests[s], _REQUESTS, newest, now_us)
    for age in range(1, min(DISTANCES, newest) + 1):
        place = (newest - age) % _RING
        if (asked >> age) & 1 and age * packet_us <= row.lag_us:
            row.left[place] = 1 + _copies(row, rtt_us, copies, age * packet_us)
        if row.left[place] > 0:
            again |= 1 << age
            row.left[place] -= 1
    row.left[newest % _RING] = _copies(row, rtt_us, copies, 0)
    return Protection(0, again, path, NONE, 0, 0)
