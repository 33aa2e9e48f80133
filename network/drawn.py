"""A world whose blocks were drawn beforehand: going on to the next block costs nothing."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vcgym.network.world import BLOCK_SLOTS, World, WorldDraw


class DrawnWorld(World):
    """Plays the drawn worlds of all rows again and again; all rows go on together."""

    def __init__(self, world: World, draws: Sequence[WorldDraw], packets: int) -> None:
        self.paths = world.paths
        which = np.arange(len(draws))
        self._histories = [world.start(row, draw) for row, draw in enumerate(draws)]
        self._blocks = [world.delay_us.copy()]
        for _ in range((packets - 1) // BLOCK_SLOTS):
            world.fill(which)
            self._blocks.append(world.delay_us.copy())
        self._block = np.zeros(len(draws), np.int64)
        self.delay_us = self._blocks[0]

    def start(self, row: int, draw: WorldDraw) -> NDArray[np.float64]:
        """Back to block 0."""
        self._block[row] = 0
        self.delay_us = self._blocks[0]
        return self._histories[row]

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Nothing to begin."""

    def fill(self, which: NDArray[np.int64]) -> None:
        """On to the next block."""
        self._block[which] += 1
        self.delay_us = self._blocks[self._block[which[0]]]
