"""Recipes over a table of links: endpoint -> 0, 1 or 2 relays -> user, in modes correlated and paper; four tables ship."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.cards import data_root, load_links
from vcgym.network.worlds.correlated import Correlated
from vcgym.network.worlds.links import (
    LINK,
    correlated_parameters,
    links_and_paths,
    load_sample,
    paper_parameters,
    relay_sequences,
    relays_of,
    row_of,
    split_of,
)
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.paper import Paper
from vcgym.network.worlds.strata import NATURAL, STRATA, declared_bad_hours, natural_bad_hours
from vcgym.network.worlds.world import World


class Linked(Recipe):
    """Paths over `relays` relays; a subclass defines the places of a pair and the parameters of the links between them.

    In mode correlated every path ends in the receiver's access, a link whose only effect is bad hours (stratum user-node).
    """

    modes: ClassVar[tuple[str, ...]] = ("correlated", "paper")

    def __init__(self, settings: WorldSettings, relays: int, card: str) -> None:
        self.settings = settings
        self.hops, path_links = links_and_paths(relays)
        if settings.mode == "correlated":
            self.strata, self.by_name = dict(STRATA), (NATURAL,)
            path_links = np.hstack([path_links, np.full((len(path_links), 1), len(self.hops))])
        else:
            self.strata = {"independent": 1.0}
        names = tuple("direct" if not seq else "via " + "-".join(map(str, seq)) for seq in relay_sequences(relays))
        self.layout = Layout(names, path_links, card)
        self._of_pair: dict[str, tuple[NDArray[Any], dict[str, Any]]] = {}

    @abstractmethod
    def nodes(self, pair: str) -> list[str]:
        """Return the places of a pair's call: sender, relays, receiver."""

    @abstractmethod
    def rows(self, hops: list[tuple[str, str]]) -> NDArray[Any]:
        """Return the parameters of the links between places; dtype `LINK`."""

    def world(self, sessions: int) -> World:
        return LinkWorld(Paper() if self.settings.mode == "paper" else Correlated(), sessions, self.layout.path_links)

    def ordinary(self, pair: str) -> tuple[NDArray[Any], dict[str, Any]]:
        """Return the links of a pair and the parameters that all its worlds share; cached."""
        if pair not in self._of_pair:
            nodes = self.nodes(pair)
            rows = self.rows([(nodes[a], nodes[b]) for a, b in self.hops])
            share = self.settings.share_of_rtt
            if self.settings.mode == "paper":
                self._of_pair[pair] = rows, paper_parameters(rows, self.settings.burst, share)
            else:
                access = np.zeros(1, LINK)
                access["log_mean"] = -np.inf
                rows = np.append(rows, access)
                self._of_pair[pair] = rows, correlated_parameters(rows, self.settings.tau_ms, share)
        return self._of_pair[pair]

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        rows, fixed = self.ordinary(pair)
        if self.settings.mode == "paper":
            return fixed
        if stratum == NATURAL:
            begin, end = natural_bad_hours(rows["bad_share"], draws)
            return {**fixed, "bad_from": begin, "bad_to": end, "bad_level_ms": rows["bad_level_ms"] * self.settings.share_of_rtt}
        begin, end = declared_bad_hours(stratum, fixed["base_ms"], self.hops, self.layout.path_links, self.settings.packets, draws)
        return {**fixed, "bad_from": begin, "bad_to": end}


