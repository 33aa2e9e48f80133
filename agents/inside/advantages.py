"""Advantages: the return of a decision less a baseline that no action of its own changes.

Worlds are exogenous, so replicas of one world differ by the draws of the policy alone. The baseline of a decision is the mean return of
the other replicas of its world from the same slot on (leave-one-out, as Kool, van Hoof and Welling 2019, "Buy 4 REINFORCE samples, get a
baseline for free!"). It needs no critic and removes what the world did.
"""

import math

from vcgym.network.kernels.jit import kernel


@kernel
def returns(gain, slot, count, discount, out):
    """Write the discounted return of each decision.

    Args:
        gain: float32 (sessions, decisions), reward from each decision to the next.
        slot: int32 (sessions, decisions), slot of each decision, not decreasing.
        count: int64 (sessions,), decisions of each session.
        discount: float64, per slot, 0 to 1.
        out: float32 (sessions, decisions), written up to `count`.
    """
    for s in range(count.size):
        following = 0.0
        for n in range(count[s] - 1, -1, -1):
            if n + 1 < count[s]:
                following *= math.pow(discount, slot[s, n + 1] - slot[s, n])
            following += gain[s, n]
            out[s, n] = following


@kernel
def leave_one_out(of, slot, count, replicas, discount, at, out):
    """Write each return less the mean of the other replicas of its world from the same slot on.

    Args:
        of: float32 (sessions, decisions), returns.
        slot: int32 (sessions, decisions), slot of each decision, not decreasing.
        count: int64 (sessions,), decisions of each session.
        replicas: int64, consecutive sessions of one world, at least 2.
        discount: float64, per slot, 0 to 1; a replica without a decision in a slot counts from its next one on.
        at: float64 (slots,), work space; longer than any slot.
        out: float32 (sessions, decisions), written up to `count`.
    """
    for first in range(0, count.size, replicas):
        at[:] = 0.0
        for s in range(first, first + replicas):
            _add_by_slot(of[s], slot[s], count[s], discount, at)
        for s in range(first, first + replicas):
            own, n = 0.0, count[s] - 1
            for t in range(at.size - 1, -1, -1):
                own *= discount
                last = n
                while n >= 0 and slot[s, n] == t:
                    own = of[s, n]
                    n -= 1
                for k in range(n + 1, last + 1):
                    out[s, k] = of[s, k] - (at[t] - own) / (replicas - 1)


@kernel
def _add_by_slot(of, slot, count, discount, at):
    """Add the return of one session from each slot on to `at`."""
    value, n = 0.0, count - 1
    for t in range(at.size - 1, -1, -1):
        value *= discount
        while n >= 0 and slot[n] == t:
            value = of[n]
            n -= 1
        at[t] += value
