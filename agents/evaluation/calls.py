"""Training calls: worlds sampled once and played repeatedly by the candidates.

The score of a call is the board's: the E-model's R of the clocked player.
"""

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.counters import ratings_of
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import DrawnWorld, WorldDraw

DELAYED = 0.5
"""Share of the calls that `TrainingCalls.add_delay` changes."""


class TrainingCalls:
    """Calls of one scenario, each on its own world; the worlds stay in memory, about 0.4 MB each for 17 paths and one minute.

    Attributes:
        scenario: scenario that samples the worlds.
        draws: one sampled world per call.
        world: the worlds, generated to their ends.

    Args:
        scenario: scenario that samples the worlds.
        draws: samples of the scenario, at least one.
    """

    def __init__(self, scenario: Scenario, draws: Sequence[WorldDraw]) -> None:
        self.scenario, self.draws = scenario, list(draws)
        rows, world = np.arange(len(draws)), scenario.world(len(draws))
        for row, draw in enumerate(draws):
            world.start(row, draw)
        self.world = DrawnWorld(world, rows, -(-scenario.packets // BLOCK_SLOTS))

    @classmethod
    def sample(cls, scenario: Scenario, split: str, count: int, first_seed: int = 0) -> Self:
        """Return `count` calls with seeds `first_seed`, `first_seed` + 1, ...; they cycle over all pairs of a split and all strata."""
        pairs, strata = scenario.pairs(split), list(scenario.strata)
        return cls(
            scenario,
            [scenario.draw(split, first_seed + n, pairs[n % len(pairs)], strata[n // len(pairs) % len(strata)]) for n in range(count)],
        )

    def __len__(self) -> int:
        """Return the number of calls."""
        return len(self.draws)

    def add_delay(self, max_added_ms: float, draws: np.random.Generator) -> None:
        """Add a delay to every path of half of the calls, drawn for each call between 0 and `max_added_ms`, history included."""
        chosen = draws.random(len(self)) < DELAYED
        added_us = np.where(chosen, draws.uniform(0.0, 1000.0 * max_added_ms, len(self)), 0.0).astype(np.int32)[:, None, None]
        loaded = self.world.loaded
        self.world.loaded = np.where(loaded < 0, loaded, loaded + added_us)
        self.world.history[:, :, 1] += added_us[:, :, 0] / 1000.0

    def cut(self, parts: int) -> "list[TrainingCalls]":
        """Deal the calls in turn into `parts` groups of nearly equal size."""
        return [self.take(np.arange(part, len(self), parts)) for part in range(parts)]

    def take(self, which: NDArray[np.int64]) -> "TrainingCalls":
        """Return some of the calls by their numbers, which may repeat."""
        some = copy.copy(self)
        some.draws = [self.draws[row] for row in which]
        some.world = copy.copy(self.world)
        some.world.history, some.world.loaded = self.world.history[which], np.ascontiguousarray(self.world.loaded[:, which])
        return some

    def play(self, router: Any, receiver: Any, log: bool = False, threads: int = 1) -> CallBatch:
        """Play the calls to their end with two rules and return them."""
        batch = CallBatch(self.scenario, len(self), router, receiver, log=log, threads=threads, world=self.world)
        for row, draw in enumerate(self.draws):
            batch.start(row, draw)
        batch.play(np.arange(len(self)))
        return batch

    def scores(self, router: Any, receiver: Any, threads: int = 1) -> NDArray[np.float64]:
        """Return R (calls,) with two rules; 0 for a call in which nothing was played."""
        return ratings_of(self.play(router, receiver, threads=threads).totals())
