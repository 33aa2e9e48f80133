"""Scenarios measured-like-1, -2, -5, -17, -100: worlds of laws that were fitted to measured series, within ranges that are declared.

A world draws a law of `vcgym.network.worlds.regimes` for each path, and may stretch it. Fitted: the laws (`data/measured_like.json`: five
satellite accesses probed every 11 to 15 ms, two probed every 0.15 and 0.22 s, three drives over each of two 5G networks), each to the part
of its series that trains in scenario `leo`, `starlink-ping`, `5g-urban` or `5g-weak`. Declared: everything else.

    satellite, cellular    every path has a law of the kind as it was fitted, its delays included
    mixed                  the same of any law
    wide                   any law, of which base delay, gain and speed are drawn, from `BASE_MS`, `GAIN` and `EVERY_SLOTS`
    lossy                  wide, with losses of a share and in runs drawn from `LOSS` and `LOSS_RUN`; in some worlds they go with the delay
    outages                wide, with outages of `OUTAGE_S` about every `OUTAGE_EVERY_S`: on the path with the smallest base delay, on paths
                           in turn, or on all at once; half lose packets, half hold and release them
    shared                 wide, with an access behind all paths that has a law, a gain and a speed of its own

`EVERY_SLOTS` is the time for which the fast part stays, and a window of a regime has 50 of them: correlation lasts from 20 ms to 10 s.
Splits are by seed, with the same laws. ``partial(MeasuredLike, paths=30)`` is a recipe of any number of paths.
"""

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.network.fitting.laws import RegimePath, laws_of
from vcgym.network.kernels.ranges import require_whole
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.cards import Card, Carded, load_carded
from vcgym.network.worlds.events import Event
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.regimes import REGIMES
from vcgym.network.worlds.world import World

FILE = "measured_like.json"
PATHS = (1, 2, 5, 17, 100)
"""Numbers of paths of the named scenarios."""
MAX_PATHS = 1000

BASE_MS = 5.0, 400.0
SPREAD = 0.0, 1.0
"""Range of a path's base delay above that of the world, as a share of it; the sum is at most the largest of `BASE_MS`."""
GAIN = 0.25, 4.0
EVERY_SLOTS = 1, 20
WINDOW_VALUES = 50
LOSS = 0.001, 0.05
LOSS_RUN = 1.0, 30.0
OUTAGE_S = 0.1, 3.0
OUTAGE_EVERY_S = 5.0, 30.0

AS_FITTED = "satellite", "cellular", "mixed"
STRATA = (*AS_FITTED, "wide", "lossy", "outages", "shared")
_PER_S = 1_000_000 // SLOT_US  # slots
_FEWEST_SLOTS = _PER_S  # from the end of one outage to the next


class MeasuredLaws(Carded):
    """Laws by kind and name of the series; levels are above `floor_ms`, the smallest delay of the series."""

    laws: dict[str, dict[str, RegimePath]]
    floor_ms: dict[str, float]


