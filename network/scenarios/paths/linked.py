"""Recipes over a table of links: endpoint -> 0, 1 or 2 relays -> user, in modes correlated and paper."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.cards import LinkTable
from vcgym.network.worlds.correlated import CorrelatedWorld
from vcgym.network.worlds.links import LINK, correlated_parameters, paper_parameters, row_of
from vcgym.network.worlds.paper import PaperWorld
from vcgym.network.worlds.paths import links_and_paths, relay_sequences
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
        """Return an empty world for a batch of sessions."""
        return (PaperWorld if self.settings.mode == "paper" else CorrelatedWorld)(sessions, self.layout.path_links)

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
        """Sample the parameters of one world."""
        rows, fixed = self.ordinary(pair)
        if self.settings.mode == "paper":
            return fixed
        if stratum == NATURAL:
            begin, end = natural_bad_hours(rows["bad_share"], draws)
            return {**fixed, "bad_from": begin, "bad_to": end, "bad_level_ms": rows["bad_level_ms"] * self.settings.share_of_rtt}
        begin, end = declared_bad_hours(stratum, fixed["base_ms"], self.hops, self.layout.path_links, self.settings.packets, draws)
        return {**fixed, "bad_from": begin, "bad_to": end}


class TableLinked(Linked):
    """Recipe over a shipped link table; the other endpoints relay (in a table without roles: the other places)."""

    def __init__(self, settings: WorldSettings, table: LinkTable) -> None:
        self.table = table
        self._row = {(link.source, link.destination): row_of(link) for link in table.links}
        users = {place.code for place in table.places if place.role == "user"}
        relays = len(table.places) - (len(users) + 1 if users else 2)
        super().__init__(settings, relays, table.card.sha256)

    def codes(self, *roles: str) -> list[str]:
        """Return the codes of the places of these roles."""
        return [place.code for place in self.table.places if place.role in roles]

    def nodes(self, pair: str) -> list[str]:
        """Return the places of a pair's call: sender, relays, receiver."""
        sender, receiver = pair.split("-")
        return [sender, *(code for code in self.codes("endpoint", "city") if code not in (sender, receiver)), receiver]

    def rows(self, hops: list[tuple[str, str]]) -> NDArray[Any]:
        """Return the parameters of the links between places; dtype `LINK`."""
        return np.array([self._row[hop] for hop in hops], LINK)

    def latin_square(self, split: str) -> list[str]:
        """Return the endpoint-user pairs of a split, in proportions 3 : 1 : 1, so that every endpoint and every user is in each split."""
        classes = {"train": (0, 1, 2), "validation": (3,), "test": (4,)}[split]
        users = self.codes("user")
        return [f"{a}-{b}" for i, a in enumerate(self.codes("endpoint")) for j, b in enumerate(users) if (i + j) % 5 in classes]
