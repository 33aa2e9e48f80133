"""Recipes: the interface through which `vcgym.network.scenarios.scenario.Scenario` samples worlds. One recipe, one file of this folder.

A class of recipes from outside plays as ``scenario=MyRecipe``, or by name as an entry point of the group `vcgym.scenarios`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vcgym.network.worlds.world import World


@dataclass(frozen=True)
class Settings:
    """Settings of a scenario; see `vcgym.network.scenarios.scenario.Scenario` for the fields."""

    mode: str
    packets: int
    data: str | None
    burst: str
    tau_ms: float
    traces: tuple[str, ...] | None

    @property
    def share_of_rtt(self) -> float:
        """Return the share of a measured round trip that counts as one way: all of it in mode paper, as in the paper's own log."""
        return 1.0 if self.mode == "paper" else 0.5


@dataclass(frozen=True)
class Layout:
    """Paths of a scenario, the same for every pair."""

    path_names: tuple[str, ...]
    path_links: NDArray[np.int64]  # (paths, most links of a path), padded with NO_LINK; empty for a replay
    card: str  # sha256 of the data behind it


class Recipe(ABC):
    """A scenario in one mode.

    Attributes:
        modes: those it can be played in.
        strata: what may be drawn, with its weight in a suite; the weights add up to 1.
        by_name: strata that are drawn only when asked for.
        layout: see `Layout`.
    """

    modes: ClassVar[tuple[str, ...]]
    strata: dict[str, float]
    by_name: tuple[str, ...] = ()
    layout: Layout

    @abstractmethod
    def pairs(self, split: str) -> list[str]:
        """Return the names of the pairs of a split, sender-receiver."""

    @abstractmethod
    def world(self, sessions: int) -> World:
        """Return an empty world for a batch of sessions."""

    @abstractmethod
    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        """Sample the parameters of one world, as its mode's `World.start` takes them."""
