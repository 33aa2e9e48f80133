"""Offline optimal playout of given arrivals in order, event accounting: choose the packets to drop so that the rest is emitted early.

Packets are emitted at arrivals, in order of sending, so a kept packet is emitted at the latest arrival among the kept packets up to it.
The cost is the end-to-end delay of each kept packet, and `price` for each lost or dropped packet.

Dynamic program over packets; the state is that latest arrival M. A state with smaller M dominates one with larger M and no lower cost, so
only the Pareto front of states is kept, and of the states with M before the newest send time only the cheapest: 600,000 packets take well
under a second. For a loss budget the price is bisected: the result is exact at the corners of the lower convex hull of (lost, delay), and a
bound between them (Everett, Operations Research 11, 1963).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import allocating_kernel

NEVER_US = -1
_BEGINNING_US = -(1 << 60)
_BISECTIONS = 40


class Playout(NamedTuple):
    """Playout schedule.

    Attributes:
        emitted_us: int64 (packets,), -1 for a lost or dropped packet.
        mean_ms: mean end-to-end delay of the emitted packets; NaN if there are none.
        lost: number of packets that are not emitted.
        cost_us: total delay plus price times lost.
    """

    emitted_us: NDArray[np.int64]
    mean_ms: float
    lost: int
    cost_us: float


class BudgetedDelay(NamedTuple):
    """Best schedule found within a budget, and a lower bound on the mean delay (ms) of any schedule within it."""

    playout: Playout
    bound_ms: float


def at_price(sent_us: NDArray[np.int64], arrived_us: NDArray[np.int64], price_us: float) -> Playout:
    """Return the schedule of minimum cost.

    Args:
        sent_us: (packets,), ascending.
        arrived_us: (packets,), at least the sent time; NEVER_US if the packet never arrives.
        price_us: price of a lost or dropped packet, in microseconds of delay, >= 0.

    Raises:
        ValueError: times are out of order, or the price is negative.
    """
    sent_us, arrived_us = np.asarray(sent_us, np.int64), np.asarray(arrived_us, np.int64)
    if not price_us >= 0.0:
        raise ValueError(f"price_us = {price_us}: allowed is a number >= 0")
    if (np.diff(sent_us) < 0).any() or ((arrived_us != NEVER_US) & (arrived_us < sent_us)).any():
        raise ValueError("sent_us falls or a packet arrives before it is sent; allowed: sent_us ascending, arrived_us >= sent_us or -1")
    # Costs are integer microseconds, so the price is rounded.
    emitted_us = _schedule(sent_us, arrived_us, np.int64(round(price_us)))
    kept = emitted_us >= 0
    delays = (emitted_us - sent_us)[kept]
    lost = int((~kept).sum())
    mean_ms = float(delays.mean()) / 1000.0 if kept.any() else float("nan")
    return Playout(emitted_us, mean_ms, lost, float(delays.sum()) + price_us * lost)


def at_budget(sent_us: NDArray[np.int64], arrived_us: NDArray[np.int64], max_lost: int) -> BudgetedDelay:
    """Return the schedule of minimum mean delay with at most `max_lost` packets lost or dropped.

    Raises:
        ValueError: more than `max_lost` packets never arrive.
    """
    never = int((np.asarray(arrived_us) == NEVER_US).sum())
    if max_lost < never:
        raise ValueError(f"max_lost = {max_lost}: {never} packets never arrive, so allowed is {never} or more")
    span = int(np.max(arrived_us)) - int(np.min(sent_us)) + 1
    low, high = 0, span * len(sent_us) + 1
    best = at_price(sent_us, arrived_us, high)
    bound_ms = _bound_ms(best, high, max_lost, len(sent_us))
    for _ in range(_BISECTIONS):
        price = (low + high) // 2
        found = at_price(sent_us, arrived_us, price)
        bound_ms = max(bound_ms, _bound_ms(found, price, max_lost, len(sent_us)))
        if found.lost <= max_lost:
            high = price
            if found.lost >= best.lost and not found.mean_ms >= best.mean_ms:
                best = found
        else:
            low = price
        if high - low <= 1:
            break
    return BudgetedDelay(best, min(bound_ms, best.mean_ms))


def _bound_ms(found: Playout, price_us: int, max_lost: int, packets: int) -> float:
    """Return the lower bound on the mean delay of any schedule within the budget that follows from the minimum cost at one price.

    With l packets lost, the delays of the packets - l emitted ones add up to at least cost - price l; the quotient is monotone in l.
    """
    ends = (0, min(max_lost, packets - 1))
    return min((found.cost_us - price_us * lost) / (packets - lost) for lost in ends) / 1000.0


@allocating_kernel
def _schedule(sent_us, arrived_us, price_us):
    packets = sent_us.size
    # A state is the kept packet with the latest arrival; -1: none yet. `before[i]` is the state from which i was reached.
    before = np.full(packets, -1, np.int64)
    state, latest, cost = np.empty(packets + 1, np.int64), np.empty(packets + 1, np.int64), np.empty(packets + 1, np.int64)
    head, end = 0, 1  # states are sorted by `latest`, with falling costs
    state[0], latest[0], cost[0] = -1, _BEGINNING_US, 0
    # The cost common to all states is stored separately, so that states that only drop packets need no update.
    for i in range(packets):
        sent, arrived = sent_us[i], arrived_us[i]
        # States that cannot keep any further packet are equivalent; the last one is the cheapest.
        while head + 1 < end and latest[head + 1] <= sent:
            head += 1
        from_state, from_cost, at = -2, np.int64(0), head
        for j in range(head, end):
            if arrived != NEVER_US and latest[j] < arrived:
                from_state, from_cost, at = state[j], cost[j], j + 1
            kept = latest[j] - sent
            cost[j] += kept if arrived != NEVER_US and latest[j] >= arrived and kept < price_us else price_us
        if from_state != -2:
            fresh = from_cost + arrived - sent
            before[i] = from_state
            end = _insert(state, latest, cost, end, at, i, arrived, fresh)
        end = _tidy(state, latest, cost, head, end)
        if end == packets:  # the buffer is full: move the used part to the front
            for j in range(head, end):
                state[j - head], latest[j - head], cost[j - head] = state[j], latest[j], cost[j]
            head, end = 0, end - head
    return _emissions(sent_us, arrived_us, price_us, before, state[end - 1])


@allocating_kernel
def _insert(state, latest, cost, end, at, packet, arrived, fresh):
    for j in range(end, at, -1):
        state[j], latest[j], cost[j] = state[j - 1], latest[j - 1], cost[j - 1]
    state[at], latest[at], cost[at] = packet, arrived, fresh
    return end + 1


@allocating_kernel
def _tidy(state, latest, cost, head, end):
    """Remove dominated states: those for which a state with no larger `latest` has a lower cost."""
    kept = head + 1
    for j in range(head + 1, end):
        if cost[j] < cost[kept - 1]:
            state[kept], latest[kept], cost[kept] = state[j], latest[j], cost[j]
            kept += 1
    return kept


@allocating_kernel
def _emissions(sent_us, arrived_us, price_us, before, final):
    emitted_us = np.full(sent_us.size, np.int64(-1))
    after, state = sent_us.size, final
    while state >= 0:
        for i in range(state, after):
            arrived = arrived_us[i]
            if i == state or (arrived != NEVER_US and arrived <= arrived_us[state] and arrived_us[state] - sent_us[i] < price_us):
                emitted_us[i] = arrived_us[state]
        after, state = state, before[state]
    return emitted_us
