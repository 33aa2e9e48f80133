"""Scenario wonderproxy: ten places of the WonderProxy pings of July 2020; 5 endpoints x 5 users; the other 4 endpoints relay (17 paths).

The places are those of the VCRoute paper's first setting (section VI-A), identified from its published packet log. Measured: ping
statistics of every ordered link. Fitted: see `vcgym.network.fitting.links`. Assumed: no loss, and all time structure within one burst of
30 pings.
"""

from vcgym.network.scenarios.paths.linked import TableLinked
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.cards import load_links


class WonderProxy(TableLinked):
    """Recipe whose pairs are split in a Latin square."""

    def __init__(self, settings: WorldSettings) -> None:
        super().__init__(settings, load_links("wonderproxy_ten_places"))

    def pairs(self, split: str) -> list[str]:
        """Return the names of the pairs of a split."""
        return self.latin_square(split)
