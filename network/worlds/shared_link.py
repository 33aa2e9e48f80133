"""A link that many equal calls share, as a fluid: what one call adds to its bytes, all of them add.

At a load of at most 1 nothing is dropped, and the time at the link is that of packets that come at random to a link with fixed service
(Pollaczek and Khinchine for M/D/1), at most that of a full queue. Above 1 the queue is full and the link drops what it cannot carry. Left
out: that equal calls keep their spacing, so that queues below a load of 1 are shorter in truth; and that a queue varies: time and drops
are the same during the whole call.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.worlds.world import DrawnWorld, WorldDraw

CALLS = 20
QUEUE_US = 100_000
_DROPS = 0x11AB  # key of the draws


class Crossing(NamedTuple):
    """Effect of the link on packets: microseconds until they have left it, and the share that it drops."""

    time_us: NDArray[np.int64]
    dropped: NDArray[np.float64]


def crossing(load: NDArray[np.float64]) -> Crossing:
    """Return what packets meet at loads: bytes sent over those that the link carries, at least 0, everything included."""
    fits = np.minimum(load, 1.0)
    service_us = SLOT_US * load / CALLS
    with np.errstate(divide="ignore"):
        time_us = service_us * (1.0 + fits / (2.0 * (1.0 - fits)))
    return Crossing(np.minimum(time_us, QUEUE_US).round().astype(np.int64), 1.0 - 1.0 / np.maximum(load, 1.0))


class SharedLinkWorld(DrawnWorld):
    """Sampled calls whose packets cross such a link before their paths; the history of the paths is from before the link was shared.

    Args:
        base: the calls without the link, as sampled; not changed.
        draws: their worlds, one per row.
    """

    def __init__(self, base: DrawnWorld, draws: Sequence[WorldDraw]) -> None:
        self.paths, self.history = base.paths, base.history
        self.base, self.loaded = base.loaded, base.loaded.copy()
        shape = len(self.loaded), self.paths, BLOCK_SLOTS
        self.drawn = np.stack([np.random.default_rng([_DROPS, draw.seed]).random(shape, np.float32) for draw in draws], axis=1)

    def apply_load(self, load: NDArray[np.float64]) -> None:
        """Give the link a load in each row (sessions,). What a load drops, a higher one drops too."""
        met = crossing(load)
        time_us, dropped = (values[None, :, None, None] for values in (met.time_us.astype(np.int32), met.dropped.astype(np.float32)))
        is_lost = (self.base == LOST) | (self.drawn < dropped)
        np.copyto(self.loaded, np.where(is_lost, np.int32(LOST), self.base + time_us))
