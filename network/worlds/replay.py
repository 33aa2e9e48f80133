"""Mode `replay`: path k replays measured series k of a pair from a seeded offset, in FIFO order on each path.

A series has one value per 10-ms slot (`vcgym.network.traces.trace`), LOST where a reply is missing. The history is the segment before
the call.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.worlds.world import HISTORY_BLOCKS, MIN_DELAY_US, World, WorldDraw, checked


class ReplayRows(NamedTuple):
    """Parameters and running state; first axis: session, second: path."""

    block: NDArray[np.int64]
    pair: NDArray[np.int64]  # index into `series`
    offset: NDArray[np.int64]  # index of slot 0 in the series of each path
    last_delay_us: NDArray[np.int64]  # in the previous slot


@kernel
def next_block(rows, s, series, out):
    """Write the next block of a session and advance the state; past the end of a series all is lost.

    Args:
        rows: Rows; row `s` is updated.
        s: int64, session.
        series: int64 (pairs, paths, slots), one-way delay in microseconds, or LOST.
        out: int32 (paths, BLOCK_SLOTS), overwritten with delays in microseconds, at least MIN_DELAY_US, or LOST.
    """
    first_slot, pair = rows.block[s] * BLOCK_SLOTS, rows.pair[s]
    for p in range(out.shape[0]):
        last = rows.last_delay_us[s, p]
        for i in range(BLOCK_SLOTS):
            slot = rows.offset[s, p] + first_slot + i
            # First in, first out: no arrival before that of the previous slot, which is `SLOT_US` nearer now. A lost slot keeps the order
            # too.
            last = max(last - SLOT_US, MIN_DELAY_US)
            out[p, i] = LOST
            if slot < series.shape[2] and series[pair, p, slot] != LOST:
                last = max(last, series[pair, p, slot])
                out[p, i] = last
        rows.last_delay_us[s, p] = last
    rows.block[s] += 1


@kernel
def _fill(rows, which, series, delay_us):
    for s in which:
        next_block(rows, s, series, delay_us[s])


class ReplayWorld(World):
    """Replay worlds of `sessions` calls; see `vcgym.network.worlds.world.World`.

    Args:
        series: int64 (pairs, paths, slots), one-way delay in microseconds or LOST; shorter series padded with LOST at the end.
    """

    def __init__(self, sessions: int, series: NDArray[np.int64]) -> None:
        super().__init__(sessions, series.shape[1])
        self._series = series
        block, pair = np.zeros(sessions, np.int64), np.zeros(sessions, np.int64)
        self.rows = ReplayRows(block, pair, *(np.zeros((sessions, self.paths), np.int64) for _ in range(2)))

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Set the parameters: pair, an index; offset (paths,), index of slot 0 in each series, at least HISTORY_BLOCKS * BLOCK_SLOTS."""
        self.rows.pair[row] = checked("pair", draw.parameters["pair"], 0, len(self._series) - 1)
        self.rows.offset[row] = checked("offset", draw.parameters["offset"], HISTORY_BLOCKS * BLOCK_SLOTS, self._series.shape[2])
        self.rows.last_delay_us[row] = 0

    def fill(self, which: NDArray[np.int64]) -> None:
        """Load the next block of each row in `which`."""
        _fill(self.rows, which, self._series, self.delay_us)
