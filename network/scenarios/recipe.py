"""Recipes: the interface through which `vcgym.network.scenarios.scenario.Scenario` samples worlds. Each recipe is a file of this folder.

Your own recipe class is used with ``scenario=MyRecipe``, or by name as an entry point of the group `vcgym.scenarios`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vcgym.network.worlds.world import World


@dataclass(frozen=True)
class Layout:
    """Paths of a scenario, the same for every pair."""

    path_names: tuple[str, ...]
    path_links: NDArray[np.int64]  # (paths, maximum links of a path), padded with NO_LINK; empty for a replay
    card: str  # sha256 of the data


class Recipe(ABC):
    """A scenario in one mode.

    Attributes:
        modes: supported modes.
        has_all: True if it has the split `all` too, for boards without training.
        strata: strata with their weights in a suite; the weights sum to 1.
        by_name: strata that are sampled only on request.
        layout: see `Layout`.
    """

    modes: ClassVar[tuple[str, ...]]
    has_all: ClassVar[bool] = False
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
        """Sample the parameters of one world, as required by its mode's `World.start`."""
