"""Scenario world: calls between any two of about 215 measured cities; 10 to 19 data-centre cities relay (101 to 362 paths).

Measured: ping statistics of every ordered link (WonderProxy, July 2020). Fitted: see `vcgym.network.fitting.links` and
`vcgym.network.fitting.world`. Declared: the list of data-centre cities. The package ships the parameters of a stratified sample of pairs;
a folder of measured data gives all pairs.
"""

from typing import Any

from numpy.typing import NDArray

from vcgym.network.scenarios.paths.linked import Linked
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.cards import data_root
from vcgym.network.worlds.world_links import load_sample, relays_of, split_of


class WorldCities(Linked):
    """Recipe whose pairs are split by a hash of their two cities; sample and full data give a pair the same split."""

    def __init__(self, settings: WorldSettings, relays: int) -> None:
        if settings.data is None:
            self._world = load_sample()
        else:
            from vcgym.network.fitting.world import fit_world  # fits 46,000 links, which takes seconds

            self._world = fit_world(data_root(settings.data))
        self._relays = relays
        self._split = {name: [pair for pair in self._world.pairs if split_of(pair) == name] for name in ("train", "validation", "test")}
        super().__init__(settings, relays, self._world.card)

    def pairs(self, split: str) -> list[str]:
        """Return the names of the pairs of a split."""
        return self._split[split]

    def nodes(self, pair: str) -> list[str]:
        """Return the places of a pair's call: sender, relays, receiver."""
        sender, receiver = pair.split("-")
        return [sender, *relays_of(pair, self._relays), receiver]

    def rows(self, hops: list[tuple[str, str]]) -> NDArray[Any]:
        """Return the parameters of the links between places; dtype `LINK`."""
        return self._world.links[[self._world.row[hop] for hop in hops]]
