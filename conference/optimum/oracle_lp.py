"""The exact optimum of a conference: proportionally fair rates over all delay-bounded trees of at most two or three hops.

There are too many trees to list, so column generation is used: the optimum over a few trees gives prices of the physical links, and the
cheapest tree of each session under these prices is added (`cheapest_tree`), until none is cheaper than the session's own value of a unit of
rate. This proves optimality over all trees: for any prices p, sum_l p_l C_l - sum_m (1 + ln(price of m's cheapest tree)) is an upper bound
on the utility of every allocation (Lagrange dual); `Optimum.bound` is this number.

Proportionally fair rates over a few trees are found by linear programs: log utility as the minimum of its tangents, refined near the
optimum, by Kelley's cutting planes (The cutting-plane method for solving convex programs, SIAM 1960), solved by HiGHS. Every tangent is
above the logarithm, so each program's optimum is an upper bound, and its rates are feasible. The difference bounds their distance from the
optimum.

The cheapest tree of at most three hops is found by dynamic programming over sets of receivers: a set is partitioned into groups, each fed
through its own head. A group of a two-hop tree is a head and the leaves it feeds; a group of a three-hop tree is a head and the best
partition of the rest into two-hop groups. O(n 3^n) steps for two hops, O(n^2 3^n) for three, with n receivers.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.topology import NO_LINK, Overlay
from vcgym.conference.network.trees import DELAY_BOUND_MS, Allocation, Tree, hops_of, source_of
from vcgym.network.kernels.jit import allocating_kernel, kernel

MAX_HOPS = 3
MAX_PARTIES = 13
_GAP = 1e-6  # between utility and bound
_MAX_ROUNDS = 1000
GAP = 1e-7  # in the sum of natural logarithms: a rate is then within 0.05 % of the optimal one
_MAX_CUTS = 200
_EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_FIRST_TANGENTS = np.geomspace(1e-2, 1e2, 25)  # relative to the minimum limit
_NEAR = np.array([0.97, 0.99, 0.997, 0.999, 0.9997, 1.0, 1.0003, 1.001, 1.003, 1.01, 1.03])  # tangents relative to the current rates


class Optimum(NamedTuple):
    """Optimal allocation."""

    allocation: Allocation  # rates on the generated trees in use
    bound: float  # no allocation over delay-bounded trees has a larger sum of ln(kbps)


def oracle_lp(network: Overlay, hops: int = 2, bound_ms: float = DELAY_BOUND_MS, sources: Sequence[int] | None = None) -> Optimum:
    """Return the allocation that maximises the sum of ln(rate); a session without a tree has rate 0 and is excluded from the sum.

    Args:
        network: overlay of at most MAX_PARTIES parties.
        hops: maximum number of overlay links from a source to a receiver, 1 to 3.
        bound_ms: maximum delay from a source to a receiver, without queueing.
        sources: sending parties; None: all.

    Raises:
        ValueError: an argument is out of range.
    """
    if not 1 <= hops <= MAX_HOPS:
        raise ValueError(f"hops = {hops} of oracle_lp; allowed is 1 to {MAX_HOPS}")
    if network.parties > MAX_PARTIES:
        raise ValueError(f"oracle_lp of {network.parties} parties; allowed are at most {MAX_PARTIES}")
    senders = range(network.parties) if sources is None else sources
    trees = {tree for _, tree in _cheapest(network, senders, np.ones(len(network.capacity_kbps)), hops, bound_ms)}
    if not trees:
        return Optimum(Allocation(network.parties, (), np.zeros(0)), 0.0)
    for _ in range(_MAX_ROUNDS):
        allocation, link_prices = _share(network, trees)
        offers = _cheapest(network, senders, link_prices, hops, bound_ms)
        prices = np.array([price for price, _ in offers])
        with np.errstate(divide="ignore"):  # a free tree gives no bound
            bound = float(link_prices @ network.capacity_kbps - (1.0 + np.log(prices)).sum())
        if bound - allocation.utility() <= _GAP:
            return Optimum(allocation, bound)
        trees |= {tree for _, tree in offers}
    raise ValueError(f"oracle_lp of {network.parties} parties: no optimum after {_MAX_ROUNDS} rounds")


def fair_rates(network: Overlay, trees: Iterable[Tree]) -> Allocation:
    """Return the allocation that maximises the sum of ln(rate) over given trees; sessions without a tree have rate 0."""
    listed = set(trees)
    return _share(network, listed)[0] if listed else Allocation(network.parties, (), np.zeros(0))


def _share(network: Overlay, trees: set[Tree]) -> tuple[Allocation, NDArray[np.float64]]:
    """Return the optimum over these trees and the price of each physical link."""
    listed, crossings = sorted(trees), network.crossings()
    gains = np.array([[source_of(tree) == source for tree in listed] for source in sorted(set(map(source_of, listed)))], np.float64)
    rows = np.stack([crossings[:, *np.transpose(hops_of(tree))].sum(axis=1) for tree in listed], axis=1)
    rates, prices = _maximise_log(gains, rows, network.capacity_kbps)
    return Allocation(network.parties, tuple(listed), rates), prices


def _cheapest(
    network: Overlay, senders: Iterable[int], link_prices: NDArray[np.float64], hops: int, bound_ms: float
) -> list[tuple[float, Tree]]:  # fmt: skip
    """Return the price and the cheapest tree of each sender that has one."""
    prices = np.einsum("lij,l->ij", network.crossings(), np.maximum(link_prices, 0.0))
    parents = np.empty(network.parties, np.int64)
    found = []
    for source in senders:
        price = float(cheapest_tree(source, prices, network.delay_ms, float(bound_ms), hops, parents))
        if np.isfinite(price):
            found.append((price, tuple(map(int, parents))))
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


def _maximise_log(
    gains: NDArray[np.float64], rows: NDArray[np.float64], limits: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """Return the x that maximises the sum of ln(gains @ x) for rows @ x <= limits and x >= 0, and d optimum / d limit of each row.

    Args:
        gains: (rates, variables), with a positive number in each row.
        rows: (constraints, variables).
        limits: (constraints,), none negative, at least one positive.

    Raises:
        ValueError: the program has no optimum.
    """
    from scipy.optimize import linprog  # imported here: only these optima need it

    unit = float(limits[limits > 0.0].min())  # numbers near 1 suit the solver's tolerances
    rates, variables = gains.shape
    constraints = np.hstack([rows, np.zeros((len(rows), rates))])
    tangents = np.repeat(_FIRST_TANGENTS[:, None], rates, axis=1)
    objective = np.repeat([0.0, -1.0], [variables, rates])
    bounds = [(0.0, None)] * variables + [(None, None)] * rates
    for _ in range(_MAX_CUTS):
        # u <= ln(t) + (r - t) / t for each tangent at t
        slopes = (gains / -tangents[:, :, None]).reshape(-1, variables)
        matrix = np.vstack([constraints, np.hstack([slopes, np.tile(np.eye(rates), (len(tangents), 1))])])
        upper = np.concatenate([limits / unit, np.log(tangents).ravel() - 1.0])
        solved = linprog(objective, matrix, upper, bounds=bounds, method="highs", options=_EXACT)
        if solved.status != 0:
            raise ValueError(f"log program of {rates} rates: {solved.message}"[:300])
        x = solved.x[:variables]
        found = gains @ x
        if found.min() > 0.0 and -solved.fun - np.log(found).sum() <= GAP:
            return x * unit, -solved.ineqlin.marginals[: len(rows)] / unit
        tangents = np.vstack([tangents, np.maximum(found, _FIRST_TANGENTS[0] / 10.0) * _NEAR[:, None]])
    raise ValueError(f"log program of {rates} rates: no optimum within {GAP} after {_MAX_CUTS} rounds")


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
