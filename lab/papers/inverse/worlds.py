"""Worlds under assumptions: the distributions of mode `paper`, with correlation, order, loss, history and clock as assumed.

The delay of link l in slot k is F_l^-1(Phi(x_k)) with F_l the distribution of the link and x an AR(1) process with unit variance and
correlation exp(-10 ms / tau), as in mode correlated. With the defaults a world equals that of mode `paper` bit for bit.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from lab.papers.inverse.assumptions import Assumptions
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.scenarios.paths.linked import Linked
from vcgym.network.scenarios.recipe import Recipe
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.worlds.links import BURSTS
from vcgym.network.worlds.quantiles import PROBABILITIES, TABLE_POINTS, draw_row, normal_table
from vcgym.network.worlds.world import (
    HISTORY_BLOCKS,
    LOST_BIT,
    World,
    WorldDraw,
    add_skew,
    add_to_history,
    history_from_sums,
    number_of_links,
    settle_in_order,
    settle_independent,
    sum_paths,
)

_NORMAL = normal_table().astype(np.float32)
_STEPS, _REACH = 64, 5  # per standard deviation; standard deviations
_GAUSSIANS = np.arange(-_REACH * _STEPS, _REACH * _STEPS + 1) / _STEPS
_SAMPLES = 4096  # of each burst in a mixture
_RISING = np.argsort(PROBABILITIES, kind="stable")
_HALF, _LOST_BIT = np.float32(0.5), np.int32(LOST_BIT)
_SCALE, _LAST = np.float32(_STEPS), np.float32(2 * _REACH * _STEPS - 1e-3)
_ORIGIN = np.float32(_REACH * _STEPS)


@functools.cache
def plain(about: str, packets: int, burst: str = "worst") -> Scenario:
    """Return a scenario in mode `paper`; its recipe keeps the parameters of pairs that it was asked for."""
    return Scenario(about, "paper", packets, burst=burst)


class AssumedRecipe(Recipe):
    """Recipe of a scenario under assumptions; its pairs, paths and seeds are those of mode `paper`."""

    modes = ("paper",)

    def __init__(self, settings: WorldSettings, about: str, assumed: Assumptions) -> None:
        self.assumed, self._about, self._packets = assumed, about, settings.packets
        self._plain = plain(about, settings.packets).recipe
        self.strata, self.layout = self._plain.strata, self._plain.layout

    def pairs(self, split: str) -> list[str]:
        """Return the names of the pairs of a split."""
        return self._plain.pairs(split)

    def world(self, sessions: int) -> World:
        """Return an empty world for a batch of sessions."""
        return AssumedWorld(sessions, self.layout.path_links, self.assumed)

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        """Sample the parameters of one world: quantiles_ms and history_ms (links, TABLE_POINTS) and loss (links,)."""
        assumed = self.assumed
        if not isinstance(self._plain, Linked):  # the scale study: the paper declares the distributions, and there is no other burst
            given = self._plain.parameters(split, pair, stratum, draws)
            call = history = given["quantiles_ms"]
        else:
            given = self._of_burst("worst", pair)
            other = "worst" if assumed.burst == "median" else "median"
            call = self._scaled(self._of(assumed.burst, pair, draws))
            history = call if assumed.history == "same" else self._scaled(self._of(other, pair, draws))
        return {"quantiles_ms": call, "history_ms": history, "loss": 1.0 - (1.0 - given["loss"]) * (1.0 - assumed.loss)}

    def _of_burst(self, burst: str, pair: str) -> dict[str, Any]:
        """Return the parameters of a pair's links in mode `paper` at one burst, which no draw decides."""
        recipe = plain(self._about, self._packets, burst).recipe
        assert isinstance(recipe, Linked)
        return recipe.ordinary(pair)[1]

    def _of(self, burst: str, pair: str, draws: np.random.Generator) -> NDArray[np.float64]:
        """Return the quantile tables (links, TABLE_POINTS) of a pair's links."""
        if burst in BURSTS:
            return np.asarray(self._of_burst(burst, pair)["quantiles_ms"])
        assert isinstance(self._plain, Linked)
        share = self._plain.ordinary(pair)[0]["bad_share"]
        worst, median = (self._of_burst(one, pair)["quantiles_ms"] for one in ("worst", "median"))
        if burst == "hour":
            return np.where((draws.random(len(share)) < share)[:, None], worst, median)
        return np.array([_mixture(*of_link) for of_link in zip(worst, median, share, strict=True)])

    def _scaled(self, quantiles_ms: NDArray[np.float64]) -> NDArray[np.float64]:
        low_ms = quantiles_ms[:, :1]  # the first point of a table is the minimum
        return (low_ms + (quantiles_ms - low_ms) * self.assumed.spread) * self.assumed.round_trip


