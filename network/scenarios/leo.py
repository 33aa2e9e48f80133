"""Scenario leo: five measured satellite series, one a path, found under the data root; mode replay.

Measured: round trips at 11-15 ms spacing, half of each one way. Pings of one access each: what is relayed here is the choice of an access,
not of a relay. Splits are in time: the first 60 % of each series, the next 20, the last 20.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.scenarios.recipe import Layout, Recipe, Settings
from vcgym.network.traces.cards import data_root
from vcgym.network.traces.trace import read_series, to_slots
from vcgym.network.worlds.replay import ReplayWorld
from vcgym.network.worlds.world import HISTORY_BLOCKS, World

SERIES = ("starlink_victoria_1", "starlink_victoria_3", "starlink_victoria_4", "starlink_victoria_5", "oneweb_iowa")
_PART_OF_SERIES = {"train": (0.0, 0.6), "validation": (0.6, 0.8), "test": (0.8, 1.0)}


def measured(data: str | None) -> tuple[NDArray[np.int64], str]:
    """The series as slots, int64 (series, slots) padded with LOST, and the hash of their cards."""
    traces = read_series(data_root(data), list(SERIES))
    series = [to_slots(trace) for trace in traces]
    table = np.full((len(series), max(map(len, series))), LOST, np.int64)
    for row, values in zip(table, series, strict=True):
        row[: len(values)] = values
    return table, hashlib.sha256("".join(trace.card.sha256 for trace in traces).encode()).hexdigest()


class Leo(Recipe):
    """One pair; a world is an offset into each series."""

    modes = ("replay",)

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.strata = {"measured": 1.0}
        self._series, card = measured(settings.data)
        self.layout = Layout(SERIES, np.zeros((0, 3), np.int64), card)

    def pairs(self, split: str) -> list[str]:
        """Names of the pairs of a split."""
        return ["leo"]

    def world(self, sessions: int) -> World:
        """An empty world for a batch of sessions."""
        return ReplayWorld(sessions, self._series)

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        """Offsets drawn inside the split's part of each series, the history before it included."""
        low, high = _PART_OF_SERIES[split]
        history = HISTORY_BLOCKS * BLOCK_SLOTS
        offsets = []
        for name, row in zip(SERIES, self._series, strict=True):
            slots = int(np.flatnonzero(row != LOST)[-1]) + 1
            first, last = int(low * slots) + history, int(high * slots) - self.settings.packets
            if last < first:
                room = last - first + self.settings.packets
                raise ValueError(f"packets = {self.settings.packets}: split {split} of series {name} leaves room for {room}")
            offsets.append(int(draws.integers(first, last + 1)))
        return {"offset": np.array(offsets, np.int64)}
