"""A world: what each path would do to a packet in each slot, whoever sends it.

`delay_us[s, path, slot % BLOCK_SLOTS]` is the one-way delay (int32 microseconds, at least 1) of a packet sent on `path` in the 10-ms
slot, or `LOST`. Tables hold one block per session. A block follows from (world, seed, block) and the running state of the world alone: it
can be made without playing the call, and two policies with the same seed see the same world. Slots below zero are the history.

A mode (paper, correlated, replay) is a NamedTuple of per-session arrays with a kernel that writes the next block; this module holds what
they share. Links are drawn one row of a block after the other, an int32 per slot: the delay, at most `MAX_LINK_US`, and the bit `LOST_BIT`
where the link loses its packet. A path is the sum of its rows, in which that bit cannot be reached by delays alone.
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
FAR_SLOT = 1 << 40  # farther from the start of a call than any slot

_LOST, _LOST_BIT, _DELAY_BITS = np.int32(LOST), np.int32(LOST_BIT), np.int32(LOST_BIT - 1)
_MIN_DELAY_US, _SLOT_US = np.int32(MIN_DELAY_US), np.int32(SLOT_US)
_STRETCH_SLOTS = 64
_PPM_US = SLOT_US * 1e-6  # what one part per million adds from slot to slot


class WorldDraw(NamedTuple):
    """Drawn world: identity for the result row and the mode's parameters of its links or series."""

    pair: str
    stratum: str
    seed: int
    parameters: dict[str, Any]


def checked(name: str, value: Any, low: float, high: float) -> NDArray[np.float64]:
    """Return a parameter of a world as floats.

    Raises:
        ValueError: a value that is not a number from `low` to `high`.
    """
    values = np.asarray(value, np.float64)
    wrong = ~((values >= low) & (values <= high))
    if wrong.any():
        index = f"[{', '.join(map(str, np.argwhere(wrong)[0]))}]" if values.ndim else ""
        raise ValueError(f"{name}{index} = {values[wrong][0]}: allowed is {low} to {high}")
    return values


class World(ABC):
    """The face of a mode towards the session loop; a mode fills in `_begin` and `fill`.

    Attributes:
        paths: how many there are.
        delay_us: int32 (sessions, paths, BLOCK_SLOTS), the block that is loaded.
        loaded: int32 (blocks, sessions, paths, BLOCK_SLOTS), all blocks that are loaded; `delay_us` is the first.
        history: (sessions, paths, 3): n, mean ms, sd ms of the history of what was started last in each row.
        rows: NamedTuple of arrays, parameters and running state; first axis the session.
    """

    rows: Any

    def __init__(self, sessions: int, paths: int) -> None:
        self.paths = paths
        self.loaded = np.empty((1, sessions, paths, BLOCK_SLOTS), np.int32)
        self.delay_us = self.loaded[0]
        self.history = np.zeros((sessions, paths, 3))

    def start(self, row: int, draw: WorldDraw) -> NDArray[np.float64]:
        """Put a drawn world at `row`, play its history, load block 0; returns the history (paths, 3): n, mean ms, sd ms.

        Raises:
            ValueError: a parameter of the draw is out of its range.
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
        """Set the parameters of `row`, and its state before the first slot of the history."""

    @abstractmethod
    def fill(self, which: NDArray[np.int64]) -> None:
        """Load the next block of each row in `which`."""


class DrawnRows(NamedTuple):
    """Running state of a `DrawnWorld`: none."""


class DrawnWorld(World):
    """Whole calls drawn beforehand and loaded together, so that playing them again costs no drawing.

    Args:
        world: `rows` of it have just been started. It is drawn to its end here and not to be used after.
        rows: the rows that are played.
        blocks: how many blocks a call has, >= 1.
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
        """Return the history of what was drawn for `row`, whatever `draw` says."""
        return self.history[row].copy()

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Do nothing: every block is loaded."""

    def fill(self, which: NDArray[np.int64]) -> None:
        """Refuse: every block is loaded.

        Raises:
            ValueError: no more blocks were drawn.
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
    """Yield blocks (paths, BLOCK_SLOTS) of row 0, which has just been started, from slot 0 on: at least `slots` of them together."""
    for block in range(-(-slots // BLOCK_SLOTS)):
        if block:
            world.fill(np.array([0]))
        yield world.delay_us[0].copy()


@kernel
def sum_paths(link_us, path_links, out):
    """Add rows of links (links, BLOCK_SLOTS) up to rows of paths (paths, BLOCK_SLOTS), lost bits included."""
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
    """Add the skew of a receiver's clock that gains `skew_ppm` on the sender's since slot 0: each delay seems that much longer."""
    step_us = skew_ppm * _PPM_US
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            delay_us = np.int32(out[p, i] & _DELAY_BITS)
            seems_us = np.int32(delay_us + np.int32(np.floor((first_slot + i) * step_us)))
            out[p, i] += min(max(seems_us, _MIN_DELAY_US), _DELAY_BITS) - delay_us


@kernel
def forget_losses(out):
    """Take the lost bits out of sums of paths: what each packet's delay is, or would have been."""
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[p, i] &= _DELAY_BITS


@kernel
def settle_independent(out):
    """Turn sums of paths into delays: at least MIN_DELAY_US, or LOST."""
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[p, i] = _LOST if out[p, i] >= _LOST_BIT else max(out[p, i], _MIN_DELAY_US)


@kernel
def settle_in_order(out, last_delay_us):
    """Turn sums of paths into delays, first-in-first-out within a path.

    First-in-first-out is defined as though every slot were sent on the path: adding hops at the send slot is not FIFO by itself, so it is
    applied again here. `last_delay_us` (paths,) is the delay in the slot before, carried over from block to block; a lost slot has one too.
    """
    for p in range(out.shape[0]):
        last = last_delay_us[p]
        for begin in range(0, out.shape[1], _STRETCH_SLOTS):
            last = _settle_stretch(out[p, begin : begin + _STRETCH_SLOTS], last)
        last_delay_us[p] = last


@kernel
def _settle_stretch(row_us, last):
    """Settle some slots of one path; where none overtakes, as nearly always, they need not be gone through one after the other."""
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
    """Add one block (paths, slots) to `sums` (paths, 3): count, sum and sum of squares of the delays in ms, lost slots left out."""
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
