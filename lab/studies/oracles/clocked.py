"""Offline optimal playout of given arrivals in order, clocked accounting: the dynamic program of `joint.py` with a single path.

Losses are known here, like the arrivals. The delay is the mean offset of the player over its ticks, the loss the share of ticks concealed.
For a given price, the mean of offset + price * concealed is minimised (Dinkelbach's iteration). For a budget, the price is bisected: the
result is exact at the corners of the lower convex hull of (share, delay), and a bound between them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.studies.oracles.joint import MAX_LEVELS, Plan, Stage, solve, stage
from lab.studies.oracles.seen import Seen
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.playout.player import UNIT_US

_LEVEL_MS = UNIT_US / 1000.0
_BISECTIONS = 16
_DEAREST_MS = 1e6  # maximum price of the whole share: 0.01 of share costs as much as ten seconds of delay


class BudgetedOffset(NamedTuple):
    """Best schedule found within a budget, and a lower bound on the mean offset (ms) of any schedule within it."""

    plan: Plan
    bound_ms: float


def at_price(arrived_us: NDArray[np.int64], price_ms: float) -> Plan:
    """Return the schedule with the minimum mean offset plus `price_ms` times its concealed share.

    Args:
        arrived_us: (packets,), one packet per 10-ms slot from 0 on; -1 if it never arrives.
        price_ms: price of a concealed share of 1, >= 0; the E-model's is 15,771 below 177.3 ms.

    Raises:
        ValueError: no packet arrives, a packet arrives before it is sent, or the price is negative.
    """
    if not price_ms >= 0.0:
        raise ValueError(f"price_ms = {price_ms}: allowed is a number >= 0")
    staged = _staged(arrived_us)
    return _lowest(staged, price_ms, float(staged.lowest))[0]


def at_budget(arrived_us: NDArray[np.int64], max_share: float) -> BudgetedOffset:
    """Return the schedule with the minimum mean offset and at most `max_share` (0..1) of its ticks concealed.

    Raises:
        ValueError: as in `at_price`, or every schedule conceals more.
    """
    staged = _staged(arrived_us)
    best, _ = _lowest(staged, _DEAREST_MS, float(staged.lowest))
    if best.share > max_share:
        raise ValueError(f"max_share = {max_share}: what never arrives alone is {best.share:.6f} of the ticks; allowed is that or more")
    low, high, bound_ms = 0.0, _DEAREST_MS, 0.0
    for _ in range(_BISECTIONS):
        price_ms = float(np.sqrt(max(low, 1.0) * high))
        plan, floor_ms = _lowest(staged, price_ms, (best.delay_ms + price_ms * best.share) / _LEVEL_MS)
        bound_ms = max(bound_ms, floor_ms - price_ms * max_share)
        if plan.share <= max_share:
            high = price_ms
            best = min(best, plan, key=lambda one: one.delay_ms)
        else:
            low = price_ms
    return BudgetedOffset(best, min(bound_ms, best.delay_ms))


def _staged(arrived_us: NDArray[np.int64]) -> Stage:
    arrived_us = np.asarray(arrived_us, np.int64)
    lost, delay_us = arrived_us < 0, arrived_us - SLOT_US * np.arange(len(arrived_us))
    if (~lost & (delay_us < 0)).any():
        raise ValueError("a packet arrives before it is sent; allowed: arrived_us >= 10,000 times its place, or -1")
    seen = Seen(np.where(lost, LOST, delay_us).astype(np.int32)[None], lost.astype(float)[None], np.zeros((1, 3)))
    # Enough levels for every packet, so that the schedule covers the player's whole range.
    needed = -(-delay_us[~lost] // SLOT_US) if (~lost).any() else np.zeros(1, np.int64)
    return stage(seen, int(min(needed.max() - needed.min() + 2, MAX_LEVELS)))


def _lowest(staged: Stage, price_ms: float, mean: float) -> tuple[Plan, float]:
    """Return the plan of minimum mean cost, and that cost in ms; `mean`, in levels, is the initial value of the search."""
    while True:
        (plan,) = solve(staged, price_ms / _LEVEL_MS, mean, (0,))
        found = (plan.delay_ms + price_ms * plan.share) / _LEVEL_MS
        if abs(found - mean) <= 1e-4 * max(1.0, mean):
            return plan, found * _LEVEL_MS
        mean = found
