"""A world: what each path would do to a packet in each slot, whoever sends it.

`delay_us[s, path, slot % BLOCK_SLOTS]` is the one-way delay (int64 microseconds, at least 1) of a packet sent on `path` in the 10-ms
slot, or `LOST`. Tables hold one block per session. A block follows from (world, seed, block) and the running state of the world alone: it
can be made without playing the call, and two policies on one seed meet one world. Slots below zero are the history, before the call.

A mode (paper, correlated, replay) is a NamedTuple of per-session arrays with a kernel that writes the next block; this module holds what
they share.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.jit import kernel

SLOT_US = 10_000
BLOCK_SLOTS = 512
HISTORY_BLOCKS = 2
LOST = -1
MIN_DELAY_US = 1


class WorldDraw(NamedTuple):
    """One drawn world: identity for the result row and the mode's parameters of its links or series."""

    pair: str
    stratum: str
    seed: int
    parameters: dict[str, Any]


class World(ABC):
    """The face of a mode towards the session loop; a mode fills in `_begin` and `fill`.

    Attributes:
        paths: how many there are.
        delay_us: int64 (sessions, paths, BLOCK_SLOTS), the block that is loaded.
        rows: NamedTuple of arrays, parameters and running state; first axis the session.
    """

    rows: Any

    def __init__(self, sessions: int, paths: int) -> None:
        self.paths = paths
        self.delay_us = np.empty((sessions, paths, BLOCK_SLOTS), np.int64)

    def start(self, row: int, draw: WorldDraw) -> NDArray[np.float64]:
        """Put a drawn world at `row`, play its history, load block 0; returns the history (paths, 3): n, mean ms, sd ms."""
        self.rows.block[row] = -HISTORY_BLOCKS
        self._begin(row, draw)
        which, sums = np.array([row]), np.zeros((self.paths, 3))
        for _ in range(HISTORY_BLOCKS):
            self.fill(which)
            add_to_history(self.delay_us[row], sums)
        self.fill(which)
        return history_from_sums(sums)

    @abstractmethod
    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Set the parameters of `row`, and its state before the first slot of the history."""

    @abstractmethod
    def fill(self, which: NDArray[np.int64]) -> None:
        """Load the next block of each row in `which`."""


@kernel
def finish_paths(link_delay_us, link_lost, path_links, out, last_arrival_us, first_slot, fifo):
    """Sum links into paths, first-in-first-out within a path if `fifo`.

    First-in-first-out is defined as though every slot were sent on the path: adding hops at the send slot is not FIFO by itself, so it is
    applied again here. `last_arrival_us` (paths,) carries over from block to block.
    """
    paths, slots = out.shape
    for p in range(paths):
        last = last_arrival_us[p]
        for i in range(slots):
            total, lost = 0, False
            for h in range(path_links.shape[1]):
                link = path_links[p, h]
                if link >= 0:
                    total += link_delay_us[link, i]
                    lost = lost or link_lost[link, i]
            total = max(total, MIN_DELAY_US)
            if fifo:
                sent = (first_slot + i) * SLOT_US
                last = max(last, sent + total)
                total = last - sent
            out[p, i] = LOST if lost else total
        last_arrival_us[p] = last


@kernel
def add_to_history(block, sums):
    """Add one block (paths, slots) to `sums` (paths, 3): count, sum and sum of squares of the delays in ms, lost slots left out."""
    for p in range(block.shape[0]):
        for i in range(block.shape[1]):
            if block[p, i] != LOST:
                ms = block[p, i] / 1000.0
                sums[p, 0] += 1.0
                sums[p, 1] += ms
                sums[p, 2] += ms * ms


def history_from_sums(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """(paths, 3) of n, mean ms and population sd ms; zeros for a path of which nothing arrived."""
    n = np.maximum(sums[:, 0], 1.0)
    mean = sums[:, 1] / n
    variance = np.maximum(sums[:, 2] / n - mean * mean, 0.0)
    return np.stack([sums[:, 0], mean, np.sqrt(variance)], axis=1)
