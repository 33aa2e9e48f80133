"""Allocations planned from true capacities: the competitors of Celerity and the optimum, as rules.

They measure nothing: a plan is computed from the actual network without cross traffic, at the instant of each change. This favours them
over Celerity, which must measure. A share of each capacity is left unused, since the queue of a full link grows without bound. Rates are
proportionally fair over the trees that each system allows: Mutualcast (Li, Chou, Zhang 2004; as in Celerity's comparison, section 6.1),
Simulcast, and a selective forwarding unit, one tree per session, as in most products.
"""

import enum
import math
from typing import Annotated, NamedTuple

from vcgym.baselines.rule import rule
from vcgym.conference.network.topology import Overlay
from vcgym.conference.network.trees import DELAY_BOUND_MS, Allocation, Tree, direct_tree, is_admissible, tree_through
from vcgym.conference.optimum.oracle_lp import fair_rates, oracle_lp
from vcgym.conference.stage import TREES
from vcgym.network.kernels.ranges import require_within


class Trees(enum.IntEnum):
    """Trees that a published system allows."""

    MUTUALCAST = 0
    SIMULCAST = 1
    FORWARDING_UNIT = 2


@rule(TREES, learns=False)
class Planned(NamedTuple):
    """Parameters.

    Attributes:
        trees: system that defines the allowed trees.
        share: planned share of each capacity, above 0, at most 1.
    """

    trees: Trees
    share: Annotated[float, (1e-3, 1.0)] = 0.95


@rule(TREES, learns=False, oracle=True)
class OraclePlanned(NamedTuple):
    """Parameters of the optimum.

    Attributes:
        hops: maximum number of overlay links from a source to a receiver, 1 to 3.
        share: planned share of each capacity, above 0, at most 1.
    """

    hops: int = 2
    share: Annotated[float, (1e-3, 1.0)] = 0.95


def plan(params: Planned | OraclePlanned, network: Overlay) -> Allocation:
    """Return the allocation on a network.

    Raises:
        ValueError: a parameter is out of range.
    """
    require_within(params)
    found = oracle_lp(network, params.hops).allocation if isinstance(params, OraclePlanned) else _WAYS[params.trees](network)
    return found._replace(rates_kbps=params.share * found.rates_kbps)


def mutualcast(network: Overlay, bound_ms: float = DELAY_BOUND_MS) -> Allocation:
    """Return the optimum over trees through one receiver to all others plus the tree from the source to all."""
    parties = range(network.parties)
    through = [tree_through(source, relay, network.parties) for source in parties for relay in parties if relay != source]
    return _fair([*through, *_direct(network)], network, bound_ms)


def simulcast(network: Overlay, bound_ms: float = DELAY_BOUND_MS) -> Allocation:
    """Return the optimum of separate unicast to every receiver at the same rate."""
    return _fair(_direct(network), network, bound_ms)


def forwarding_unit(network: Overlay, bound_ms: float = DELAY_BOUND_MS) -> Allocation:
    """Return the optimum with one tree per session, all through the same party: the one that serves most sessions, then the best."""
    units = []
    for unit in range(network.parties):
        trees = [tree_through(source, unit, network.parties) for source in range(network.parties) if source != unit]
        units.append(_fair([direct_tree(unit, network.parties), *trees], network, bound_ms))
    return max(units, key=lambda found: (len(found.trees), found.utility() if found.trees else -math.inf))


def _direct(network: Overlay) -> list[Tree]:
    return [direct_tree(source, network.parties) for source in range(network.parties)]


def _fair(trees: list[Tree], network: Overlay, bound_ms: float) -> Allocation:
    return fair_rates(network, [tree for tree in trees if is_admissible(tree, network, bound_ms)])


_WAYS = {Trees.MUTUALCAST: mutualcast, Trees.SIMULCAST: simulcast, Trees.FORWARDING_UNIT: forwarding_unit}
