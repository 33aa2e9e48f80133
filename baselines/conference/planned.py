"""Allocations planned from true capacities: the rivals of Celerity and the optimum, as rules.

None of them measures anything: a plan is made from the network as it is, cross traffic left out, at the instant at which it changes. That
favours them beside Celerity, which has to find out. A share of each capacity is left free, since queues of a full link grow without bound.
"""

import enum
from typing import NamedTuple

from vcgym.baselines.conference.oracle_lp import oracle_lp
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
        trees: those of which system.
        share: of each capacity that is planned for, above 0, at most 1.
    """

    trees: Trees
    share: float = 0.95


@rule(Control.TREES, learns=False, oracle=True)
class OraclePlanned(NamedTuple):
    """Parameters of the optimum.

    Attributes:
        hops: most overlay links from a source to a receiver, 1 to 3.
        share: of each capacity that is planned for, above 0, at most 1.
    """

    hops: int = 2
    share: float = 0.95


def plan(params: Planned | OraclePlanned, network: Overlay) -> Allocation:
    """Return the allocation on a network.

    Raises:
        ValueError: a parameter out of its range.
    """
    require_within(params, share=(1e-3, 1.0))
    found = oracle_lp(network, params.hops).allocation if isinstance(params, OraclePlanned) else _WAYS[params.trees](network)
    return found._replace(rates_kbps=params.share * found.rates_kbps)
