"""Trees of a conference with their rates (allocations), and how sources follow them.

A tree of session m spans all parties from its source m: `tree[j]` is the party that feeds j, NO_PARENT for the source.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.network import MAX_TREES, PLANS, OverlayNetwork, set_plan
from vcgym.conference.network.topology import Overlay

NO_PARENT = -1
DELAY_BOUND_MS = 200.0  # Celerity, section 2

Tree = tuple[int, ...]


class Allocation(NamedTuple):
    """Rates on trees."""

    parties: int  # number of parties P
    trees: tuple[Tree, ...]  # parents of each tree
    rates_kbps: NDArray[np.float64]  # (trees,), rate of each tree

    def session_kbps(self) -> NDArray[np.float64]:
        """Return the rate of each session, (P,)."""
        rates = np.zeros(self.parties)
        for tree, rate in zip(self.trees, self.rates_kbps, strict=True):
            rates[source_of(tree)] += rate
        return rates

    def utility(self) -> float:
        """Return the sum of the natural logarithms of the session rates, without sessions of rate 0."""
        rates = self.session_kbps()
        return float(np.log(rates[rates > 0.0]).sum())


def source_of(tree: Tree) -> int:
    """Return the source of a tree."""
    return tree.index(NO_PARENT)


def hops_of(tree: Tree) -> list[tuple[int, int]]:
    """Return the overlay links of a tree, (tail, head) each."""
    return [(parent, head) for head, parent in enumerate(tree) if parent != NO_PARENT]


def direct_tree(source: int, parties: int) -> Tree:
    """Return the tree in which the source feeds every receiver."""
    return tuple(NO_PARENT if party == source else source for party in range(parties))


def tree_through(source: int, relay: int, parties: int) -> Tree:
    """Return the tree in which the source feeds `relay`, and `relay` every other receiver."""
    return tuple(NO_PARENT if party == source else source if party == relay else relay for party in range(parties))


def is_admissible(tree: Tree, network: Overlay, bound_ms: float) -> bool:
    """Return True if every overlay link of the tree exists and every receiver is within the delay bound."""

    def delay_ms(party: int) -> float:
        return 0.0 if tree[party] == NO_PARENT else delay_ms(tree[party]) + float(network.delay_ms[tree[party], party])

    return all(np.isfinite(delay_ms(party)) and delay_ms(party) <= bound_ms for party in range(len(tree)))


def follow(net: OverlayNetwork, allocation: Allocation, now_us: int, seed: np.uint64) -> None:
    """Put an allocation in force at once; for a session with more than MAX_TREES trees only those with the largest rates.

    Each source sends at its rate and distributes packets over its trees in proportion to their rates.

    Args:
        net: a started network.
        allocation: allocation for the same number of parties.
        now_us: current time.
        seed: seed of the phases of sources that were silent.
    """
    for m in range(allocation.parties):
        chosen = [k for k, tree in enumerate(allocation.trees) if source_of(tree) == m and allocation.rates_kbps[k] > 0.0]
        chosen = sorted(chosen, key=lambda k: -allocation.rates_kbps[k])[:MAX_TREES]
        slot = (int(net.sessions[m].plan) + 1) % PLANS
        rates = allocation.rates_kbps[chosen]
        for index, k in enumerate(chosen):
            net.trees[m, slot, index] = allocation.trees[k]
            net.weights[m, slot, index] = allocation.rates_kbps[k] / rates.sum()
        set_plan(net, m, len(chosen), float(rates.sum()), now_us, seed)


def largest_trees(net: OverlayNetwork) -> NDArray[np.int16]:
    """Return the parents of the tree with the largest rate of each session, (P, P); all NO_PARENT for a silent one."""
    found = np.full((len(net.sessions),) * 2, NO_PARENT, np.int16)
    for m, session in enumerate(net.sessions):
        slot, trees = int(session["plan"]) % PLANS, int(session["trees"])
        if trees > 0:
            found[m] = net.trees[m, slot, np.argmax(net.weights[m, slot, :trees])]
    return found
