"""Retransmission on request: as libwebrtc does it, and with copies by the rounds that are left before the deadline, as Hairpin does it.

`Nack` is libwebrtc's receiver (nack_requester.cc), seen from the sender. The receiver asks for a packet with the first one that arrives
after the gap, and again after each round trip, ten times at most. A record of a newer packet at the sender is that request: reports and
requests travel together. A packet of which a record comes is not sent again. A retransmission goes on the path of the packets (RFC 4588).
It helps only if round trip and spacing fit into the playout delay. The round trip is the smoothed time from a packet's departure to its
record (RFC 6298), 100 ms before the first (libwebrtc's default).

`Hairpin` (Meng et al., NSDI 2024), for voice. A packet that leaves, or leaves again, has L = (remaining - r) / r rounds, rounded down, 1 to
15; r is the same round trip plus its deviation, in whole ms rounded up. With L and the loss seen so far, in steps of 1 % up to 50 %,
`repair_plan` says how many copies follow: a packet of voice is a frame of its own, F = n = 1. Deadlines come from the call: the receiver
plays a packet when the newest delay and the lag in the same record have passed. Packets are asked for as above, and go again as long as
they can arrive by then. Copies follow on the path of the packet, one with each of the next packets: in its own slot they would share its
fate. Named choices: the deviation is that of RFC 6298; the loss is an average over 500 packets; the price of a copy, as the source has
frames of video, with prices of its own.

Left out: the check of requests each 20 ms; packets more than 62 packets old.
"""

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.protect import DISTANCES, protect, protection
from vcgym.baselines.protection.seen_loss import SEEN_LOSS, clear_seen_loss, see_loss
from vcgym.baselines.records import COPY, MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds, packet_at

_RING = 64
_RTT_GAIN, _DEVIATION_GAIN = 0.125, 0.25  # RFC 6298
_DEFAULT_RTT_US = 100_000
_ROUNDS, _PERCENT = 15, 50
_UNTIL_DEADLINE = 1000  # requests of one packet, which the deadline ends
_LOSS_GAIN = 1.0 / 500.0
_SHARES = (*(step / 20 for step in range(20)), 1, 2, 3, 4, 5)

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
    row.rtt_us = _DEFAULT_RTT_US
    row.asked[:] = 0
    row.due_us[:] = 0


@init.register(Nack)
def _init(params, state, s, start, key):
    clear_requests(state.rows[s])


@kernel
def see_gaps(row, record):
    """Take in a record of a packet or a copy: it has come, and those before it that have not are asked for."""
    row.rtt_us += _RTT_GAIN * (record.known_us - record.sent_us - row.rtt_us)
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
    return protection(again=requested(state.rows[s], params.requests, newest, now_us), path=path)


def repair_plan(loss: float, cost: float, frame: int, rounds: int) -> NDArray[np.int64]:
    """Return the repair packets k that Hairpin sends, (rounds + 1, frame + 1) by rounds left and packets left.

    The recursion is that of its public code. With L rounds and n packets of a frame of F left, and k repair packets along with the n,

        V(0, n > 0) = -1    V(L, 0) = 0    V(L, n) = max over k of sum over m of P(m | n, k) V(L - 1, m) - c k / F

    Losses are independent. All of the n are there if at most k of the n + k packets are lost; else m are left, the lost ones among the n.
    The choices of k are n times 0, 0.05 .. 0.95 and 1 .. 5, rounded. Of equal choices the smallest one is taken.

    Args:
        loss: probability that a packet is lost, 0 to 1.
        cost: c, price of as many repair packets as the frame has packets, in frames that miss their deadline; above 0.
        frame: F, packets of a frame, at least 1.
        rounds: largest number of rounds before the deadline, at least 1.
    """
    plan = np.zeros((rounds + 1, frame + 1), np.int64)
    value = [0.0] + [-1.0] * frame
    for left in range(1, rounds + 1):
        best = [(0.0, 0)]
        for packets in range(1, frame + 1):
            choices = sorted({round(packets * share) for share in _SHARES})
            worth = [(_expected(value, packets, k, loss) - cost * k / frame, -k) for k in choices]
            best.append(max(worth))
        value = [of for of, _ in best]
        plan[left] = [-minus_k for _, minus_k in best]
    return plan


def _expected(value: list[float], packets: int, k: int, loss: float) -> float:
    """Return the mean of `value` over the packets that are left after a round with k repair packets."""
    found = 0.0
    for lost in range(1, packets + 1):
        too_few = sum(_binomial(k, other, loss) for other in range(max(k - lost + 1, 0), k + 1))
        found += _binomial(packets, lost, loss) * too_few * value[lost]
    return found


def _binomial(of: int, lost: int, loss: float) -> float:
    return comb(of, lost) * loss**lost * (1.0 - loss) ** (of - lost)


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
    copies: NDArray[np.int64]  # (rounds - 1, percent of loss)


@allocate.register(Hairpin)
def _allocate_hairpin(params, sessions, paths):
    require_within(params, cost=(1e-9, 1.0), packet_ms=PACKET_MS_RANGE)
    plans = [repair_plan(percent / 100.0, params.cost, 1, _ROUNDS)[1:, 1] for percent in range(_PERCENT + 1)]
    rows, requests = np.zeros(sessions, HAIRPIN).view(np.recarray), np.zeros(sessions, NACK).view(np.recarray)
    return HairpinState(rows, requests, np.stack(plans, axis=1))


@init.register(Hairpin)
def _init_hairpin(params, state, s, start, key):
    row = state.rows[s]
    clear_seen_loss(row)
    clear_requests(state.requests[s])
    row.deviation_us = _DEFAULT_RTT_US / 2
    row.delay_us = 0
    row.lag_us = 0
    row.left[:] = 0


@update.register(Hairpin)
def _update_hairpin(params, state, s, record):
    row, requests = state.rows[s], state.requests[s]
    if record.kind == MEDIA:
        see_loss(row, record.packet, _LOSS_GAIN)
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
def _protect_hairpin(params, state, s, now_us, path):
    row, newest, again = state.rows[s], packet_at(now_us, params.packet_ms), 0
    packet_us = microseconds(params.packet_ms)
    rtt_us, copies = state.requests[s].rtt_us, state.copies
    asked = requested(state.requests[s], _UNTIL_DEADLINE, newest, now_us)
    for age in range(1, min(DISTANCES, newest) + 1):
        place = (newest - age) % _RING
        if (asked >> age) & 1 and age * packet_us <= row.lag_us:
            row.left[place] = 1 + _copies(row, rtt_us, copies, age * packet_us)
        if row.left[place] > 0:
            again |= 1 << age
            row.left[place] -= 1
    row.left[newest % _RING] = _copies(row, rtt_us, copies, 0)
    return protection(again=again, path=path)
