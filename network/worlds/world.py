"""A world: the delay or loss of a packet on each path in each slot, independent of the policy.

`delay_us[s, path, slot % BLOCK_SLOTS]` is the one-way delay (int32 microseconds, at least 1) of a packet sent on `path` in the 10-ms
slot, or `LOST`. Tables hold one block per session. A block depends only on (world, seed, block) and the running state of the world: it can
be generated without playing the call, and two policies with the same seed see the same world. Negative slots are the history.

`vcgym.network.worlds.model` samples worlds link by link; this module has what all worlds share.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST

HISTORY_BLOCKS = 2
MIN_DELAY_US = 1
MAX_LINK_US = 60_000_000
LOST_BIT = 1 << 28
"""Set in the delay of a link, at most MAX_LINK_US, if the link loses the packet; sums of delays alone cannot reach this bit."""
FAR_SLOT = 1 << 40  # beyond any slot of a call


class WorldDraw(NamedTuple):
    """Sampled world: identity for the result row and the mode's parameters of its links or series."""

    pair: str
    stratum: str
    seed: int
    parameters: dict[str, Any]


def checked(name: str, value: Any, low: float, high: float) -> NDArray[np.float64]:
    """Return a world parameter as floats after a range check.

    Raises:
        ValueError: a value is not a number from `low` to `high`.
    """
    values = np.asarray(value, np.float64)
    wrong = ~((values >= low) & (values <= high))
    if wrong.any():
        index = f"[{', '.join(map(str, np.argwhere(wrong)[0]))}]" if values.ndim else ""
        raise ValueError(f"{name}{index} = {values[wrong][0]}: allowed is {low} to {high}")
    return values


class World(ABC):
    """Interface of worlds for the session loop; a world implements `_begin` and `fill`.

    Attributes:
        paths: number of paths.
        loaded: int32 (blocks, sessions, paths, BLOCK_SLOTS), all loaded blocks.
        history: (sessions, paths, 3): n, mean ms, sd ms of the history of the world last started in each row.
        rows: NamedTuple of arrays, parameters and running state; first axis: session.
    """

    rows: Any

    def __init__(self, sessions: int, paths: int) -> None:
        self.paths = paths
        self.loaded = np.empty((1, sessions, paths, BLOCK_SLOTS), np.int32)
        self.history = np.zeros((sessions, paths, 3))

    @property
    def delay_us(self) -> NDArray[np.int32]:
        """Return the first loaded block, (sessions, paths, BLOCK_SLOTS): a view, which as an attribute a copy would part from `loaded`."""
        return self.loaded[0]

    def start(self, row: int, draw: WorldDraw) -> NDArray[np.float64]:
        """Start a sampled world in `row`: play its history, load block 0. Return the history (paths, 3): n, mean ms, sd ms.

        Raises:
            ValueError: a parameter of the draw is out of range.
        """
        self.rows.block[row] = -HISTORY_BLOCKS
        self._begin(row, draw)
        which, sums = np.array([row]), np.zeros((self.paths, 3))
        for _ in range(HISTORY_BLOCKS):
            self.fill(which)
            add_to_history(self.delay_us[row], sums)
        self.fill(which)
        self.history[row] = history_from_sums(sums)
        return self.history[row].copy()

    @abstractmethod
    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Set the parameters of `row` and its state before the first slot of the history."""

    @abstractmethod
    def fill(self, which: NDArray[np.int64]) -> None:
        """Load the next block of each row in `which`."""


class DrawnWorld(World):
    """Whole calls sampled beforehand and loaded together, so that playing them again costs no sampling.

    Args:
        world: world whose `rows` have just been started. It is sampled to its end here; do not use it afterwards.
        rows: the rows to be played.
        blocks: number of blocks of a call, >= 1.
    """

    def __init__(self, world: World, rows: NDArray[np.int64], blocks: int) -> None:
        self.paths, self.history = world.paths, world.history.copy()
        self.loaded = np.empty((blocks, *world.delay_us.shape), np.int32)
        for block in range(blocks):
            if block:
                world.fill(rows)
            self.loaded[block] = world.delay_us

    def start(self, row: int, draw: WorldDraw) -> NDArray[np.float64]:
        """Return the history of the world sampled for `row`; `draw` is ignored."""
        return self.history[row].copy()

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Do nothing; every block is loaded."""

    def fill(self, which: NDArray[np.int64]) -> None:
        """Raise an error, since every block is loaded.

        Raises:
            ValueError: always; no further blocks were sampled.
        """
        raise ValueError(f"block = {len(self.loaded)}: allowed is 0 to {len(self.loaded) - 1}, as drawn beforehand")


def blocks(world: World, slots: int) -> Iterator[NDArray[np.int32]]:
    """Yield blocks (paths, BLOCK_SLOTS) of the just started row 0, from slot 0 on, until they cover at least `slots` slots."""
    for block in range(-(-slots // BLOCK_SLOTS)):
        if block:
            world.fill(np.array([0]))
        yield world.delay_us[0].copy()


@kernel
def add_to_history(block, sums):
    """Add one block (paths, slots) to `sums` (paths, 3): count, sum and sum of squares of the delays in ms, without lost slots."""
    for p in range(block.shape[0]):
        n, total, squares = sums[p, 0], sums[p, 1], sums[p, 2]
        for i in range(block.shape[1]):
            arrives = block[p, i] != LOST
            ms = block[p, i] / 1000.0 if arrives else 0.0
            n += 1.0 if arrives else 0.0
            total += ms
            squares += ms * ms
        sums[p, 0], sums[p, 1], sums[p, 2] = n, total, squares


def history_from_sums(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (paths, 3) of n, mean ms and population sd ms; zeros for a path on which nothing arrived."""
    n = np.maximum(sums[:, 0], 1.0)
    mean = sums[:, 1] / n
    variance = np.maximum(sums[:, 2] / n - mean * mean, 0.0)
    return np.stack([sums[:, 0], mean, np.sqrt(variance)], axis=1)
