"""Models of links: how the delay and the losses of each link of a world are sampled.

A model is a NamedTuple of what all its worlds share, with a table of the parameters and the running state of a link (`model`), and three
functions: `begin` before the first slot, `sample_links` for each block, and `settle`. Each link is sampled as a row of int32 per slot: the
delay, with the bit `LOST_BIT` if the link loses the packet. A path is the sum of its links.
"""

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.worlds.events import allocate_events, apply_events, put_events
from vcgym.network.worlds.world import HISTORY_BLOCKS, LOST_BIT, MIN_DELAY_US, World, WorldDraw, checked

MAX_LINKS_ON_PATH = 4
_LOST, _LOST_BIT, _DELAY_BITS = np.int32(LOST), np.int32(LOST_BIT), np.int32(LOST_BIT - 1)
_MIN_DELAY_US, _SLOT_US = np.int32(MIN_DELAY_US), np.int32(SLOT_US)
_STRETCH_SLOTS = 64
C = TypeVar("C", bound=type)


class Param(NamedTuple):
    """Parameter that a world is sampled with; one number for all links, or one for each.

    Attributes:
        low: minimum.
        high: maximum, or a function of the model that returns it.
        default: value if a sampled world does not have it; None: it must.
        given: its name in a sampled world; None: the same.
        store: function of the checked value, float64, that returns what is stored; None: the value.
        dtype: type in which it is stored.
        shape: shape for one link, or of the world.
        of_world: True: one for the world, not one for each link.
    """

    low: float
    high: float | Callable[[Any], float]
    default: float | None = None
    given: str | None = None
    store: Callable[[NDArray[np.float64]], Any] | None = None
    dtype: type = np.float64
    shape: tuple[int, ...] = ()
    of_world: bool = False


class State(NamedTuple):
    """Running state of a link, or of the world; `initial` before the first slot."""

    dtype: type = np.float64
    initial: float = 0.0
    shape: tuple[int, ...] = ()
    of_world: bool = False


_EACH: dict[str, Param | State] = {
    "seed": State(np.uint64, of_world=True), "block": State(np.int64, -HISTORY_BLOCKS, of_world=True),
    "lossless": Param(0, 1, 0, dtype=np.bool_, of_world=True),
}  # fmt: skip


def model(**table: Param | State) -> Callable[[C], C]:
    """Return a decorator that declares a model.

    The class gets `table`, and `Rows`: a NamedTuple of one array per entry, first axis session, second link (of a world none), and of seed,
    block, lossless (True: the same delays, also in slots that are lost), events (`vcgym.network.worlds.events.EVENT`) and last_delay_us
    (sessions, paths).

    Args:
        table: each parameter and state by the name of its array.
    """

    def declare(cls: C) -> C:
        declared: Any = cls
        declared.table = _EACH | table
        declared.Rows = namedtuple("Rows", (*declared.table, "events", "last_delay_us"), module=cls.__module__)  # type: ignore[misc]
        declared.Rows.__qualname__ = f"{cls.__qualname__}.Rows"  # where the disk cache of kernels finds it
        return cls

    return declare


def allocate_rows(of_model: Any, sessions: int, links: int, paths: int, events: int = 0) -> Any:
    """Return the `Rows` of a model, zeros."""
    arrays = {
        name: np.zeros((sessions, *(() if one.of_world else (links,)), *one.shape), one.dtype) for name, one in of_model.table.items()
    }
    return of_model.Rows(**arrays, events=allocate_events(sessions, events), last_delay_us=np.zeros((sessions, paths), np.int32))


@generic(inlined=True)
def begin(model, rows, s, first_slot):
    """Set what the table does not say of the state of a session before its first slot; its parameters are set."""


@generic(abstract=True, inlined=True)
def sample_links(model, rows, s, first_slot, scratch, link_us):
    """Sample the links of a session in one block, and advance their state; blocks follow each other without gaps.

    `scratch`, float32 (links, BLOCK_SLOTS), is for any use; `link_us`, int32 of that shape, gets delays, 0 to MAX_LINK_US, and lost bits.
    """


@generic(inlined=True)
def settle(model, rows, s, first_slot, out):
    """Turn path sums into delays, at least MIN_DELAY_US, or LOST; by default in FIFO order on each path.

    `out`, int32 (paths, BLOCK_SLOTS), has the sums of the links with lost bits, and gets microseconds.
    """
    settle_in_order(out, rows.last_delay_us[s])


class LinkWorld(World):
    """Worlds of `sessions` calls over the same path layout; see `vcgym.network.worlds.world.World`.

    Args:
        of_model: model of the links.
        sessions: number of sessions.
        path_links: int64 (paths, at most MAX_LINKS_ON_PATH), links of each path, padded with NO_LINK.
        events: capacity for declared events in each world.

    Raises:
        ValueError: a path has too many links.
    """

    def __init__(self, of_model: Any, sessions: int, path_links: NDArray[np.int64], events: int = 0) -> None:
        if path_links.shape[1] > MAX_LINKS_ON_PATH:
            raise ValueError(f"path_links of {path_links.shape[1]} columns: allowed is 1 to {MAX_LINKS_ON_PATH}")
        super().__init__(sessions, len(path_links))
        self.model, self.path_links, self._links = of_model, path_links, int(path_links.max()) + 1
        self.rows = allocate_rows(of_model, sessions, self._links, self.paths, events)

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Set the parameters of `row`, as the model's table has them, and `events` (a sequence of `Event`, default none)."""
        for name, one in self.model.table.items():
            array = getattr(self.rows, name)
            if isinstance(one, State):
                array[row] = one.initial
                continue
            given = one.given or name
            value = draw.parameters[given] if one.default is None else draw.parameters.get(given, one.default)
            value = checked(given, value, one.low, one.high(self.model) if callable(one.high) else one.high)
            array[row] = one.store(value) if one.store else value
        self.rows.seed[row], self.rows.last_delay_us[row] = draw.seed, 0
        put_events(self.rows.events[row], draw.parameters.get("events", ()), self._links)
        _begin(self.model, self.rows, row)

    def fill(self, which: NDArray[np.int64]) -> None:
        _fill(self.model, self.rows, which, self.path_links, self.delay_us)


@kernel
def _begin(model, rows, s):
    begin(model, rows, s, rows.block[s] * BLOCK_SLOTS)


@allocating_kernel
def _fill(model, rows, which, path_links, delay_us):
    links = path_links.max() + 1
    scratch, link_us = np.empty((links, BLOCK_SLOTS), np.float32), np.empty((links, BLOCK_SLOTS), np.int32)
    for s in which:
        first_slot = rows.block[s] * BLOCK_SLOTS
        sample_links(model, rows, s, first_slot, scratch, link_us)
        apply_events(rows.events, s, rows.seed[s], first_slot, link_us)
        sum_paths(link_us, path_links, delay_us[s])
        if rows.lossless[s]:
            forget_losses(delay_us[s])
        settle(model, rows, s, first_slot, delay_us[s])
        rows.block[s] += 1


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
def forget_losses(out):
    """Clear the lost bits of path sums, which leaves the delay that each packet has or would have had."""
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[p, i] &= _DELAY_BITS


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
