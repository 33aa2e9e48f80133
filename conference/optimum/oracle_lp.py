"""The exact optimum of a conference: proportionally fair rates over all delay-bounded trees of at most two or three hops.

There are too many trees to list, so column generation is used: the optimum over a few trees gives prices of the physical links, and the
cheapest tree of each session under these prices is added (`cheapest_tree`), until none is cheaper than the session's own value of a unit of
rate. This proves optimality over all trees: for any prices p, sum_l p_l C_l - sum_m (1 + ln(price of m's cheapest tree)) is an upper bound
on the utility of every allocation (Lagrange dual); `Optimum.bound` is this number.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.topology import NO_LINK, Overlay
from vcgym.conference.network.trees import DELAY_BOUND_MS, Allocation, Tree, hops_of, source_of
from vcgym.conference.optimum.cheapest_tree import MAX_HOPS, MAX_PARTIES, cheapest_tree
from vcgym.conference.optimum.log_program import maximise_log

_GAP = 1e-6  # between utility and bound
_MAX_ROUNDS = 1000


class Optimum(NamedTuple):
    """Optimal allocation.

    Attributes:
        allocation: rates on the generated trees in use.
        bound: no allocation over delay-bounded trees has a larger sum of ln(kbps).
    """

    allocation: Allocation
    bound: float


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
    solved = maximise_log(gains, rows, network.capacity_kbps)
    return Allocation(network.parties, tuple(listed), solved.x), solved.prices


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
