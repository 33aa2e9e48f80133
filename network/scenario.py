"""Scenarios: recipes that draw worlds. A drawn world follows from (scenario, mode, split, seed) and, where given, the pair and the stratum.

    wonderproxy  ten places of the WonderProxy pings: 5 endpoints x 5 users, the other four endpoints relay (17 paths); correlated, paper
    table1       four cities of Table I of the VCRoute paper, its loss included: 12 pairs, two relays (5 paths); correlated, paper
    leo          five measured satellite series, one a path, found under the data root; replay

Splits. Pairs of `wonderproxy` and `table1` are split three ways (`Scenario.pairs`); series of `leo` by time (60, 20, 20 %); seeds of
different splits name different worlds. Strata of correlated worlds (declared, with their weights): what is bad in a call, drawn at start.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.network import rng
from vcgym.network.cards import LinkTable, data_root, load_links
from vcgym.network.paths import links_and_paths, relay_sequences
from vcgym.network.quantiles import beta_table, lognormal_table
from vcgym.network.traces import read_series, to_slots
from vcgym.network.world import BLOCK_SLOTS, HISTORY_BLOCKS, LOST, World, WorldDraw
from vcgym.network.world_correlated import CorrelatedWorld
from vcgym.network.world_paper import PaperWorld
from vcgym.network.world_replay import ReplayWorld

SPLITS = ("train", "validation", "test")
MODES = {"wonderproxy": ("correlated", "paper"), "table1": ("correlated", "paper"), "leo": ("replay",)}
STRATA = {"quiet": 0.15, "best-link": 0.10, "many-links": 0.20, "relay-node": 0.25, "user-node": 0.15, "transition": 0.15}
LEO_SERIES = ("starlink_victoria_1", "starlink_victoria_3", "starlink_victoria_4", "starlink_victoria_5", "oneweb_iowa")
TAU_MS = 200.0
BAD_HOP_PROBABILITY = 0.3
_TABLES = {"wonderproxy": "wonderproxy_ten_places", "table1": "table1"}
_SHARE_OF_RTT = {"paper": 1.0, "correlated": 0.5, "replay": 0.5}
_ALWAYS = 1 << 40


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not among the allowed ones.

    Raises:
        ValueError: naming the field, the value and what is allowed.
    """
    if value not in allowed:
        raise ValueError(f"{name} = {value!r}: allowed are {', '.join(allowed)}")


@dataclass(frozen=True)
class Layout:
    """What the paths of a scenario look like, the same for every pair."""

    path_names: tuple[str, ...]
    path_links: NDArray[np.int64]  # (paths, most links of a path), padded with NO_LINK; empty for a replay
    card: str  # sha256 of the data behind it


