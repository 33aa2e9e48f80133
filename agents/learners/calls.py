"""Calls to learn from: worlds of a split drawn once, every pair and stratum in turn, played again and again by whatever is to be judged.

The score of a call is what the board ranks by, the E-model's R of the clocked player.
"""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.batch import CallBatch
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.playout.quality import rating
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import DrawnWorld


class Calls:
    """Calls of one scenario, each on its own world, which is kept.

    Attributes:
        scenario: where the worlds come from.
        draws: one for each call.

    Args:
        scenario: where worlds come from.
        split: train or validation.
        count: number of calls, >= 1; about 0.4 MB each for 17 paths and a minute.
        first_seed: seed of the first; the others count on.
    """

    def __init__(self, scenario: Scenario, split: str, count: int, first_seed: int = 0) -> None:
        if split not in ("train", "validation"):
            raise ValueError(f"split = {split!r}: allowed are train and validation")
        self.scenario = scenario
        pairs, strata = scenario.pairs(split), list(scenario.strata)
        self.draws = [
            scenario.draw(split, first_seed + n, pairs[n % len(pairs)], strata[n // len(pairs) % len(strata)]) for n in range(count)
        ]
        rows, world = np.arange(count), scenario.world(count)
        for row, draw in enumerate(self.draws):
            world.start(row, draw)
        self.world = DrawnWorld(world, rows, -(-scenario.packets // BLOCK_SLOTS))
        self.strata = np.array([draw.stratum for draw in self.draws])

    def __len__(self) -> int:
        """Return the number of calls."""
        return len(self.draws)

    def cut(self, parts: int) -> "list[Calls]":
        """Return the calls in so many shares, as equal as they can be, which take their calls in turn."""
        return [self._some(np.arange(part, len(self), parts)) for part in range(parts)]

    def _some(self, which: NDArray[np.int64]) -> "Calls":
        some = copy.copy(self)
        some.draws, some.strata = [self.draws[row] for row in which], self.strata[which]
        some.world = copy.copy(self.world)
        some.world.history, some.world.loaded = self.world.history[which], np.ascontiguousarray(self.world.loaded[:, which])
        some.world.delay_us = some.world.loaded[0]
        return some

    def play(self, router: Any, receiver: Any, log: bool = False, threads: int = 1) -> CallBatch:
        """Return the calls, played to their end by two rules."""
        batch = CallBatch(self.scenario, len(self), router, receiver, log=log, threads=threads, world=self.world)
        for row, draw in enumerate(self.draws):
            batch.start(row, draw)
        batch.play(np.arange(len(self)))
        return batch

    def scores(self, router: Any, receiver: Any, threads: int = 1) -> NDArray[np.float64]:
        """Return R (calls,) with two rules; 0 for a call of which nothing was played."""
        return scores_of(self.play(router, receiver, threads=threads))


def scores_of(batch: CallBatch) -> NDArray[np.float64]:
    """Return R (sessions,) of calls as they stand; 0 for a call of which nothing was played."""
    totals = batch.totals()
    ticks = totals.ticks_played + totals.ticks_stretched + totals.ticks_concealed
    sounding = np.maximum(ticks, 1)
    return np.where(ticks > 0, rating(totals.offset_us_sum / sounding / 1000.0, totals.ticks_concealed / sounding), 0.0)
