"""The exact cheapest delay-bounded tree of at most three hops for given prices of overlay links.

Dynamic programming over sets of receivers: a set is partitioned into groups, each fed through its own head. A group of a two-hop tree is a
head and the leaves it feeds; a group of a three-hop tree is a head and the best partition of the rest into two-hop groups. O(n 3^n) steps
for two hops, O(n^2 3^n) for three, with n receivers.
"""

import math

import numpy as np

from vcgym.network.kernels.jit import allocating_kernel, kernel

MAX_HOPS = 3
MAX_PARTIES = 13


@allocating_kernel
def cheapest_tree(source, prices, delay_ms, bound_ms, hops, parents):
    """Fill `parents` with the cheapest tree of at most `hops` hops (1 to 3) from `source`; return its price, or infinity if there is none.

    Args:
        source: source party.
        prices: (P, P) float64, prices of the overlay links, none negative.
        delay_ms: (P, P) float64, infinite for a missing link.
        bound_ms: bound on the delay from the source to each receiver.
        hops: maximum number of hops, 1 to MAX_HOPS.
        parents: (P,) int64, output.
    """
    n = prices.shape[0] - 1
    others = np.array([party for party in range(n + 1) if party != source])
    sets = 1 << n
    groups, inner = np.empty((n, sets)), np.empty((n, sets))
    best, inner_best = np.empty((n + 1, sets)), np.empty((n + 1, sets))
    taken, inner_taken = np.zeros((n, sets), np.int64), np.zeros((n, sets), np.int64)
    _fill_groups(source, 0.0, min(hops, 2), others, prices, delay_ms, bound_ms, groups)
    if hops == MAX_HOPS:
        for head in range(n):
            _fill_groups(others[head], delay_ms[source, others[head]], 2, others, prices, delay_ms, bound_ms, inner)
            _divide(inner, inner_best, inner_taken)
            for group in range(sets):
                if group >> head & 1 and groups[head, 1 << head] < math.inf:
                    groups[head, group] = prices[source, others[head]] + inner_best[n, group ^ (1 << head)]
    _divide(groups, best, taken)
    parents[source] = -1
    rest = sets - 1
    for head in range(n - 1, -1, -1):
        group = taken[head, rest]
        if group == 0:
            continue
        rest ^= group
        parents[others[head]] = source
        below = group ^ (1 << head)
        if hops < MAX_HOPS:
            _hang(below, others[head], others, parents)
            continue
        _fill_groups(others[head], delay_ms[source, others[head]], 2, others, prices, delay_ms, bound_ms, inner)
        _divide(inner, inner_best, inner_taken)
        for relay in range(n - 1, -1, -1):
            leaves = inner_taken[relay, below]
            if leaves:
                below ^= leaves
                parents[others[relay]] = others[head]
                _hang(leaves ^ (1 << relay), others[relay], others, parents)
    return best[n, sets - 1]


@kernel
def _hang(leaves, parent, others, parents):
    for leaf in range(others.size):
        if leaves >> leaf & 1:
            parents[others[leaf]] = parent


@kernel
def _fill_groups(root, spent_ms, hops, others, prices, delay_ms, bound_ms, groups):
    """Fill groups[head, group] with the price of feeding `head` from `root` and the rest of `group`, a set, from `head`."""
    for head in range(others.size):
        via = others[head]
        at_head_ms = spent_ms + delay_ms[root, via]
        for group in range(groups.shape[1]):
            price = prices[root, via] if at_head_ms <= bound_ms and group >> head & 1 else math.inf
            if hops == 1 and group != 1 << head:
                price = math.inf
            for leaf in range(others.size):
                if price < math.inf and leaf != head and group >> leaf & 1:
                    reached = at_head_ms + delay_ms[via, others[leaf]] <= bound_ms
                    price = price + prices[via, others[leaf]] if reached else math.inf
            groups[head, group] = price


@kernel
def _divide(groups, best, taken):
    """Fill best[k, all] with the minimum price of partitioning a set among heads below k, and taken[k, all] with head k's group, or 0."""
    best[0, :] = math.inf
    best[0, 0] = 0.0
    for head in range(groups.shape[0]):
        for every in range(groups.shape[1]):
            lowest, chosen = best[head, every], 0
            if every >> head & 1:
                free = every ^ (1 << head)
                part = free
                while True:
                    price = groups[head, part | (1 << head)] + best[head, free ^ part]
                    if price < lowest:
                        lowest, chosen = price, part | (1 << head)
                    if part == 0:
                        break
                    part = (part - 1) & free
            best[head + 1, every], taken[head, every] = lowest, chosen
