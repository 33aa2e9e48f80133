"""World whose packets arrive from outside: in the simulator's loop every packet is lost, and a live call puts in what it receives."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.live.protocol.session import Session
from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.worlds.world import World, WorldDraw

_PAIR, _STRATUM = "sender-receiver", "live"


def outside(session: Session, slots: int) -> Scenario:
    """Return the scenario of a call over the paths of a session, of `slots` slots."""
    return Scenario(partial(_Outside, paths=len(session.media)), "live", slots)


def draw_of(session: Session) -> WorldDraw:
    """Return the world of a session, which determines the random draws of its rules."""
    return WorldDraw(_PAIR, _STRATUM, session.seed, {})


class _Rows(NamedTuple):
    block: NDArray[np.int64]


class _Silent(World):
    """World in which every packet is lost."""

    def __init__(self, sessions: int, paths: int) -> None:
        super().__init__(sessions, paths)
        self.rows = _Rows(np.zeros(sessions, np.int64))
        self.delay_us[:] = LOST

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Do nothing."""

    def fill(self, which: NDArray[np.int64]) -> None:
        """Do nothing; every block is the same."""


class _Outside(Recipe):
    """Recipe of the silent world."""

    modes = ("live",)

    def __init__(self, settings: WorldSettings, paths: int) -> None:
        self.strata = {_STRATUM: 1.0}
        self.layout = Layout(tuple(map(str, range(paths))), np.zeros((0, 1), np.int64), "")

    def pairs(self, split: str) -> list[str]:
        """Return the one pair."""
        return [_PAIR]

    def world(self, sessions: int) -> World:
        """Return a silent world."""
        return _Silent(sessions, len(self.layout.path_names))

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        """Return no parameters."""
        return {}
