"""Celerity's greedy packing of two-hop trees into link rates, unit by unit (section 3.3).

A tree grows from the source by the link whose use reduces the smallest min-cut of the residual rates least; ties are broken by the sum of
all min-cuts. If no link reaches a missing receiver, a receiver fed by another relay is fed by the source instead and becomes the relay of
the missing one (ours; the paper's tree would end here). A tree carries a unit; if no tree is left, the unit is halved, down to
MIN_UNIT_KBPS.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.network import MAX_TREES
from vcgym.conference.rules.link_rates import min_cut
from vcgym.network.kernels.jit import kernel

UNIT_KBPS = 10.0
MIN_UNIT_KBPS = 2.5
_UNITS = 20  # maximum units of a session's rate
_UNUSED = -2


class Packing(NamedTuple):
    """Working memory: residual rates (P, P) and min-cuts (P,)."""

    left_kbps: NDArray[np.float64]
    cut_kbps: NDArray[np.float64]


def allocate_packing(parties: int) -> Packing:
    """Allocate the working memory for P parties."""
    return Packing(np.zeros((parties, parties)), np.zeros(parties))


@kernel
def pack(work, source, receives, rates_kbps, delay_ms, bound_ms, rate_kbps, trees, weights):
    """Fill `trees`, and their rates in kbps in `weights`; return the number of trees.

    Args:
        work: working memory.
        source: source party.
        receives: (P,) bool, receiving parties.
        rates_kbps: (P, P), rates of this session on overlay links.
        delay_ms: (P, P), infinite for a missing link.
        bound_ms: bound on the delay from the source to each receiver.
        rate_kbps: rate to be packed, the session's min-cut.
        trees: (MAX_TREES, P) parents, output; -2 for a party that does not receive, -1 for the source.
        weights: (MAX_TREES,), output.
    """
    parties = receives.size
    left = work.left_kbps
    for i in range(parties):
        for j in range(parties):
            left[i, j] = rates_kbps[i, j]
    _fill_cuts(work, source, receives, delay_ms, bound_ms)
    unit, packed, count = max(UNIT_KBPS, rate_kbps / _UNITS), 0.0, 0
    while count < MAX_TREES and unit >= MIN_UNIT_KBPS:
        if packed + unit <= rate_kbps and _grow(work, source, receives, delay_ms, bound_ms, unit, trees[count]):
            weights[count] = unit
            packed += unit
            count += 1
        else:
            for j in range(parties):  # an unfinished tree has used some links
                for i in range(parties):
                    left[i, j] = rates_kbps[i, j]
            for tree in range(count):
                for j in range(parties):
                    if trees[tree, j] >= 0:
                        left[trees[tree, j], j] -= weights[tree]
            _fill_cuts(work, source, receives, delay_ms, bound_ms)
            unit /= 2.0
    return count


@kernel
def fill_repairs(work, rates_kbps, share, repairs):
    """Fill the coded packets per packet of each overlay link: a share of the rates that the trees packed last left over, at most 1.

    Args:
        work: Packing, as the last `pack` left it.
        rates_kbps: (P, P) float64, the rates given to that `pack`.
        share: float64, share of unused link rates that carries coded packets, 0 to 1.
        repairs: (P, P) float64, by tail and head, overwritten with 0 to 1; 0 on links without a tree.
    """
    for i in range(len(rates_kbps)):
        for j in range(len(rates_kbps)):
            left_kbps = work.left_kbps[i, j]
            used_kbps = rates_kbps[i, j] - left_kbps
            repairs[i, j] = min(1.0, share * left_kbps / used_kbps) if used_kbps > 1e-6 else 0.0


@kernel
def _fill_cuts(work, source, receives, delay_ms, bound_ms):
    for j in range(receives.size):
        work.cut_kbps[j] = min_cut(source, j, receives, work.left_kbps, delay_ms, bound_ms)


@kernel
def _grow(work, source, receives, delay_ms, bound_ms, unit, parents):
    """Grow one tree of a unit; return False if a receiver cannot be reached."""
    parties = receives.size
    missing = 0
    for j in range(parties):
        parents[j] = _UNUSED
        missing += receives[j] and j != source
    parents[source] = -1
    while missing > 0:
        tail, head = _best_link(work, source, receives, delay_ms, bound_ms, unit, parents)
        if head < 0:
            if not _make_relay(work, source, receives, delay_ms, bound_ms, unit, parents):
                return False
            continue
        _use(work, source, receives, delay_ms, bound_ms, unit, tail, head)
        parents[head] = tail
        missing -= 1
    return True


@kernel
def _make_relay(work, source, receives, delay_ms, bound_ms, unit, parents):
    """Let the source feed a party that can feed a missing receiver; return False if there is none."""
    left = work.left_kbps
    for relay in range(receives.size):
        if parents[relay] < 0 or parents[relay] == source or left[source, relay] < unit:
            continue
        for j in range(receives.size):
            missing = receives[j] and parents[j] == _UNUSED and left[relay, j] >= unit
            if missing and delay_ms[source, relay] + delay_ms[relay, j] <= bound_ms:
                # The party changes its parent from another relay to the source, so that it may forward itself: trees have two hops.
                left[parents[relay], relay] += unit
                left[source, relay] -= unit
                parents[relay] = source
                _fill_cuts(work, source, receives, delay_ms, bound_ms)
                return True
    return False


@kernel
def _best_link(work, source, receives, delay_ms, bound_ms, unit, parents):
    """Return the link that reduces the smallest min-cut least, or (-1, -1)."""
    left, cut = work.left_kbps, work.cut_kbps
    best_least, best_sum, best_tail, best_head = -math.inf, -math.inf, -1, -1
    lowest, second, critical = math.inf, math.inf, -1
    for j in range(receives.size):
        if receives[j] and j != source:
            if cut[j] < lowest:
                lowest, second, critical = cut[j], lowest, j
            elif cut[j] < second:
                second = cut[j]
    for head in range(receives.size):
        if not receives[head] or parents[head] != _UNUSED:
            continue
        for tail in range(receives.size):
            direct = tail == source
            if not (direct or parents[tail] == source) or left[tail, head] < unit:
                continue
            if (0.0 if direct else delay_ms[source, tail]) + delay_ms[tail, head] > bound_ms:
                continue
            if direct:
                least, lost = math.inf, 0.0
                for j in range(receives.size):
                    if receives[j] and j != source:
                        loses = _loss(left, source, tail, head, j, delay_ms, bound_ms, unit)
                        lost += loses
                        least = min(least, cut[j] - loses)
            else:  # only the min-cut of `head` decreases
                lost = _loss(left, source, tail, head, head, delay_ms, bound_ms, unit)
                least = min(cut[head] - lost, second if head == critical else lowest)
            if least > best_least or (least == best_least and -lost > best_sum):
                best_least, best_sum, best_tail, best_head = least, -lost, tail, head
    return best_tail, best_head


@kernel
def _loss(left, source, tail, head, j, delay_ms, bound_ms, unit):
    """Return the reduction of j's min-cut if a unit uses (tail, head)."""
    if tail != source:
        return min(left[source, tail], left[tail, j]) - min(left[source, tail], left[tail, j] - unit) if head == j else 0.0
    if head == j:
        return unit
    if delay_ms[source, head] + delay_ms[head, j] > bound_ms:
        return 0.0
    return min(left[source, head], left[head, j]) - min(left[source, head] - unit, left[head, j])


@kernel
def _use(work, source, receives, delay_ms, bound_ms, unit, tail, head):
    for j in range(receives.size):
        if receives[j] and j != source:
            work.cut_kbps[j] -= _loss(work.left_kbps, source, tail, head, j, delay_ms, bound_ms, unit)
    work.left_kbps[tail, head] -= unit
