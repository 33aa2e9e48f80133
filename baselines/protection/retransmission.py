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
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.protect import DISTANCES, protection
from vcgym.baselines.protection.seen import SeenLoss, see_loss
from vcgym.baselines.records import COPY, MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, Table, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import microseconds, packet_at

_RING = 64
_RTT_GAIN, _DEVIATION_GAIN = 0.125, 0.25  # RFC 6298
_DEFAULT_RTT_US = 100_000
_ROUNDS, _PERCENT = 15, 50
_UNTIL_DEADLINE = 1000  # requests of one packet, which the deadline ends
_LOSS_GAIN = 1.0 / 500.0
_SHARES = (*(step / 20 for step in range(20)), 1, 2, 3, 4, 5)


@record
class Requests:
    """Requests that reports imply."""

    newest: int = -1  # largest packet number reported
    rtt_us: float = _DEFAULT_RTT_US
    asked: NDArray[np.int64] = np.zeros(_RING, np.int64)  # by packet modulo the ring: times that it was asked for; 0: never, -1: received
    due_us: NDArray[np.int64] = np.zeros(_RING, np.int64)  # of the next request


@kernel
def see_gaps(seen, record):
    """Take in a record of a packet or a copy: it has come, and those before it that have not are asked for."""
    seen.rtt_us += _RTT_GAIN * (record.known_us - record.sent_us - seen.rtt_us)
    for packet in range(max(seen.newest + 1, record.packet - DISTANCES), record.packet):
        seen.asked[packet % _RING] = 1
        seen.due_us[packet % _RING] = record.known_us
    if record.packet > seen.newest - DISTANCES:
        seen.asked[record.packet % _RING] = -1
    seen.newest = max(seen.newest, record.packet)


@kernel
def requested(seen, requests, newest, now_us):
    """Return the set of the packets of which a request is due, as in `Protection`, and ask again in a round trip.

    Args:
        seen: Requests, updated.
        requests: int64, requests of one packet at most.
        newest: int64, packet that leaves now.
        now_us: int64, current time.
    """
    again = 0
    for packet in range(max(newest - DISTANCES, 0), seen.newest):
        place = packet % _RING
        if 0 < seen.asked[place] <= requests and seen.due_us[place] <= now_us:
            again |= 1 << (newest - packet)
            seen.asked[place] += 1
            seen.due_us[place] = now_us + np.int64(seen.rtt_us)
    return again


@rule(Control.PROTECTION, seen=Requests)
class Nack(NamedTuple):
    """Parameters: requests of one packet, packet interval."""

    requests: Annotated[int, (1, 100)] = 10
    packet_ms: Annotated[float, PACKET_MS_RANGE] = 10.0

    def update(self, seen, record):
        if record.kind in (MEDIA, COPY):
            see_gaps(seen, record)

    def protect(self, seen, now_us, path):
        newest = packet_at(now_us, self.packet_ms)
        return protection(again=requested(seen, self.requests, newest, now_us), path=path)


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


def _copies_by_rounds(params: Any) -> NDArray[np.int64]:
    """Return the copies of a packet, (rounds - 1, percent of loss)."""
    plans = [repair_plan(percent / 100.0, params.cost, 1, _ROUNDS)[1:, 1] for percent in range(_PERCENT + 1)]
    return np.stack(plans, axis=1)


@record
class Row:
    loss: SeenLoss = SeenLoss()
    deviation_us: float = _DEFAULT_RTT_US / 2  # of the round trip
    delay_us: int = 0  # of the newest record, and the lag that it tells
    lag_us: int = 0
    left: NDArray[np.int64] = np.zeros(_RING, np.int64)  # by packet modulo the ring: transmissions that are still to go


@rule(Control.PROTECTION, row=Row, requests=Requests, plan=Table(_copies_by_rounds))
class Hairpin(NamedTuple):
    cost: Annotated[float, (1e-9, 1.0)] = 0.01  # of a copy of each packet, in packets that come late; for video 1e-4 and 1e-7
    packet_ms: Annotated[float, PACKET_MS_RANGE] = 10.0

    def update(self, row, requests, plan, record):
        if record.kind == MEDIA:
            see_loss(row.loss, record.packet, _LOSS_GAIN)
        if record.kind not in (MEDIA, COPY):
            return
        error_us = abs(record.known_us - record.sent_us - requests.rtt_us)
        row.deviation_us += _DEVIATION_GAIN * (error_us - row.deviation_us)
        row.delay_us = record.arrived_us - record.sent_us
        row.lag_us = record.lag_us
        if packet_at(record.known_us, self.packet_ms) - record.packet <= DISTANCES:
            row.left[record.packet % _RING] = 0
        see_gaps(requests, record)

    def protect(self, row, requests, plan, now_us, path):
        newest, again = packet_at(now_us, self.packet_ms), 0
        packet_us, rtt_us = microseconds(self.packet_ms), requests.rtt_us
        asked = requested(requests, _UNTIL_DEADLINE, newest, now_us)
        for age in range(1, min(DISTANCES, newest) + 1):
            place = (newest - age) % _RING
            if (asked >> age) & 1 and age * packet_us <= row.lag_us:
                row.left[place] = 1 + _copies(row, rtt_us, plan, age * packet_us)
            if row.left[place] > 0:
                again |= 1 << age
                row.left[place] -= 1
        row.left[newest % _RING] = _copies(row, rtt_us, plan, 0)
        return protection(again=again, path=path)


@kernel
def _copies(row, rtt_us, plan, age_us):
    """Return how many copies follow a packet of this age."""
    round_us = 1000 * np.int64(np.ceil((rtt_us + row.deviation_us) / 1000.0))
    remaining_us = row.delay_us + row.lag_us - age_us
    rounds = min(max((remaining_us - round_us) // round_us, 1), _ROUNDS)
    percent = min(max(np.int64(np.rint(100.0 * row.loss.missing)), 0), _PERCENT)
    return plan[rounds - 1, percent]
