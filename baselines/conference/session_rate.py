"""The rate that link rates can carry to all receivers of a session: Celerity's delay-bounded min-cut, its critical cut, and packings.

On the two-layer graph of a session (source, relays, receivers) the min-cut of receiver j is c[s,j] + sum_i min(c[s,i], c[i,j]) over the
relays i whose path keeps the delay bound (Celerity, equation 4). Trees reach the least min-cut on many networks but not on all, against the
paper's Theorem 1: with 1 unit on s->1, s->2, s->3, 1->3, 3->2 and 2->1 it is 2, but trees carry 1.5 at most. Network coding reaches it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.conference.oracle_lp import Optimum, oracle_lp
from vcgym.baselines.conference.trees import DELAY_BOUND_MS
from vcgym.network.kernels.jit import kernel
from vcgym.network.overlay.topology import NO_LINK, Overlay


@kernel
def session_rate(source, receives, rates_kbps, delay_ms, bound_ms, cut):
    """Return the least min-cut of a session's receivers in kbps, and mark in `cut` the overlay links of the critical one.

    Of receivers with equal min-cuts the first is critical; each relay's path is cut at its smaller side, of equals the second. The cut is
    the subgradient of the rate: 1 on its links, 0 elsewhere.

    Args:
        source: party.
        receives: (P,) bool; only these parties count, and relay.
        rates_kbps: (P, P) of this session on each overlay link.
        delay_ms: (P, P), infinite where there is no link.
        bound_ms: of the delay from the source to each receiver.
        cut: (P, P) bool, overwritten.
    """
    cut[:] = False
    least, critical = math.inf, -1
    for j in range(receives.size):
        if receives[j] and j != source:
            found = _min_cut(source, j, receives, rates_kbps, delay_ms, bound_ms)
            if found < least:
                least, critical = found, j
    if critical < 0:
        return 0.0
    cut[source, critical] = delay_ms[source, critical] <= bound_ms
    for i in range(receives.size):
        if receives[i] and i != critical and i != source and delay_ms[source, i] + delay_ms[i, critical] <= bound_ms:
            if rates_kbps[source, i] < rates_kbps[i, critical]:
                cut[source, i] = True
            else:
                cut[i, critical] = True
    return least


@kernel
def _min_cut(source, j, receives, rates_kbps, delay_ms, bound_ms):
    found = rates_kbps[source, j] if delay_ms[source, j] <= bound_ms else 0.0
    for i in range(receives.size):
        if receives[i] and i != j and i != source and delay_ms[source, i] + delay_ms[i, j] <= bound_ms:
            found += min(rates_kbps[source, i], rates_kbps[i, j])
    return found


def packed_rate(
    source: int, rates_kbps: NDArray[np.float64], delay_ms: NDArray[np.float64], bound_ms: float = DELAY_BOUND_MS, hops: int = 2
) -> Optimum:
    """Return the best packing of delay-bounded trees from `source` into (P, P) rates of overlay links."""
    tails, heads = np.nonzero((rates_kbps > 0.0) & np.isfinite(delay_ms))
    paths = np.full((*rates_kbps.shape, 1), NO_LINK, np.int64)
    paths[tails, heads, 0] = np.arange(len(tails))
    alone = np.full(delay_ms.shape, math.inf)
    alone[tails, heads] = delay_ms[tails, heads]
    nothing = np.zeros(len(tails), np.int64)
    return oracle_lp(Overlay(rates_kbps[tails, heads], nothing, nothing, paths, alone), hops, bound_ms, [source])
