"""Scenario table1: four cities of one cloud with the round-trip times and losses of Table I of the VCRoute paper; two relays (5 paths).

Measured (by the paper's authors): round-trip time and loss of every ordered link. Assumed: the queueing excess and independent losses.
Bad hours are unknown: the natural mix has none.
"""

from vcgym.network.scenarios.paths.linked import TableLinked
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.cards import load_links


class Table1(TableLinked):
    """Recipe for Table I: any city may call any other; pairs are split by the distance of their rows in the table."""

    def __init__(self, settings: WorldSettings) -> None:
        super().__init__(settings, load_links("table1"))

    def pairs(self, split: str) -> list[str]:
        """Return the names of the pairs of a split."""
        codes = self.codes("city")
        step = {"train": 1, "validation": 2, "test": 3}[split]
        return [f"{a}-{b}" for i, a in enumerate(codes) for j, b in enumerate(codes) if (j - i) % 4 == step]
