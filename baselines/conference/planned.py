"""Allocations planned from true capacities: the competitors of Celerity and the optimum, as rules.

They measure nothing: a plan is computed from the actual network without cross traffic, at the instant of each change. This favours them
over Celerity, which must measure. A share of each capacity is left unused, since the queue of a full link grows without bound.
"""

import enum
from typing import NamedTuple

from vcgym.baselines.conference.optimum.oracle_lp import oracle_lp
from vcgym.baselines.conference.published import forwarding_unit, mutualcast, simulcast
from vcgym.baselines.conference.trees import Allocation
from vcgym.baselines.rule import Control, rule
from vcgym.network.kernels.ranges import require_within
from vcgym.network.overlay.topology import Overlay


class Trees(enum.IntEnum):
    """Trees that a published system allows."""

    MUTUALCAST = 0
    SIMULCAST = 1
    FORWARDING_UNIT = 2


_WAYS = {Trees.MUTUALCAST: mutualcast, Trees.SIMULCAST: simulcast, Trees.FORWARDING_UNIT: forwarding_unit}


@rule(Control.TREES, learns=False)
class Planned(NamedTuple):
    """Parameters.

    Attributes:
        trees: system that defines the allowed trees.
        share: planned share of each capacity, above 0, at most 1.
    """

    trees: Trees
    share: float = 0.95


@rule(Control.TREES, learns=False, oracle=True)
class OraclePlanned(NamedTuple):
    """Parameters of the optimum.

    Attributes:
        hops: maximum number of overlay links from a source to a receiver, 1 to 3.
        share: planned share of each capacity, above 0, at most 1.
    """

    hops: int = 2
    share: float = 0.95


def plan(params: Planned | OraclePlanned, network: Overlay) -> Allocation:
    """Return the allocation on a network.

    Raises:
        ValueError: a parameter is out of range.
    """
    require_within(params, share=(1e-3, 1.0))
    found = oracle_lp(network, params.hops).allocation if isinstance(params, OraclePlanned) else _WAYS[params.trees](network)
    return found._replace(rates_kbps=params.share * found.rates_kbps)