class MeasuredLike(Recipe):
    """Recipe of `paths` independent paths with an access in common; one pair.

    Args:
        settings: settings of the worlds.
        paths: number of paths, 1 to MAX_PATHS.
    """

    modes = ("correlated",)

    def __init__(self, settings: WorldSettings, paths: int) -> None:
        require_whole(paths=(paths, 1, MAX_PATHS))
        if settings.loss_run_slots != 1.0:
            raise ValueError(f"loss_run_slots = {settings.loss_run_slots}: allowed is 1 in scenario measured-like, which draws runs")
        self.settings, self.strata = settings, dict.fromkeys(STRATA, 1.0 / len(STRATA))
        self._content, names = _content(), tuple(f"path {path}" for path in range(paths))
        self._of_kind = {kind: tuple(laws) for kind, laws in self._content.laws.items()}
        self._names = [name for names in self._of_kind.values() for name in names]
        links = np.stack([np.arange(paths), np.full(paths, paths)], axis=1)
        self.layout = Layout(names, links, self._content.card.sha256)

    def cards(self) -> list[Card]:
        """Return the card of the laws."""
        return [self._content.card]

    def pairs(self, split: str) -> list[str]:
        return ["sender-receiver"]

    def world(self, sessions: int) -> World:
        return LinkWorld(_tables(), sessions, self.layout.path_links, self.settings.packets // _FEWEST_SLOTS + 1)

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        """Sample the parameters of one world; the last link is the access."""
        links = len(self.layout.path_names) + 1
        names = [self._names[number] for number in draws.integers(len(self._names), size=links)]
        if stratum in self._of_kind:
            names = [self._of_kind[stratum][number] for number in draws.integers(len(self._of_kind[stratum]), size=links)]
        laws = [law for name in names for kind in self._content.laws.values() if (law := kind.get(name))]
        given: dict[str, Any] = {
            "law": np.array([self._names.index(name) for name in names]), "every_slots": np.array([law.every_slots for law in laws]),
            "window_slots": np.array([law.window_slots for law in laws]), "base_ms": np.array([self._content.floor_ms[n] for n in names]),
            "gain": np.ones(links), "loss": np.array([law.loss for law in laws]), "loss_run": np.array([law.loss_run for law in laws]),
        }  # fmt: skip
        if stratum not in AS_FITTED:
            given |= _stretched(links, draws)
        if stratum == "lossy":
            given |= _losses(links, draws)
        if stratum == "outages":
            given["events"] = self._outages(given["base_ms"], draws)
        if stratum != "shared":
            given["gain"][-1], given["loss"][-1] = 0.0, 0.0
        given["base_ms"][-1] = 0.0
        return given

    def _outages(self, base_ms: NDArray[np.float64], draws: np.random.Generator) -> tuple[Event, ...]:
        paths, every_s = len(base_ms) - 1, draws.uniform(*OUTAGE_EVERY_S)
        where, events, slot = draws.choice(["best", "in turn", "all"]), [], 0
        while (slot := slot + max(int(draws.exponential(every_s) * _PER_S), _FEWEST_SLOTS)) < self.settings.packets:
            link = {"best": int(np.argmin(base_ms[:-1])), "in turn": int(draws.integers(paths)), "all": paths}[str(where)]
            length, holds = max(int(_log_uniform(draws, OUTAGE_S) * _PER_S), 1), bool(draws.random() < 0.5)
            events.append(Event(link, slot, slot + length, loss=0.0 if holds else 1.0, hold=holds))
            slot += length
        return tuple(events)


def _stretched(links: int, draws: np.random.Generator) -> dict[str, Any]:
    world_ms, spread = _log_uniform(draws, BASE_MS), draws.uniform(*SPREAD)
    every = np.rint(_log_uniform(draws, EVERY_SLOTS, links)).astype(np.int64)
    return {
        "base_ms": np.minimum(world_ms * (1.0 + spread * draws.random(links)), BASE_MS[1]), "gain": _log_uniform(draws, GAIN, links),
        "every_slots": every, "window_slots": WINDOW_VALUES * every, "loss": np.zeros((links, REGIMES)), "loss_run": np.ones(links),
    }  # fmt: skip


def _losses(links: int, draws: np.random.Generator) -> dict[str, Any]:
    """Draw a share and a run for each link, and for the world how far losses go with the width of the regime."""
    with_delay = draws.random() * (2.0 * np.arange(REGIMES) / (REGIMES - 1) - 1.0)
    return {"loss": _log_uniform(draws, LOSS, links)[:, None] * (1.0 + with_delay), "loss_run": _log_uniform(draws, LOSS_RUN, links)}


def _log_uniform(draws: np.random.Generator, limits: tuple[float, float], size: int | None = None) -> Any:
    low, high = limits
    return np.exp(draws.uniform(math.log(low), math.log(high), size))


@functools.cache
def _content() -> MeasuredLaws:
    return load_carded(MeasuredLaws, FILE)


@functools.cache
def _tables() -> Any:
    return laws_of([law for of_kind in _content().laws.values() for law in of_kind.values()])
