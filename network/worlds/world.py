"""A world: the delay or loss of a packet on each path in each slot, independent of the policy.

`delay_us[s, path, slot % BLOCK_SLOTS]` is the one-way delay (int32 microseconds, at least 1) of a packet sent on `path` in the 10-ms
slot, or `LOST`. Tables hold one block per session. A block depends only on (world, seed, block) and the running state of the world: it can
be generated without playing the call, and two policies with the same seed see the same world. Negative slots are the history.

A mode (paper, correlated, replay) is a NamedTuple of per-session arrays with a kernel that writes the next block; this module contains the
shared parts. Each link is sampled as a row of int32 per slot: the delay, at most `MAX_LINK_US`, with the bit `LOST_BIT` set if the link
loses the packet. A path is the sum of its rows; delays alone cannot reach that bit.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US

HISTORY_BLOCKS = 2
MIN_DELAY_US = 1
MAX_LINK_US = 60_000_000
MAX_LINKS_ON_PATH = 4
LOST_BIT = 1 << 28
FAR_SLOT = 1 << 40  # beyond any slot of a call

_LOST, _LOST_BIT, _DELAY_BITS = np.int32(LOST), np.int32(LOST_BIT), np.int32(LOST_BIT - 1)
_MIN_DELAY_US, _SLOT_US = np.int32(MIN_DELAY_US), np.int32(SLOT_US)
_STRETCH_SLOTS = 64
_PPM_US = SLOT_US * 1e-6  # delay that one part per million adds per slot


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
    """Interface of a mode for the session loop; a mode implements `_begin` and `fill`.

    Attributes:
        paths: number of paths.
        delay_us: int32 (sessions, paths, BLOCK_SLOTS), the loaded block.
        loaded: int32 (blocks, sessions, paths, BLOCK_SLOTS), all loaded blocks; `delay_us` is the first.
        history: (sessions, paths, 3): n, mean ms, sd ms of the history of the world last started in each row.
        rows: NamedTuple of arrays, parameters and running state; first axis: session.
    """

    rows: Any

    def __init__(self, sessions: int, paths: int) -> None:
        self.paths = paths
        self.loaded = np.empty((1, sessions, paths, BLOCK_SLOTS), np.int32)
        self.delay_us = self.loaded[0]
        self.history = np.zeros((sessions, paths, 3))

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


class DrawnRows(NamedTuple):
    """Empty running state of a `DrawnWorld`."""


class DrawnWorld(World):
    """Whole calls sampled beforehand and loaded together, so that playing them again costs no sampling.

    Args:
        world: world whose `rows` have just been started. It is sampled to its end here; do not use it afterwards.
        rows: the rows to be played.
        blocks: number of blocks of a call, >= 1.
    """

    def __init__(self, world: World, rows: NDArray[np.int64], blocks: int) -> None:
        self.paths, self.history, self.rows = world.paths, world.history.copy(), DrawnRows()
        self.loaded = np.empty((blocks, *world.delay_us.shape), np.int32)
        self.delay_us = self.loaded[0]
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


def number_of_links(path_links: NDArray[np.int64]) -> int:
    """Return the number of links.

    Raises:
        ValueError: `path_links` (paths, links of a path) has a path of more than MAX_LINKS_ON_PATH links.
    """
    if path_links.shape[1] > MAX_LINKS_ON_PATH:
        raise ValueError(f"path_links of {path_links.shape[1]} columns: allowed is 1 to {MAX_LINKS_ON_PATH}")
    return int(path_links.max()) + 1


def blocks(world: World, slots: int) -> Iterator[NDArray[np.int32]]:
    """Yield blocks (paths, BLOCK_SLOTS) of the just started row 0, from slot 0 on, until they cover at least `slots` slots."""
    for block in range(-(-slots // BLOCK_SLOTS)):
        if block:
            world.fill(np.array([0]))
        yield world.delay_us[0].copy()


@kernel
def sum_paths(link_us, path_links, out):
    """Sum link rows (links, BLOCK_SLOTS) to path rows (paths, BLOCK_SLOTS), including lost bits."""
    paths, slots = out.shape
    for p in range(paths):
        first = path_links[p, 0]
        for i in range(slots):
            out[p, i] = link_us[first, i]
        for h in range(1, path_links.shape[1]):
            link = path_links[p, h]
            if link >= 0:
                for i in range(slots):
                    out[p, i] += link_us[link, i]


@kernel
def add_skew(out, first_slot, skew_ppm):
    """Add the skew of a receiver's clock that gains `skew_ppm` on the sender's from slot 0 on; it lengthens the measured delays."""
    step_us = skew_ppm * _PPM_US
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            delay_us = np.int32(out[p, i] & _DELAY_BITS)
            seems_us = np.int32(delay_us + np.int32(np.floor((first_slot + i) * step_us)))
            out[p, i] += min(max(seems_us, _MIN_DELAY_US), _DELAY_BITS) - delay_us


@kernel
def forget_losses(out):
    """Clear the lost bits of path sums, which leaves the delay that each packet has or would have had."""
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[p, i] &= _DELAY_BITS


@kernel
def settle_independent(out):
    """Turn path sums into delays: at least MIN_DELAY_US, or LOST."""
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[p, i] = _LOST if out[p, i] >= _LOST_BIT else max(out[p, i], _MIN_DELAY_US)


@kernel
def settle_in_order(out, last_delay_us):
    """Turn path sums into delays, in FIFO order on each path.

    The order is enforced as if a packet were sent in every slot on the path, because a sum of hop delays at the send slot is not FIFO.
    `last_delay_us` (paths,) is the delay in the previous slot, carried over between blocks; a lost slot has one too.
    """
    for p in range(out.shape[0]):
        last = last_delay_us[p]
        for begin in range(0, out.shape[1], _STRETCH_SLOTS):
            last = _settle_stretch(out[p, begin : begin + _STRETCH_SLOTS], last)
        last_delay_us[p] = last


@kernel
def _settle_stretch(row_us, last):
    """Enforce the order in some slots of one path; the sequential loop is skipped in the usual case that no packet overtakes another."""
    overtakes = np.int32((row_us[0] & _DELAY_BITS) < np.int32(last - _SLOT_US))
    for i in range(1, row_us.size):
        before, now = np.int32(row_us[i - 1] & _DELAY_BITS), np.int32(row_us[i] & _DELAY_BITS)
        overtakes |= np.int32(now < np.int32(before - _SLOT_US))
    if overtakes == 0:
        last = max(np.int32(row_us[row_us.size - 1] & _DELAY_BITS), _MIN_DELAY_US)
        for i in range(row_us.size):
            row_us[i] = _LOST if row_us[i] >= _LOST_BIT else max(row_us[i], _MIN_DELAY_US)
        return last
    for i in range(row_us.size):
        last = max(np.int32(last - _SLOT_US), np.int32(row_us[i] & _DELAY_BITS), _MIN_DELAY_US)
        row_us[i] = _LOST if row_us[i] >= _LOST_BIT else last
    return last


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
