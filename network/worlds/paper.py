"""Mode `paper`: independent draws per packet and link, the round-trip time used as one-way delay, no ordering constraint.

The authors' own packet log shows this model: min/mean/max/deviation of one ping burst, expanded to 30,000 independent Beta draws. Packets
overtake each other as often as the spread allows. This dominates every result about reordering, so each result names its mode.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.worlds.losses import MAX_RUN, is_lost_before, lose
from vcgym.network.worlds.quantiles import TABLE_POINTS, draw_row, refuse_disorder
from vcgym.network.worlds.world import (
    MAX_LINK_US,
    World,
    WorldDraw,
    checked,
    forget_losses,
    number_of_links,
    settle_independent,
    sum_paths,
)

_HALF = np.float32(0.5)


class PaperRows(NamedTuple):
    """Parameters and running state; first axis: session, second: link."""

    seed: NDArray[np.uint64]
    block: NDArray[np.int64]
    lossless: NDArray[np.bool_]
    quantiles_us: NDArray[np.float32]  # (sessions, links, TABLE_POINTS)
    loss: NDArray[np.float64]
    loss_run: NDArray[np.float64]  # L of `vcgym.network.worlds.losses`
    lost: NDArray[np.int64]  # state of the losses, 0 or 1


@kernel
def next_block(rows, s, path_links, draws_us, link_us, out):
    """Write the next block of a session and advance the state.

    Args:
        rows: Rows; row `s` is updated.
        s: int64, session.
        path_links: int64 (paths, at most MAX_LINKS_ON_PATH), links of each path, padded with NO_LINK.
        draws_us: float32 (BLOCK_SLOTS,), scratch.
        link_us: int32 (links, BLOCK_SLOTS), scratch.
        out: int32 (paths, BLOCK_SLOTS), overwritten with delays in microseconds, at least MIN_DELAY_US, or LOST.
    """
    first_slot = rows.block[s] * BLOCK_SLOTS
    for link in range(rows.loss.shape[1]):
        draw_row(rows.quantiles_us[s, link], rng.stream_key(rows.seed[s], link, rng.QUEUEING), first_slot, draws_us)
        for i in range(BLOCK_SLOTS):
            link_us[link, i] = np.int32(draws_us[i] + _HALF)
        chance = rows.loss[s, link]
        if chance > 0.0:
            losses = rng.stream_key(rows.seed[s], link, rng.LOSS)
            rows.lost[s, link] = lose(rows.lost[s, link], losses, first_slot, chance, rows.loss_run[s, link], link_us[link])
    sum_paths(link_us, path_links, out)
    if rows.lossless[s]:
        forget_losses(out)
    settle_independent(out)
    rows.block[s] += 1


@kernel
def _begin(rows, s):
    for link in range(rows.loss.shape[1]):
        losses = rng.stream_key(rows.seed[s], link, rng.LOSS)
        rows.lost[s, link] = is_lost_before(losses, rows.block[s] * BLOCK_SLOTS, rows.loss[s, link])


@allocating_kernel
def _fill(rows, which, path_links, delay_us):
    draws_us = np.empty(BLOCK_SLOTS, np.float32)
    link_us = np.empty((rows.loss.shape[1], BLOCK_SLOTS), np.int32)
    for s in which:
        next_block(rows, s, path_links, draws_us, link_us, delay_us[s])


class PaperWorld(World):
    """Paper worlds of `sessions` calls over the same path layout; see `vcgym.network.worlds.world.World`.

    Args:
        sessions: number of sessions.
        path_links: int64 (paths, at most MAX_LINKS_ON_PATH), links of each path, padded with NO_LINK.
    """

    def __init__(self, sessions: int, path_links: NDArray[np.int64]) -> None:
        links = number_of_links(path_links)
        super().__init__(sessions, len(path_links))
        self.path_links = path_links
        self.rows = PaperRows(
            np.zeros(sessions, np.uint64),
            np.zeros(sessions, np.int64),
            np.zeros(sessions, np.bool_),
            np.zeros((sessions, links, TABLE_POINTS), np.float32),
            np.zeros((sessions, links)),
            np.ones((sessions, links)),
            np.zeros((sessions, links), np.int64),
        )

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Set the parameters: quantiles_ms (links, TABLE_POINTS) at `quantiles.PROBABILITIES`, loss and loss_run (links,), lossless.

        Defaults: loss_run 1, lossless False.
        """
        rows = self.rows
        rows.seed[row] = draw.seed
        rows.lossless[row] = draw.parameters.get("lossless", False)
        quantiles_ms = checked("quantiles_ms", draw.parameters["quantiles_ms"], 0.0, MAX_LINK_US / 1000.0)
        refuse_disorder("quantiles_ms", quantiles_ms)
        rows.quantiles_us[row] = 1000.0 * quantiles_ms
        rows.loss[row] = checked("loss", draw.parameters["loss"], 0.0, 1.0)
        rows.loss_run[row] = checked("loss_run", draw.parameters.get("loss_run", 1.0), 1.0, MAX_RUN)
        _begin(rows, row)

    def fill(self, which: NDArray[np.int64]) -> None:
        """Load the next block of each row in `which`."""
        _fill(self.rows, which, self.path_links, self.delay_us)
