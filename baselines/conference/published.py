"""Allocations of published systems: proportionally fair rates over the trees that each system allows.

Mutualcast (Li, Chou, Zhang 2004; as in Celerity's comparison, section 6.1), Simulcast, and a selective forwarding unit, one tree per
session, as in most products.
"""

import math

from vcgym.baselines.conference.optimum.oracle_lp import fair_rates
from vcgym.baselines.conference.trees import DELAY_BOUND_MS, Allocation, Tree, direct_tree, is_admissible, tree_through
from vcgym.network.overlay.topology import Overlay


def mutualcast(network: Overlay, bound_ms: float = DELAY_BOUND_MS) -> Allocation:
    """Return the optimum over trees through one receiver to all others plus the tree from the source to all."""
    parties = range(network.parties)
    through = [tree_through(source, relay, network.parties) for source in parties for relay in parties if relay != source]
    return fair_rates(network, _admissible([*through, *_direct(network)], network, bound_ms))


def simulcast(network: Overlay, bound_ms: float = DELAY_BOUND_MS) -> Allocation:
    """Return the optimum of separate unicast to every receiver at the same rate."""
    return fair_rates(network, _admissible(_direct(network), network, bound_ms))


def forwarding_unit(network: Overlay, bound_ms: float = DELAY_BOUND_MS) -> Allocation:
    """Return the optimum with one tree per session, all through the same party: the one that serves most sessions, then the best."""
    units = []
    for unit in range(network.parties):
        trees = [tree_through(source, unit, network.parties) for source in range(network.parties) if source != unit]
        units.append(fair_rates(network, _admissible([direct_tree(unit, network.parties), *trees], network, bound_ms)))
    return max(units, key=lambda found: (len(found.trees), found.utility() if found.trees else -math.inf))


def _direct(network: Overlay) -> list[Tree]:
    return [direct_tree(source, network.parties) for source in range(network.parties)]


def _admissible(trees: list[Tree], network: Overlay, bound_ms: float) -> list[Tree]:
    return [tree for tree in trees if is_admissible(tree, network, bound_ms)]
