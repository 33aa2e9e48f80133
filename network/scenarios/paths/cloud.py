"""Scenario cloud: the VCRoute paper's second setting (5 endpoints x 3 users) with public statistics of two clouds; 17 paths.

The paper's 10-ms series between Tokyo, Guangzhou, Singapore, Frankfurt, Sao Paulo and the users in Shenzhen, Singapore and Hong Kong are
not published. `lab.shipped.sets.cloud` lists the substitute for each place, and the links that are sums of two.
"""

from vcgym.network.scenarios.paths.linked import TableLinked
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.cards import load_links


class Cloud(TableLinked):
    """Recipe whose pairs are split in a Latin square; each link has one burst, so `worst` and `median` are equal."""

    def __init__(self, settings: WorldSettings) -> None:
        super().__init__(settings, load_links("cloud"))

    def pairs(self, split: str) -> list[str]:
        """Return the names of the pairs of a split."""
        return self.latin_square(split)
