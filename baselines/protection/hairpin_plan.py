"""Number of repair packets that Hairpin sends in each round before a deadline (Meng et al., NSDI 2024, the recursion of its public code).

With L rounds and n packets of a frame of F left, and k repair packets along with the n,

    V(0, n > 0) = -1    V(L, 0) = 0    V(L, n) = max over k of sum over m of P(m | n, k) V(L - 1, m) - c k / F

Losses are independent. All of the n are there if at most k of the n + k packets are lost; else m are left, the lost ones among the n.
The choices of k are n times 0, 0.05 .. 0.95 and 1 .. 5, rounded. Of equal choices the smallest one is taken.
"""

from math import comb

import numpy as np
from numpy.typing import NDArray

_SHARES = (*(step / 20 for step in range(20)), 1, 2, 3, 4, 5)


def repair_plan(loss: float, cost: float, frame: int, rounds: int) -> NDArray[np.int64]:
    """Return k by rounds left and packets left, (rounds + 1, frame + 1).

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
