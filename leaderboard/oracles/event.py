"""Offline optimal playout of given arrivals, order kept, event accounting: which packets to give up so that the rest comes out early.

Emission happens at arrivals, in order of sending, so a packet that is kept comes out at the latest arrival among the kept ones up to it.
Cost: the end-to-end delay of each packet kept, and `price` for each that is lost or given up.

Dynamic programme over packets; the state is that latest arrival M. A state of smaller M can do all that one of larger M can, so only states
whose cost falls as M grows are kept, and of those behind the newest packet's send time only the cheapest: for 600,000 packets, well under
a second. For a loss budget the price is bisected: exact on the lower convex hull of (lost, delay), and a bound between its corners
(Everett, Operations Research 11, 1963).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import allocating_kernel

NEVER_US = -1
_BEGINNING_US = -(1 << 60)
_BISECTIONS = 40


class Playout(NamedTuple):
    """A schedule.

    Attributes:
        emitted_us: int64 (packets,), -1 where a packet is lost or given up.
        mean_ms: mean end-to-end delay of the emitted packets; NaN without any.
        lost: packets without emission.
        cost_us: summed delay plus price times lost.
    """

    emitted_us: NDArray[np.int64]
    mean_ms: float
    lost: int
    cost_us: float


class Budgeted(NamedTuple):
    """Best schedule found within a budget, and a mean delay (ms) that no schedule within it undercuts."""

    playout: Playout
    bound_ms: float


def at_price(sent_us: NDArray[np.int64], arrived_us: NDArray[np.int64], price_us: float) -> Playout:
    """Return the schedule of least cost.

    Args:
        sent_us: (packets,), ascending.
        arrived_us: (packets,), NEVER_US where it never arrives; not before its sending.
        price_us: of a packet lost or given up, in microseconds of delay, >= 0.

    Raises:
        ValueError: times that are out of order or a negative price.
    """
    sent_us, arrived_us = np.asarray(sent_us, np.int64), np.asarray(arrived_us, np.int64)
    if not price_us >= 0.0:
        raise ValueError(f"price_us = {price_us}: allowed is a number >= 0")
    if (np.diff(sent_us) < 0).any() or ((arrived_us != NEVER_US) & (arrived_us < sent_us)).any():
        raise ValueError("sent_us falls or a packet arrives before it is sent; allowed: sent_us ascending, arrived_us >= sent_us or -1")
    # Costs are whole microseconds, so the price is rounded to one.
    emitted_us = _schedule(sent_us, arrived_us, np.int64(round(price_us)))
    kept = emitted_us >= 0
    delays = (emitted_us - sent_us)[kept]
    lost = int((~kept).sum())
    mean_ms = float(delays.mean()) / 1000.0 if kept.any() else float("nan")
    return Playout(emitted_us, mean_ms, lost, float(delays.sum()) + price_us * lost)


def at_budget(sent_us: NDArray[np.int64], arrived_us: NDArray[np.int64], max_lost: int) -> Budgeted:
    """Return the schedule of least mean delay with at most `max_lost` packets lost or given up.

    Raises:
        ValueError: more packets than that never arrive.
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
    return Budgeted(best, min(bound_ms, best.mean_ms))


def _bound_ms(found: Playout, price_us: int, max_lost: int, packets: int) -> float:
    """Least mean delay that the cost at one price leaves to any schedule within the budget.

    With l lost the delays add up to cost - price l at least, over packets - l emitted; that quotient is monotone in l.
    """
    ends = (0, min(max_lost, packets - 1))
    return min((found.cost_us - price_us * lost) / (packets - lost) for lost in ends) / 1000.0


@allocating_kernel
def _schedule(sent_us, arrived_us, price_us):
    packets = sent_us.size
    # A state is a packet whose arrival is the latest among the kept; -1 none yet. `before[i]`: the state from which i was reached.
    before = np.full(packets, -1, np.int64)
    state, latest, cost = np.empty(packets + 1, np.int64), np.empty(packets + 1, np.int64), np.empty(packets + 1, np.int64)
    head, end = 0, 1  # states stand in order of `latest`, their costs fall
    state[0], latest[0], cost[0] = -1, _BEGINNING_US, 0
    # What all states have paid alike is kept apart, so that states that only give packets up need no touch.
    for i in range(packets):
        sent, arrived = sent_us[i], arrived_us[i]
        # States that can keep nothing any more are alike; the cheapest is the last of them.
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
        if end == packets:  # room for one more is needed: move what is in use to the front
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
    """Drop states that one of no larger `latest` undercuts."""
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
