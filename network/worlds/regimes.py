"""Links whose delay follows a hidden Markov chain of regimes with conditional quantile tables; FIFO order on each path.

A link is in one of `REGIMES` regimes r, from narrow and usually rough to wide and usually smooth, and may change it every `window_slots`
(a hidden Markov chain; Rabiner, Proceedings of the IEEE 77, 1989). Its delay, before losses and order, is

    base + gain (level + excess),    level = L[r](z),    excess = E[r, cell of the excess before](z')

L and E are quantile tables: values at the normal scores `SCORES`, linear in between and constant beyond. z and z' are standard normal
numbers. z stays at the end of a window with probability `kept`, else it is drawn anew. Every `every_slots` the excess stays with
probability `held`, else z' is drawn anew; in between the delay is constant, as in a replay of probes that far apart. The range of an excess
is cut into `CELLS` cells. Since E depends on the cell before, rises may be faster than falls, outliers may follow each other, and
neighbours be as correlated as those of the regime are: no copula with one correlation time can have this.

Losses are in runs (`vcgym.network.worlds.losses`), with a share for each regime. Links may be shared by paths, and may have declared events
(`vcgym.network.worlds.events`). `vcgym.network.fitting.traces` fits the tables. Values are float32.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.worlds.losses import MAX_RUN, is_lost_before, lose
from vcgym.network.worlds.model import Param, State, begin, model, sample_links
from vcgym.network.worlds.quantiles import draw_row, law_value, normal_table
from vcgym.network.worlds.world import MAX_LINK_US, checked

REGIMES, CELLS = 6, 12
SCORES = np.linspace(-3.2, 3.2, 25)
"""Normal scores at which a law is stored; one draw in 700 lies beyond."""
PROBABILITIES = np.array([0.0, *(NormalDist().cdf(score) for score in SCORES[1:-1]), 1.0])
"""Probabilities at which a law is fitted, those of the scores; the outer ones are the smallest and the largest value."""
MAX_SLOTS = 1_000_000  # of a window
MAX_GAIN = 1000.0

_MAX_MS = MAX_LINK_US / 1000.0
_NORMAL = normal_table().astype(np.float32)
_LOWEST, _PER_UNIT = np.float32(SCORES[0]), np.float32(1.0 / (SCORES[1] - SCORES[0]))
_ZERO, _HALF, _MAX_LINK_US = np.float32(0.0), np.float32(0.5), np.float32(MAX_LINK_US)
_CHANGE, _KEPT, _LEVEL, _DRAWS = 0, 1, 2, 3


@model(
    law=Param(0, lambda laws: len(laws.kept) - 1, dtype=np.int64),
    every=Param(1, MAX_SLOTS, given="every_slots", dtype=np.int64),
    window=Param(1, MAX_SLOTS, given="window_slots", dtype=np.int64),
    base_us=Param(0.0, _MAX_MS, 0.0, "base_ms", lambda base_ms: base_ms * 1000.0, np.float32),
    gain=Param(0.0, MAX_GAIN, 1.0, dtype=np.float32),
    loss=Param(0.0, 1.0, shape=(REGIMES,)),
    loss_run=Param(1.0, MAX_RUN),
    regime=State(np.int64),
    score=State(),  # of the level
    excess_us=State(np.float32),
    until_change=State(np.int64),  # slots until the next window, and the next value of the excess
    until_value=State(np.int64),
    lost=State(np.int64),
)
class RegimeLaws(NamedTuple):
    """Laws that links may have; first axis: law. `checked_laws` checks them.

    A sampled world has, for each link: law, a number; every_slots and window_slots, at least 1; base_ms (default 0); gain (default 1),
    factor of level and excess; loss, (links, REGIMES), and loss_run, see `vcgym.network.worlds.losses`.
    """

    change: NDArray[np.float64]  # float64 (laws, REGIMES, REGIMES), chance of each next regime, cumulative
    level_us: NDArray[np.float32]  # float32 (laws, REGIMES, SCORES), rises
    edges_us: NDArray[np.float32]  # float32 (laws, REGIMES, CELLS - 1), borders of the cells of the last excess, rises
    excess_us: NDArray[np.float32]  # float32 (laws, REGIMES, CELLS, SCORES), rises
    kept: NDArray[np.float64]  # float64 (laws,), chance that the score of the level stays at the end of a window
    held: NDArray[np.float64]  # float64 (laws,), chance that the excess stays when it could change


def checked_laws(
    change: Sequence[Any], level_ms: Sequence[Any], edges_ms: Sequence[Any], excess_ms: Sequence[Any], kept: Sequence[float],
    held: Sequence[float],
) -> RegimeLaws:  # fmt: skip
    """Return laws from their tables, one entry per law, in milliseconds; see `RegimeLaws`.

    Args:
        change: (REGIMES, REGIMES) each, chance of each next regime, not cumulative; a row sums to 1.
        level_ms: (REGIMES, SCORES) each, at least 0.
        edges_ms: (REGIMES, CELLS - 1) each.
        excess_ms: (REGIMES, CELLS, SCORES) each.
        kept: 0 to 1.
        held: 0 to 1.

    Raises:
        ValueError: a table has another shape, falls where it must rise, or a value is out of range.
    """
    shapes = {"change": (REGIMES,), "level_ms": (len(SCORES),), "edges_ms": (CELLS - 1,), "excess_ms": (CELLS, len(SCORES))}
    tables = {
        "change": checked("change", change, 0.0, 1.0), "level_ms": checked("level_ms", level_ms, 0.0, _MAX_MS),
        "edges_ms": checked("edges_ms", edges_ms, -_MAX_MS, _MAX_MS), "excess_ms": checked("excess_ms", excess_ms, -_MAX_MS, _MAX_MS),
    }  # fmt: skip
    for name, table in tables.items():
        wanted = len(change), REGIMES, *shapes[name]
        if table.shape != wanted:
            raise ValueError(f"{name} has shape {table.shape}: allowed is {wanted}")
        if name != "change" and (np.diff(table) < 0.0).any():
            raise ValueError(f"{name}[{int(np.argwhere(np.diff(table) < 0.0)[0, 0])}] falls: allowed are values that rise")
    total = np.cumsum(tables["change"], axis=2)
    if not np.allclose(total[..., -1], 1.0, atol=1e-3):
        raise ValueError(f"change has a row that sums to {total[..., -1].ravel()[np.argmax(np.abs(total[..., -1] - 1.0))]}: allowed is 1")
    level, edges, excess = ((1000.0 * tables[name]).astype(np.float32) for name in ("level_ms", "edges_ms", "excess_ms"))
    return RegimeLaws(total, level, edges, excess, checked("kept", kept, 0.0, 1.0), checked("held", held, 0.0, 1.0))


@kernel
def _enter_window(rows, laws, s, link, slot):
    """Choose the regime of the window that begins at `slot`, and the score of its level."""
    key, first, law = rng.stream_key(rows.seed[s], link, rng.SHIFT), _DRAWS * slot, rows.law[s, link]
    chances, chosen = laws.change[law, rows.regime[s, link]], rng.uniform(key, first + _CHANGE)
    regime = 0
    while regime < REGIMES - 1 and chosen >= chances[regime]:
        regime += 1
    rows.regime[s, link] = regime
    if rng.uniform(key, first + _KEPT) >= laws.kept[law]:
        rows.score[s, link] = rng.normal(key, first + _LEVEL)


@kernel
def _stretch(rows, laws, s, link, first_slot, normals, row_us):
    """Write the delays of a link in slots of one window into `row_us`; `normals`, float32 (slots,), has a standard normal value of each."""
    law, regime, every = rows.law[s, link], rows.regime[s, link], rows.every[s, link]
    edges, tables, held = laws.edges_us[law, regime], laws.excess_us[law, regime], laws.held[law]
    level = law_value(laws.level_us[law, regime], rows.score[s, link], _LOWEST, _PER_UNIT)
    base, gain, excess, wait = rows.base_us[s, link], rows.gain[s, link], rows.excess_us[s, link], rows.until_value[s, link]
    key = rng.stream_key(rows.seed[s], link, rng.HOLD)
    for i in range(row_us.size):
        if wait == 0:
            wait = every
            if rng.uniform(key, first_slot + i) >= held:
                cell = 0
                for edge in edges:
                    cell += 1 if excess >= edge else 0
                excess = law_value(tables[cell], normals[i], _LOWEST, _PER_UNIT)
        wait -= 1
        row_us[i] = np.int32(min(max(base + gain * (level + excess), _ZERO), _MAX_LINK_US) + _HALF)
    rows.excess_us[s, link], rows.until_value[s, link] = excess, wait


@kernel
def _link_row(rows, laws, s, link, first_slot, normals, row_us):
    """Write the delays and lost bits of a link in one block, `row_us` int32 (BLOCK_SLOTS,), window by window."""
    draw_row(_NORMAL, rng.stream_key(rows.seed[s], link, rng.QUEUEING), first_slot, normals)
    losses = rng.stream_key(rows.seed[s], link, rng.LOSS)
    begin = 0
    while begin < BLOCK_SLOTS:
        if rows.until_change[s, link] == 0:
            rows.until_change[s, link] = rows.window[s, link]
            _enter_window(rows, laws, s, link, first_slot + begin)
        end = min(begin + rows.until_change[s, link], BLOCK_SLOTS)
        _stretch(rows, laws, s, link, first_slot + begin, normals[begin:end], row_us[begin:end])
        chance = rows.loss[s, link, rows.regime[s, link]]
        if chance > 0.0 or rows.lost[s, link] == 1:  # a run may outlast its regime
            run = rows.loss_run[s, link]
            rows.lost[s, link] = lose(rows.lost[s, link], losses, first_slot + begin, chance, run, row_us[begin:end])
        rows.until_change[s, link] -= end - begin
        begin = end


@begin.register(RegimeLaws)
def _begin(model, rows, s, first_slot):
    """Set the state before the first slot: a regime and phases drawn evenly, and the excess that its middle cell has in the middle."""
    before = first_slot - 1
    for link in range(rows.law.shape[1]):
        key, law = rng.stream_key(rows.seed[s], link, rng.SHIFT), rows.law[s, link]
        rows.regime[s, link] = int(rng.uniform(key, _DRAWS * before + _CHANGE) * REGIMES)
        rows.score[s, link] = rng.normal(key, _DRAWS * before + _LEVEL)
        phase = rng.uniform(key, _DRAWS * before + _KEPT)
        rows.until_change[s, link] = int(phase * rows.window[s, link])
        rows.until_value[s, link] = int(phase * rows.every[s, link])
        rows.excess_us[s, link] = model.excess_us[law, rows.regime[s, link], CELLS // 2, len(SCORES) // 2]
        chance = rows.loss[s, link, rows.regime[s, link]]
        rows.lost[s, link] = is_lost_before(rng.stream_key(rows.seed[s], link, rng.LOSS), before + 1, chance)


@sample_links.register(RegimeLaws)
def _sample_links(model, rows, s, first_slot, scratch, link_us):
    for link in range(link_us.shape[0]):
        _link_row(rows, model, s, link, first_slot, scratch[link], link_us[link])
