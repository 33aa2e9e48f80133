"""Scenario table1: four cities of one cloud with the round trips and losses of Table I of the VCRoute paper; two relays (5 paths).

Measured (by the paper's authors): round trip and loss of every ordered link. Assumed: the queueing excess, and that losses are independent.
Nothing is known of bad hours: in the natural mix there are none.
"""

from vcgym.network.scenarios.paths.linked import TableLinked
from vcgym.network.scenarios.recipe import Settings
from vcgym.network.traces.cards import load_links


class Table1(TableLinked):
    """Worlds of Table I: any city may call any other; pairs are split by how far apart they stand in the table."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, load_links("table1"))

    def pairs(self, split: str) -> list[str]:
        """Return the names of the pairs of a split."""
        codes = self.codes("city")
        step = {"train": 1, "validation": 2, "test": 3}[split]
        return [f"{a}-{b}" for i, a in enumerate(codes) for j, b in enumerate(codes) if (j - i) % 4 == step]