def _mixture(worst_ms: NDArray[np.float64], median_ms: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return the quantile table of a draw from `worst_ms` with probability `share`, else from `median_ms`."""
    middles = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    drawn = np.concatenate([np.interp(middles, PROBABILITIES[_RISING], table[_RISING]) for table in (worst_ms, median_ms)])
    weight = np.repeat([share, 1.0 - share], _SAMPLES) / _SAMPLES
    order = np.argsort(drawn, kind="stable")
    below = np.cumsum(weight[order])
    return drawn[order][np.minimum(np.searchsorted(below, PROBABILITIES * below[-1]), len(drawn) - 1)]


class InverseRows(NamedTuple):
    """Parameters and running state; first axis: session, second: link (last_delay_us: path)."""

    seed: NDArray[np.uint64]
    block: NDArray[np.int64]
    quantiles_us: NDArray[np.float32]  # (sessions, links, TABLE_POINTS)
    by_gaussian_us: NDArray[np.float32]  # (sessions, links, len(_GAUSSIANS)) for tau > 0
    loss: NDArray[np.float64]
    x: NDArray[np.float32]
    last_delay_us: NDArray[np.int32]


class Fixed(NamedTuple):
    """Assumptions that all sessions share: persistence of x per slot, a factor 0 of link numbers in a shared series, clock and order."""

    persistence: float
    own: int
    clock_ppm: float
    fifo: bool


@kernel
def _follow(rows, s, link, persistence, row_us):
    """Turn independent Gaussians in `row_us` into the link's correlated delays (us)."""
    table, now = rows.by_gaussian_us[s, link], rows.x[s, link]
    kept, fresh = np.float32(persistence), np.float32(math.sqrt(1.0 - persistence * persistence))
    for i in range(row_us.size):
        now = kept * now + fresh * row_us[i]
        at = min(max(now * _SCALE + _ORIGIN, np.float32(0.0)), _LAST)
        cell = int(at)
        row_us[i] = table[cell] + (table[cell + 1] - table[cell]) * (at - np.float32(cell))
    rows.x[s, link] = now


@kernel
def next_block(rows, fixed, s, path_links, draws_us, link_us, out):
    """Write the next block of a session and advance the state.

    Args:
        rows: Rows; row `s` is updated.
        fixed: Fixed, assumptions that all sessions share.
        s: int64, session.
        path_links: int64 (paths, at most MAX_LINKS_ON_PATH), links of each path, padded with NO_LINK.
        draws_us: float32 (BLOCK_SLOTS,), scratch.
        link_us: int32 (links, BLOCK_SLOTS), scratch.
        out: int32 (paths, BLOCK_SLOTS), overwritten with delays in microseconds, at least MIN_DELAY_US, or LOST.
    """
    first_slot = rows.block[s] * BLOCK_SLOTS
    for link in range(rows.loss.shape[1]):
        key = rng.stream_key(rows.seed[s], link * fixed.own, rng.QUEUEING)
        if fixed.persistence > 0.0:
            draw_row(_NORMAL, key, first_slot, draws_us)
            _follow(rows, s, link, fixed.persistence, draws_us)
        else:
            draw_row(rows.quantiles_us[s, link], key, first_slot, draws_us)
        for i in range(BLOCK_SLOTS):
            link_us[link, i] = np.int32(draws_us[i] + _HALF)
        chance = rows.loss[s, link]
        if chance > 0.0:
            losses = rng.stream_key(rows.seed[s], link, rng.LOSS)
            for i in range(BLOCK_SLOTS):
                if rng.uniform(losses, first_slot + i) < chance:
                    link_us[link, i] |= _LOST_BIT
    sum_paths(link_us, path_links, out)
    if fixed.clock_ppm != 0.0:
        add_skew(out, first_slot, fixed.clock_ppm)
    if fixed.fifo:
        settle_in_order(out, rows.last_delay_us[s])
    else:
        settle_independent(out)
    rows.block[s] += 1


@allocating_kernel
def _fill(rows, fixed, which, path_links, delay_us):
    draws_us = np.empty(BLOCK_SLOTS, np.float32)
    link_us = np.empty((rows.loss.shape[1], BLOCK_SLOTS), np.int32)
    for s in which:
        next_block(rows, fixed, s, path_links, draws_us, link_us, delay_us[s])


class AssumedWorld(World):
    """Worlds of `sessions` calls over the same path layout under assumptions; see `vcgym.network.worlds.world.World`."""

    def __init__(self, sessions: int, path_links: NDArray[np.int64], assumed: Assumptions) -> None:
        links = number_of_links(path_links)
        super().__init__(sessions, len(path_links))
        self.path_links, self.history_packets = path_links, assumed.history_packets
        persistence = math.exp(-SLOT_US / 1000.0 / assumed.tau_ms) if assumed.tau_ms > 0.0 else 0.0
        self.fixed = Fixed(persistence, int(assumed.series == "own"), assumed.clock_ppm, assumed.order == "fifo")
        self.rows = InverseRows(
            np.zeros(sessions, np.uint64), np.zeros(sessions, np.int64), np.zeros((sessions, links, TABLE_POINTS), np.float32),
            np.zeros((sessions, links, len(_GAUSSIANS) if persistence else 0), np.float32), np.zeros((sessions, links)),
            np.zeros((sessions, links), np.float32), np.zeros((sessions, self.paths), np.int32),
        )  # fmt: skip

    def start(self, row: int, draw: WorldDraw) -> NDArray[np.float64]:
        """Start a sampled world in `row`: play its history, load block 0. Return the history (paths, 3): n, mean ms, sd ms.

        The history is the last `history_packets` before the call, with delays of history_ms; the call has those of quantiles_ms.
        """
        rows, sums = self.rows, np.zeros((self.paths, 3))
        rows.block[row] = -HISTORY_BLOCKS
        self._begin(row, draw)
        self._take(row, draw.parameters["history_ms"])
        for before in range(HISTORY_BLOCKS, 0, -1):
            self.fill(np.array([row]))
            first = max(0, before * BLOCK_SLOTS - self.history_packets)
            add_to_history(np.ascontiguousarray(self.delay_us[row][:, first:]), sums)
        self._take(row, draw.parameters["quantiles_ms"])
        self.fill(np.array([row]))
        self.history[row] = history_from_sums(sums)
        return self.history[row].copy()

    def _begin(self, row: int, draw: WorldDraw) -> None:
        rows, before = self.rows, np.empty(1, np.float32)
        rows.seed[row], rows.loss[row], rows.last_delay_us[row] = draw.seed, draw.parameters["loss"], 0
        for link in range(rows.x.shape[1]):
            key = np.uint64(rng.stream_key(rows.seed[row], link * self.fixed.own, rng.QUEUEING))
            draw_row(_NORMAL, key, rows.block[row] * BLOCK_SLOTS - 1, before)
            rows.x[row, link] = before[0]

    def _take(self, row: int, quantiles_ms: NDArray[np.float64]) -> None:
        """Give the links of `row` their distributions."""
        self.rows.quantiles_us[row] = 1000.0 * quantiles_ms
        if self.fixed.persistence:
            at, sorted_p = ndtr(_GAUSSIANS), PROBABILITIES[_RISING]
            self.rows.by_gaussian_us[row] = [1000.0 * np.interp(at, sorted_p, table[_RISING]) for table in quantiles_ms]

    def fill(self, which: NDArray[np.int64]) -> None:
        """Load the next block of each row in `which`."""
        _fill(self.rows, self.fixed, which, self.path_links, self.delay_us)
