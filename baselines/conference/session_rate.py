"""The rate that link rates can carry to all receivers of a session: Celerity's delay-bounded min-cut, and its critical cut.

On the two-layer graph of a session (source, relays, receivers) the min-cut of receiver j is c[s,j] + sum_i min(c[s,i], c[i,j]) over the
relays i whose path keeps the delay bound (Celerity, equation 4). Trees reach the least min-cut on many networks but not on all, against the
paper's Theorem 1: with 1 unit on s->1, s->2, s->3, 1->3, 3->2 and 2->1 it is 2, but trees carry 1.5 at most (`packed_rate`). Network coding
reaches it.
"""

import math

from vcgym.network.kernels.jit import kernel


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
            found = min_cut(source, j, receives, rates_kbps, delay_ms, bound_ms)
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
def min_cut(source, j, receives, rates_kbps, delay_ms, bound_ms):
    """Return the delay-bounded min-cut of receiver j in kbps; arguments as of `session_rate`."""
    found = rates_kbps[source, j] if delay_ms[source, j] <= bound_ms else 0.0
    for i in range(receives.size):
        if receives[i] and i != j and i != source and delay_ms[source, i] + delay_ms[i, j] <= bound_ms:
            found += min(rates_kbps[source, i], rates_kbps[i, j])
    return found
