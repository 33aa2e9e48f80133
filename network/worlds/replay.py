"""Mode `replay`: path k replays measured series k of a pair from a seeded offset, in FIFO order on each path.

A series has one value per 10-ms slot (`vcgym.network.traces.trace`), LOST where a reply is missing. The history is the segment before
the call.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.worlds.model import LinkWorld, Param, model, sample_links
from vcgym.network.worlds.world import HISTORY_BLOCKS, LOST_BIT

_LOST_BIT = np.int32(LOST_BIT)


@model(
    pair=Param(0, lambda replay: len(replay.series) - 1, dtype=np.int64, of_world=True),
    offset=Param(HISTORY_BLOCKS * BLOCK_SLOTS, lambda replay: replay.series.shape[2], dtype=np.int64),
)
class Replay(NamedTuple):
    """Measured series, one for each link, which is a path; past the end of a series all is lost.

    A sampled world has the index `pair`, and for each path `offset`, the index of slot 0 in its series.

    Attributes:
        series: int64 (pairs, paths, slots), one-way delay in microseconds or LOST; shorter series padded with LOST at the end.
    """

    series: NDArray[np.int64]


@sample_links.register(Replay)
def _sample_links(model, rows, s, first_slot, scratch, link_us):
    series = model.series[rows.pair[s]]
    for link in range(link_us.shape[0]):
        for i in range(BLOCK_SLOTS):
            slot = rows.offset[s, link] + first_slot + i
            is_measured = slot < series.shape[1] and series[link, slot] != LOST
            link_us[link, i] = np.int32(series[link, slot]) if is_measured else _LOST_BIT


def replay_world(sessions: int, series: NDArray[np.int64]) -> LinkWorld:
    """Return an empty world that replays `series`, see `Replay`."""
    return LinkWorld(Replay(series), sessions, np.arange(series.shape[1])[:, None])