class Scenario:
    """One scenario in one mode.

    Args:
        name: a key of `MODES`.
        mode: one of its modes.
        packets: length of the calls, in slots.
        data: folder of measured data, for `leo`; None: the environment variable VCGYM_DATA.

    Raises:
        ValueError: an unknown name or mode.
        DataError: data that is missing or broken.
    """

    def __init__(self, name: str, mode: str, packets: int = 6000, data: str | None = None) -> None:
        one_of("scenario", name, tuple(MODES))
        one_of(f"mode of scenario {name}", mode, MODES[name])
        self.name, self.mode, self.packets = name, mode, packets
        self.share_of_rtt = _SHARE_OF_RTT[mode]
        self._tables: dict[str, dict[str, Any]] = {}  # by pair
        if mode == "replay":
            self._series, card = _leo(data)
            self.layout = Layout(LEO_SERIES, np.zeros((0, 3), np.int64), card)
        else:
            self._links: LinkTable = load_links(_TABLES[name])
            relays = len(self._nodes(self.pairs("train")[0])) - 2
            self._link_nodes, path_links = links_and_paths(relays)
            if mode == "correlated":
                # The receiver's access, which every path shares: nothing but its bad hours (stratum user-node).
                self._access = len(self._link_nodes)
                path_links = np.hstack([path_links, np.full((len(path_links), 1), self._access)])
            names = tuple("direct" if not seq else "via " + "-".join(map(str, seq)) for seq in relay_sequences(relays))
            self.layout = Layout(names, path_links, self._links.card.sha256)

    @property
    def paths(self) -> int:
        """How many paths a call has."""
        return len(self.layout.path_names)

    def world(self, sessions: int) -> World:
        """An empty world of this mode for a batch of sessions."""
        if self.mode == "replay":
            return ReplayWorld(sessions, self._series)
        return (PaperWorld if self.mode == "paper" else CorrelatedWorld)(sessions, self.layout.path_links)

    def pairs(self, split: str) -> list[str]:
        """Names of the pairs of a split, sender-receiver."""
        one_of("split", split, SPLITS)
        if self.mode == "replay":
            return ["leo"]
        places = self._links.places
        if self.name == "wonderproxy":
            senders = [place.code for place in places if place.role == "endpoint"]
            receivers = [place.code for place in places if place.role == "user"]
            # A Latin square: every endpoint and every user has its part in each split. 3, 1 and 1 of five.
            classes = {"train": (0, 1, 2), "validation": (3,), "test": (4,)}[split]
            return [f"{a}-{b}" for i, a in enumerate(senders) for j, b in enumerate(receivers) if (i + j) % 5 in classes]
        codes = [place.code for place in places]
        step = {"train": (1,), "validation": (2,), "test": (3,)}[split]
        return [f"{a}-{b}" for i, a in enumerate(codes) for j, b in enumerate(codes) if (j - i) % 4 in step]

    def draw(self, split: str, seed: int, pair: str | None = None, stratum: str | None = None) -> WorldDraw:
        """Draw one world.

        Args:
            split: which pairs, times and seeds it may use.
            seed: any integer >= 0; the same seed in another split is another world.
            pair: of that split; None: drawn.
            stratum: a key of `STRATA`; None: drawn by weight. Only correlated worlds have strata.
        """
        pairs = self.pairs(split)
        world_seed = int(rng.stream_key(np.uint64(seed), SPLITS.index(split), rng.SCENARIO))
        draws = np.random.Generator(np.random.Philox(key=world_seed))
        chosen = pairs[draws.integers(len(pairs))]
        if pair is not None:
            one_of(f"pair of split {split}", pair, tuple(pairs))
            chosen = pair
        if self.mode != "correlated":
            only = "measured" if self.mode == "replay" else "independent"
            if stratum is not None:
                one_of(f"stratum of mode {self.mode}", stratum, (only,))
            return WorldDraw(
                chosen, only, world_seed, {"offset": self._offsets(split, draws)} if only == "measured" else self._pair_table(chosen)
            )
        weighted = list(STRATA)[int(np.searchsorted(np.cumsum(list(STRATA.values())), draws.random() * (1.0 - 1e-12)))]
        if stratum is not None:
            one_of("stratum", stratum, tuple(STRATA))
            weighted = stratum
        return WorldDraw(chosen, weighted, world_seed, self._correlated(chosen, weighted, draws))

    def _offsets(self, split: str, draws: np.random.Generator) -> NDArray[np.int64]:
        low, high = {"train": (0.0, 0.6), "validation": (0.6, 0.8), "test": (0.8, 1.0)}[split]
        history = HISTORY_BLOCKS * BLOCK_SLOTS
        offsets = []
        for name, row in zip(LEO_SERIES, self._series, strict=True):
            slots = int(np.flatnonzero(row != LOST)[-1]) + 1
            first, last = int(low * slots) + history, int(high * slots) - self.packets
            if last < first:
                raise ValueError(f"packets = {self.packets}: split {split} of series {name} leaves room for {last - first + self.packets}")
            offsets.append(int(draws.integers(first, last + 1)))
        return np.array(offsets, np.int64)

    def _nodes(self, pair: str) -> list[str]:
        sender, receiver = pair.split("-")
        users = {place.code for place in self._links.places if place.role == "user"}
        relays = [place.code for place in self._links.places if place.code not in users | {sender, receiver}]
        return [sender, *relays, receiver]

    def _pair_table(self, pair: str) -> dict[str, Any]:
        """Parameters of the links of a pair that no draw changes, kept once made."""
        if pair not in self._tables:
            nodes = self._nodes(pair)
            links = [self._links.link(nodes[a], nodes[b]) for a, b in self._link_nodes]
            loss = np.array([link.loss or 0.0 for link in links])
            if self.mode == "paper":
                tables = []
                for link in links:
                    law = link.worst
                    queue = link.queue
                    tables.append(
                        beta_table(law.low_ms, law.high_ms, law.a, law.b)
                        if law is not None
                        else lognormal_table(queue.base_ms, queue.log_mean, queue.log_sd)
                    )
                self._tables[pair] = {"quantiles_ms": np.array(tables) * self.share_of_rtt, "loss": loss}
            else:
                base = np.array([link.queue.base_ms for link in links] + [0.0]) * self.share_of_rtt
                log_mean = np.array([link.queue.log_mean for link in links] + [-np.inf]) + np.log(self.share_of_rtt)
                log_sd = np.array([link.queue.log_sd for link in links] + [0.0])
                loss = np.append(loss, 0.0)
                self._tables[pair] = {"base_ms": base, "log_mean": log_mean, "log_sd": log_sd, "loss": loss, "tau_ms": TAU_MS}
        return self._tables[pair]

    def _correlated(self, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        table = self._pair_table(pair)
        bad = self._bad_links(table["base_ms"], stratum, draws)
        begin, end = -_ALWAYS, _ALWAYS
        if stratum == "transition":
            border = int(self.packets * (0.2 + 0.6 * draws.random()))
            begin, end = (border, _ALWAYS) if draws.random() < 0.5 else (-_ALWAYS, border)
        return {**table, "bad_from": np.where(bad, begin, 0), "bad_to": np.where(bad, end, 0)}

    def _bad_links(self, base_ms: NDArray[np.float64], stratum: str, draws: np.random.Generator) -> NDArray[np.bool_]:
        """Which links are in a bad hour (spec of the strata: what is bad)."""
        links = np.array(self._link_nodes)  # the access stands behind them
        paths = self.layout.path_links
        receiver = int(links.max())
        delays = np.where(paths >= 0, base_ms[paths], 0.0).sum(axis=1)
        order = np.argsort(delays, kind="stable")
        best_hops = [link for link in paths[order[0]] if 0 <= link < len(links)]
        bad = np.zeros(len(base_ms), bool)
        if stratum in ("best-link", "transition"):
            bad[draws.choice(best_hops)] = True
        if stratum in ("many-links", "transition"):
            bad[: len(links)] |= draws.random(len(links)) < BAD_HOP_PROBABILITY
        if stratum == "many-links":
            bad[best_hops] = True
        if stratum == "relay-node":
            relays_of = relay_sequences(receiver - 1)
            best_relay = next((relays_of[p][0] for p in order if relays_of[p]), 0)
            bad[: len(links)] |= (links == best_relay).any(axis=1)
            bad[paths[0][0]] = True
        if stratum == "user-node":
            bad[self._access] = True
        return bad


def _leo(data: str | None) -> tuple[NDArray[np.int64], str]:
    traces = read_series(data_root(data), list(LEO_SERIES))
    series = [to_slots(trace) for trace in traces]
    table = np.full((len(series), max(map(len, series))), LOST, np.int64)
    for row, values in zip(table, series, strict=True):
        row[: len(values)] = values
    return table, hashlib.sha256("".join(trace.card.sha256 for trace in traces).encode()).hexdigest()
