"""Enforcement of allocations: each source sends at its rate and distributes packets over its trees in proportion to their rates."""

import numpy as np
from numpy.typing import NDArray

from vcgym.conference.network.network import MAX_TREES, PLANS, OverlayNetwork, set_plan
from vcgym.conference.network.trees import NO_PARENT, Allocation, source_of


def follow(net: OverlayNetwork, allocation: Allocation, now_us: int, seed: np.uint64) -> None:
    """Put an allocation in force at once; for a session with more than MAX_TREES trees only those with the largest rates.

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
