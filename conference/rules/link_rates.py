"""Rates of a session: on links, by functions that each rule defines, and to its receivers, by Celerity's min-cut and critical cut.

On the two-layer graph of a session (source, relays, receivers) the min-cut of receiver j is c[s,j] + sum_i min(c[s,i], c[i,j]) over the
relays i whose path is within the delay bound (Celerity, equation 4). Trees reach the smallest min-cut on many networks but not on all,
contrary to the paper's Theorem 1: with 1 unit on s->1, s->2, s->3, 1->3, 3->2 and 2->1 it is 2, but trees carry at most 1.5
(`packed_rate`). Network coding reaches it.
"""

import math
from typing import NamedTuple

from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel


class Update(NamedTuple):
    """Knowledge of an overlay link's receiver about a session, at an update of the session's rate on the link."""

    worth: float  # marginal utility of the link rate, s: `marginal` times the weight of the link in the session's cut
    marginal: float  # marginal utility of the session's rate, s
    loss: float  # share of packets lost on the link since the last update
    queueing_s: float  # mean queueing on the link since the last update
    risen_s: float  # `queueing_s` less that of the update before
    usual_kbps: float  # mean rate of all sessions
    rate_kbps: float  # rate of the session on the link
    quick: bool  # True during the session's quick start
    first: bool  # True if the link leaves the session's source
    parties: int  # number of parties


@generic(abstract=True)
def weigh_cut(params, source, receives, rates_kbps, delay_ms, cut):
    """Return the min-cut of a session in kbps, and fill `cut` with the weight of each overlay link in it, 0 to 1.

    Args:
        params: rule.
        source: source party.
        receives: (P,) bool; only these parties receive and relay.
        rates_kbps: (P, P), rates of this session on overlay links.
        delay_ms: (P, P), infinite for a missing link.
        cut: (P, P) float64, overwritten.
    """


@generic(abstract=True)
def change_kbps(params, update):
    """Return the change in kbps of a session's rate on an overlay link, given an `Update`."""


@generic()
def recovery_share(params):
    """Return the share of unused link rates that carries coded packets, 0 to 1."""
    return 0.0


@kernel
def session_rate(source, receives, rates_kbps, delay_ms, bound_ms, cut):
    """Return the smallest min-cut of a session's receivers in kbps, and mark the overlay links of the critical cut in `cut`.

    Among receivers with equal min-cuts the first is critical. Each relay's path is cut at its smaller side, at the second on ties. The cut
    is the subgradient of the rate: 1 on its links, 0 elsewhere.

    Args:
        source: source party.
        receives: (P,) bool; only these parties receive and relay.
        rates_kbps: (P, P), rates of this session on overlay links.
        delay_ms: (P, P), infinite for a missing link.
        bound_ms: bound on the delay from the source to each receiver.
        cut: (P, P), overwritten with 1 on its links and 0 elsewhere.
    """
    cut[:] = 0.0
    lowest, critical = math.inf, -1
    for j in range(receives.size):
        if receives[j] and j != source:
            found = min_cut(source, j, receives, rates_kbps, delay_ms, bound_ms)
            if found < lowest:
                lowest, critical = found, j
    if critical < 0:
        return 0.0
    # A direct link beyond the bound carries nothing, so its rate cannot change the min-cut.
    cut[source, critical] = 1.0 if delay_ms[source, critical] <= bound_ms else 0.0
    for i in range(receives.size):
        if receives[i] and i != critical and i != source and delay_ms[source, i] + delay_ms[i, critical] <= bound_ms:
            if rates_kbps[source, i] < rates_kbps[i, critical]:
                cut[source, i] = 1.0
            else:
                cut[i, critical] = 1.0
    return lowest


@kernel
def min_cut(source, j, receives, rates_kbps, delay_ms, bound_ms):
    """Return the delay-bounded min-cut of a receiver in kbps, float64.

    Args:
        source: int64, source party.
        j: int64, receiving party.
        receives: (P,) bool; only these parties receive and relay.
        rates_kbps: (P, P) float64, rates of this session on overlay links, by tail and head.
        delay_ms: (P, P) float64, infinite for a missing link.
        bound_ms: float64, bound on the delay from the source to each receiver.
    """
    found = rates_kbps[source, j] if delay_ms[source, j] <= bound_ms else 0.0
    for i in range(receives.size):
        if receives[i] and i != j and i != source and delay_ms[source, i] + delay_ms[i, j] <= bound_ms:
            found += min(rates_kbps[source, i], rates_kbps[i, j])
    return found