class TableLinked(Linked):
    """Recipe over a shipped link table; the other endpoints relay (in a table without roles: the other places).

    Pairs are split in a Latin square.
    """

    file: ClassVar[str]  # name of the table

    def __init__(self, settings: WorldSettings) -> None:
        self.table = load_links(self.file)
        self._row = {(link.source, link.destination): row_of(link) for link in self.table.links}
        users = {place.code for place in self.table.places if place.role == "user"}
        relays = len(self.table.places) - (len(users) + 1 if users else 2)
        super().__init__(settings, relays, self.table.card.sha256)

    def codes(self, *roles: str) -> list[str]:
        """Return the codes of the places of these roles."""
        return [place.code for place in self.table.places if place.role in roles]

    def nodes(self, pair: str) -> list[str]:
        sender, receiver = pair.split("-")
        return [sender, *(code for code in self.codes("endpoint", "city") if code not in (sender, receiver)), receiver]

    def rows(self, hops: list[tuple[str, str]]) -> NDArray[Any]:
        return np.array([self._row[hop] for hop in hops], LINK)

    def pairs(self, split: str) -> list[str]:
        """Return the endpoint-user pairs of a split, in proportions 3 : 1 : 1, so that every endpoint and every user is in each split."""
        classes = {"train": (0, 1, 2), "validation": (3,), "test": (4,)}[split]
        users = self.codes("user")
        return [f"{a}-{b}" for i, a in enumerate(self.codes("endpoint")) for j, b in enumerate(users) if (i + j) % 5 in classes]


class WonderProxy(TableLinked):
    """Scenario wonderproxy: ten places of the WonderProxy pings of July 2020: 5 endpoints x 5 users; 4 endpoints relay (17 paths).

    The places are those of the VCRoute paper's first setting (section VI-A), identified from its published packet log. Measured: ping
    statistics of every ordered link. Fitted: see `lab.shipped.sets.link_fits`. Assumed: no loss, and all time structure within one burst
    of 30 pings.
    """

    file = "wonderproxy_ten_places"


class Cloud(TableLinked):
    """Scenario cloud: the VCRoute paper's second setting (5 endpoints x 3 users) with public statistics of two clouds; 17 paths.

    The paper's 10-ms series between Tokyo, Guangzhou, Singapore, Frankfurt, Sao Paulo and the users in Shenzhen, Singapore and Hong Kong
    are not published. `lab.shipped.sets.cloud` lists the substitute for each place, and the links that are sums of two. Each link has one
    burst, so `worst` and `median` are equal.
    """

    file = "cloud"


class Table1(TableLinked):
    """Scenario table1: four cities of one cloud with the round-trip times and losses of Table I of the VCRoute paper; two relays (5 paths).

    Any city may call any other; pairs are split by the distance of their rows in the table. Measured (by the paper's authors): round-trip
    time and loss of every ordered link. Assumed: the queueing excess and independent losses. Bad hours are unknown: the natural mix has
    none.
    """

    file = "table1"

    def pairs(self, split: str) -> list[str]:
        codes = self.codes("city")
        step = {"train": 1, "validation": 2, "test": 3}[split]
        return [f"{a}-{b}" for i, a in enumerate(codes) for j, b in enumerate(codes) if (j - i) % 4 == step]


class WorldCities(Linked):
    """Scenario world: calls between any two of about 215 measured cities; 10 to 19 data-centre cities relay (101 to 362 paths).

    Measured: ping statistics of every ordered link (WonderProxy, July 2020). Fitted: see `lab.shipped.sets.link_fits` and
    `lab.shipped.sets.world_sample`. Declared: the list of data-centre cities. The package ships the parameters of a stratified sample of
    pairs; a folder of measured data gives all pairs. Pairs are split by a hash of their two cities, alike in both.
    """

    def __init__(self, settings: WorldSettings, relays: int) -> None:
        self._world = load_sample() if settings.data is None else load_sample(data_root(settings.data))
        self._relays = relays
        self._split = {name: [pair for pair in self._world.pairs if split_of(pair) == name] for name in ("train", "validation", "test")}
        super().__init__(settings, relays, self._world.card)

    def pairs(self, split: str) -> list[str]:
        return self._split[split]

    def nodes(self, pair: str) -> list[str]:
        sender, receiver = pair.split("-")
        return [sender, *relays_of(pair, self._relays), receiver]

    def rows(self, hops: list[tuple[str, str]]) -> NDArray[Any]:
        return self._world.links[[self._world.row[hop] for hop in hops]]
