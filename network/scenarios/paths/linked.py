"""Recipes over a table of links: endpoint -> 0, 1 or 2 relays -> user, in modes correlated and paper; four tables ship.

Strata of correlated worlds are the links that have a bad hour during a call. Declared; the data determine levels and tails only. Source and
destination explain most of the variance of measured bad hours, so these belong to nodes more than to links. Routing can avoid some
(`best-link`, `many-links`, `relay-node`) but not others (`user-node`); in `transition` a bad hour begins or ends during the call. The
natural mix (`NATURAL`) samples the bad hours of each link with the share fitted to that link.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import SLOT_US
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
from vcgym.network.worlds.world import FAR_SLOT, World

STRATA = {"quiet": 0.15, "best-link": 0.10, "many-links": 0.20, "relay-node": 0.25, "user-node": 0.15, "transition": 0.15}
NATURAL = "natural"
BAD_HOP_PROBABILITY = 0.3
ALWAYS = FAR_SLOT
HOUR_SLOTS = 3_600_000_000 // SLOT_US


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
            first, last = natural_bad_hours(rows["bad_share"], draws)
            return {**fixed, "bad_from": first, "bad_to": last, "bad_level_ms": rows["bad_level_ms"] * self.settings.share_of_rtt}
        bad, begin, end = self._bad_links(stratum, fixed["base_ms"], draws), -ALWAYS, ALWAYS
        if stratum == "transition":
            border = int(self.settings.packets * (0.2 + 0.6 * draws.random()))
            begin, end = (border, ALWAYS) if draws.random() < 0.5 else (-ALWAYS, border)
        return {**fixed, "bad_from": np.where(bad, begin, 0), "bad_to": np.where(bad, end, 0)}

    def nearest(self, base_ms: NDArray[np.float64]) -> tuple[list[int], int]:
        """Return the hops of the path with the smallest base delay, and the relay of the nearest path that has one (0: none has).

        Args:
            base_ms: base delay of each link, the receiver's access last.
        """
        paths, relays_of = self.layout.path_links, relay_sequences(int(np.max(self.hops)) - 1)
        order = np.argsort(np.where(paths >= 0, base_ms[paths], 0.0).sum(axis=1), kind="stable")
        hops = [link for link in paths[order[0]] if 0 <= link < len(self.hops)]
        return hops, next((relays_of[path][0] for path in order if relays_of[path]), 0)

    def _bad_links(self, stratum: str, base_ms: NDArray[np.float64], draws: np.random.Generator) -> NDArray[np.bool_]:
        access, bad = len(self.hops), np.zeros(len(base_ms), bool)
        best_hops, best_relay = self.nearest(base_ms)
        if stratum in ("best-link", "transition"):
            bad[draws.choice(best_hops)] = True
        if stratum in ("many-links", "transition"):
            bad[:access] |= draws.random(access) < BAD_HOP_PROBABILITY
        if stratum == "many-links":
            bad[best_hops] = True
        if stratum == "relay-node":
            bad[:access] |= (np.array(self.hops) == best_relay).any(axis=1)
            bad[self.layout.path_links[0][0]] = True
        if stratum == "user-node":
            bad[access] = True
        return bad


def natural_bad_hours(share: NDArray[np.float64], draws: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sample the first and last + 1 slot of each link's bad hour from its fitted `share` of them; (0, 0) for a link without one.

    Links and hours are independent, and the call starts within an hour.
    """
    border = int(draws.integers(1, HOUR_SLOTS + 1))
    before, after = draws.random((2, len(share))) < share
    begin = np.where(before, -ALWAYS, np.where(after, border, 0))
    end = np.where(after, ALWAYS, np.where(before, border, 0))
    return begin, end


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
