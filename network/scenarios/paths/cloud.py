"""Scenario cloud: the five-by-three shape of the VCRoute paper's second setting, over public statistics of two clouds; 17 paths.

The paper's 10-ms series between Tokyo, Guangzhou, Singapore, Frankfurt, Sao Paulo and the users in Shenzhen, Singapore and Hong Kong were
never published. `vcgym.network.fitting.cloud` says what stands in for each place, and which links are sums of two.
"""

from vcgym.network.scenarios.paths.linked import TableLinked
from vcgym.network.scenarios.recipe import Settings
from vcgym.network.traces.cards import load_links


class Cloud(TableLinked):
    """Pairs are split in a Latin square; there is one burst a link, so that `worst` and `median` are the same."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, load_links("cloud"))

    def pairs(self, split: str) -> list[str]:
        """Return the names of the pairs of a split."""
        return self.latin_square(split)
