"""Mode `paper`: independent draws per packet and link, the round-trip time used as one-way, nothing that keeps packets in order.

What the authors' own packet log shows: one ping burst's min/mean/max/deviation stretched to 30,000 independent Beta draws. A later packet
overtakes an earlier one as often as the spread allows; this decides every result about disorder, so the mode is printed with each.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network import rng
from vcgym.network.jit import allocating_kernel
from vcgym.network.quantiles import TABLE_POINTS, draw_from_table
from vcgym.network.world import BLOCK_SLOTS, World, WorldDraw, finish_paths


class Rows(NamedTuple):
    """Parameters and running state; first axis the session, second the link."""

    seed: NDArray[np.uint64]
    block: NDArray[np.int64]
    quantiles_ms: NDArray[np.float64]  # (sessions, links, TABLE_POINTS)
    loss: NDArray[np.float64]


@allocating_kernel
def next_block(rows, s, path_links, out):
    """Write the next block (paths, BLOCK_SLOTS) of session `s` into `out` and move on."""
    links = rows.loss.shape[1]
    first_slot = rows.block[s] * BLOCK_SLOTS
    delay_us = np.empty((links, BLOCK_SLOTS), np.int64)
    lost = np.zeros((links, BLOCK_SLOTS), np.bool_)
    table = rows.quantiles_ms[s]
    for link in range(links):
        key = rng.stream_key(rows.seed[s], link, rng.QUEUEING)
        losses = rng.stream_key(rows.seed[s], link, rng.LOSS)
        chance = rows.loss[s, link]
        for i in range(BLOCK_SLOTS):
            slot = first_slot + i
            delay_us[link, i] = int(draw_from_table(table, link, rng.uniform(key, slot)) * 1000.0 + 0.5)
            if chance > 0.0:
                lost[link, i] = rng.uniform(losses, slot) < chance
    finish_paths(delay_us, lost, path_links, out, np.zeros(out.shape[0], np.int64), first_slot, False)
    rows.block[s] += 1


@allocating_kernel
def _fill(rows, which, path_links, delay_us):
    for s in which:
        next_block(rows, s, path_links, delay_us[s])


class PaperWorld(World):
    """Paper worlds of `sessions` calls over the same path layout; see `vcgym.network.world.World`."""

    def __init__(self, sessions: int, path_links: NDArray[np.int64]) -> None:
        links = int(path_links.max()) + 1
        super().__init__(sessions, len(path_links))
        self.path_links = path_links
        self.rows = Rows(
            np.zeros(sessions, np.uint64),
            np.zeros(sessions, np.int64),
            np.zeros((sessions, links, TABLE_POINTS)),
            np.zeros((sessions, links)),
        )

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Parameters: quantiles_ms (links, TABLE_POINTS) and loss (links,)."""
        rows = self.rows
        rows.seed[row] = draw.seed
        rows.quantiles_ms[row] = draw.parameters["quantiles_ms"]
        rows.loss[row] = draw.parameters["loss"]

    def fill(self, which: NDArray[np.int64]) -> None:
        """Load the next block of each row in `which`."""
        _fill(self.rows, which, self.path_links, self.delay_us)
