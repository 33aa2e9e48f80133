"""Mode `correlated`: half the round trip, queueing with a declared correlation time, bursts in bad hours, FIFO order on each path.

One-way delay of link l in slot k:  base_l f_k + exp(mu_l + sigma_l x_k) + burst_k,  where x is an AR(1) process with unit variance and
correlation exp(-10 ms / tau): a Gaussian copula with lognormal margins. With tau = 0 the x are independent. The margins are fitted to
measured ping bursts (data/README.md). The correlation time is declared: ping statistics determine nothing below one second. Queueing is
clipped at 2.1 s (declared: no ping in the shipped statistics took longer).

The base level f shifts rarely (assumed: a route change): it starts at 1 and is resampled uniformly from 1 - size to 1 + size after
`shift_every_s` on average; at most one shift per block.

Bursts and losses: `vcgym.network.worlds.bad_hours`. Declared events: `vcgym.network.worlds.events`. The receiver's clock may run fast or
slow (`skew_ppm`). x and the queueing are float32; 2^y is a Taylor polynomial of degree 7 on half an octave, exact within 2^-22.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.worlds.bad_hours import LEVEL_MS, BadHoursRows, allocate_bad_hours, bad_hours_row, start_bad_hours
from vcgym.network.worlds.events import allocate_events, apply_events, put_events
from vcgym.network.worlds.losses import MAX_RUN
from vcgym.network.worlds.quantiles import draw_row, normal_table
from vcgym.network.worlds.world import (
    FAR_SLOT,
    MAX_LINK_US,
    World,
    WorldDraw,
    add_skew,
    checked,
    forget_losses,
    number_of_links,
    settle_in_order,
    sum_paths,
)

BLOCK_S = BLOCK_SLOTS * SLOT_US * 1e-6
SHIFT_EVERY_S, SHIFT_SIZE = 3600.0, 0.1  # assumed
MAX_SKEW_PPM = 1000.0
MAX_TAU_MS = 60_000.0
MAX_LOG_SD = 10.0
_MAX_MS = MAX_LINK_US / 1000.0

_NORMAL = normal_table().astype(np.float32)
_EXP2 = [np.float32(math.log(2.0) ** n / math.factorial(n)) for n in range(8)]
_C1, _C2, _C3, _C4, _C5, _C6, _C7 = _EXP2[1:]
_LOWEST, _HIGHEST = np.float32(-20.0), np.float32(21.0)  # 2^-20 us rounds to zero, 2^21 us is the largest queueing
_ONE, _HALF, _BIAS, _FRACTION = np.float32(1.0), np.float32(0.5), np.int32(127), np.int32(23)
_MAX_LINK_US = np.int32(MAX_LINK_US)


class CorrelatedRows(NamedTuple):
    """Parameters and running state; first axis: session, second: link (last_delay_us: path; events: event)."""

    seed: NDArray[np.uint64]
    block: NDArray[np.int64]
    lossless: NDArray[np.bool_]
    skew_ppm: NDArray[np.float64]
    shift_chance: NDArray[np.float64]  # per block
    shift_size: NDArray[np.float64]
    base_ms: NDArray[np.float64]
    level: NDArray[np.float64]
    log2_mean: NDArray[np.float32]  # of microseconds
    log2_sd: NDArray[np.float32]
    persistence: NDArray[np.float32]
    fresh: NDArray[np.float32]  # sqrt(1 - persistence^2)
    x: NDArray[np.float32]
    hours: BadHoursRows
    events: NDArray[np.void]
    last_delay_us: NDArray[np.int32]


@kernel
def exp2(y):
    """Return 2^y (float32), clipped to 2^-20..2^26."""
    y = min(max(y, _LOWEST), _HIGHEST)
    octave = np.floor(y + _HALF)
    f = y - octave
    value = _ONE + f * (_C1 + f * (_C2 + f * (_C3 + f * (_C4 + f * (_C5 + f * (_C6 + f * _C7))))))
    return value * np.int32((np.int32(octave) + _BIAS) << _FRACTION).view(np.float32)


@kernel
def _shift(rows, s, link, block):
    """Return the slot within the block at which the base level shifts (BLOCK_SLOTS for none), and the new level."""
    key = rng.stream_key(rows.seed[s], link, rng.SHIFT)
    if rng.uniform(key, 3 * block) >= rows.shift_chance[s]:
        return BLOCK_SLOTS, rows.level[s, link]
    return int(rng.uniform(key, 3 * block + 1) * BLOCK_SLOTS), 1.0 + rows.shift_size[s] * (2.0 * rng.uniform(key, 3 * block + 2) - 1.0)


@kernel
def _follow(rows, s, link, x):
    """Turn the independent draws in row `link` of `x` into an AR(1) process that continues the last block."""
    persistence, fresh, now = rows.persistence[s, link], rows.fresh[s, link], rows.x[s, link]
    for i in range(BLOCK_SLOTS):
        now = persistence * now + fresh * x[link, i]
        x[link, i] = now
    rows.x[s, link] = now


@kernel
def _follow_four(rows, s, link, x):
    """Do the same for four links from `link` on. The recursions are independent of each other, so four take little longer than one."""
    persistence, fresh, now = rows.persistence[s], rows.fresh[s], rows.x[s]
    a, b, c, d = link, link + 1, link + 2, link + 3
    kept_a, kept_b, kept_c, kept_d = persistence[a], persistence[b], persistence[c], persistence[d]
    new_a, new_b, new_c, new_d = fresh[a], fresh[b], fresh[c], fresh[d]
    now_a, now_b, now_c, now_d = now[a], now[b], now[c], now[d]
    for i in range(BLOCK_SLOTS):
        now_a = kept_a * now_a + new_a * x[a, i]
        now_b = kept_b * now_b + new_b * x[b, i]
        now_c = kept_c * now_c + new_c * x[c, i]
        now_d = kept_d * now_d + new_d * x[d, i]
        x[a, i], x[b, i], x[c, i], x[d, i] = now_a, now_b, now_c, now_d
    now[a], now[b], now[c], now[d] = now_a, now_b, now_c, now_d


@kernel
def _gaussians(rows, s, first_slot, x):
    """Sample the Gaussians of the queueing of all links in one block, `x` float32 (links, BLOCK_SLOTS)."""
    links = x.shape[0]
    for link in range(links):
        draw_row(_NORMAL, rng.stream_key(rows.seed[s], link, rng.QUEUEING), first_slot, x[link])
    for link in range(0, links - 3, 4):
        _follow_four(rows, s, link, x)
    for link in range(links - links % 4, links):
        _follow(rows, s, link, x)


@kernel
def _queueing_row(rows, s, link, x, row_us):
    """Write base plus queueing of one link with Gaussian process `x`."""
    log2_mean, log2_sd = rows.log2_mean[s, link], rows.log2_sd[s, link]
    shift, level = _shift(rows, s, link, rows.block[s])
    before = np.int32(min(rows.base_ms[s, link] * rows.level[s, link] * 1000.0 + 0.5, MAX_LINK_US))
    after = np.int32(min(rows.base_ms[s, link] * level * 1000.0 + 0.5, MAX_LINK_US))
    rows.level[s, link] = level
    for i in range(BLOCK_SLOTS):
        queue_us = np.int32(exp2(log2_mean + log2_sd * x[i]) + _HALF)
        row_us[i] = min(np.int32((before if i < shift else after) + queue_us), _MAX_LINK_US)


@kernel
def next_block(rows, s, path_links, x, link_us, out):
    """Write the next block of a session and advance the state.

    Args:
        rows: Rows; row `s` is updated.
        s: int64, session.
        path_links: int64 (paths, at most MAX_LINKS_ON_PATH), links of each path, padded with NO_LINK.
        x: float32 (links, BLOCK_SLOTS), scratch.
        link_us: int32 (links, BLOCK_SLOTS), scratch.
        out: int32 (paths, BLOCK_SLOTS), overwritten with delays in microseconds, at least MIN_DELAY_US, or LOST.
    """
    first_slot = rows.block[s] * BLOCK_SLOTS
    _gaussians(rows, s, first_slot, x)
    for link in range(rows.base_ms.shape[1]):
        _queueing_row(rows, s, link, x[link], link_us[link])
        bad_hours_row(rows.hours, s, link, rows.seed[s], first_slot, x[link], link_us[link])
    apply_events(rows.events, s, rows.seed[s], first_slot, link_us)
    sum_paths(link_us, path_links, out)
    if rows.lossless[s]:
        forget_losses(out)
    if rows.skew_ppm[s] != 0.0:
        add_skew(out, first_slot, rows.skew_ppm[s])
    settle_in_order(out, rows.last_delay_us[s])
    rows.block[s] += 1


@allocating_kernel
def _begin(rows, s):
    first_slot = rows.block[s] * BLOCK_SLOTS
    before = np.empty(1, np.float32)
    for link in range(rows.base_ms.shape[1]):
        draw_row(_NORMAL, rng.stream_key(rows.seed[s], link, rng.QUEUEING), first_slot - 1, before)
        rows.x[s, link] = before[0]
        rows.level[s, link] = 1.0
    start_bad_hours(rows.hours, s, rows.seed[s], first_slot)
    rows.last_delay_us[s, :] = 0


@allocating_kernel
def _fill(rows, which, path_links, delay_us):
    links = rows.base_ms.shape[1]
    x = np.empty((links, BLOCK_SLOTS), np.float32)
    link_us = np.empty((links, BLOCK_SLOTS), np.int32)
    for s in which:
        next_block(rows, s, path_links, x, link_us, delay_us[s])


class CorrelatedWorld(World):
    """Correlated worlds of `sessions` calls over the same path layout; see `vcgym.network.worlds.world.World`.

    Args:
        sessions: number of sessions.
        path_links: int64 (paths, at most MAX_LINKS_ON_PATH), links of each path, padded with NO_LINK.
        events: capacity for declared events in each world.
    """

    def __init__(self, sessions: int, path_links: NDArray[np.int64], events: int = 0) -> None:
        self._links = links = number_of_links(path_links)
        super().__init__(sessions, len(path_links))
        self.path_links = path_links
        arrays: dict[str, Any] = {
            "seed": np.zeros(sessions, np.uint64),
            "block": np.zeros(sessions, np.int64),
            "lossless": np.zeros(sessions, np.bool_),
            "hours": allocate_bad_hours(sessions, links),
            "events": allocate_events(sessions, events),
            "last_delay_us": np.zeros((sessions, self.paths), np.int32),
        }
        arrays |= {name: np.zeros(sessions) for name in ("skew_ppm", "shift_chance", "shift_size")}
        arrays |= {name: np.zeros((sessions, links)) for name in ("base_ms", "level")}
        arrays |= {name: np.zeros((sessions, links), np.float32) for name in ("log2_mean", "log2_sd", "persistence", "fresh", "x")}
        self.rows = CorrelatedRows(**arrays)

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Set parameters of `row`.

        Per link (arrays, or one number for all): base_ms, log_mean and log_sd (of ms), loss, bad_from and bad_to (slots), loss_run (L,
        default 1), bad_level_ms (median level of the bursts of a bad hour, default LEVEL_MS). Per world: tau_ms, shift_every_s (default
        SHIFT_EVERY_S; infinite: never), shift_size (default SHIFT_SIZE), skew_ppm (default 0), events (a sequence of
        `vcgym.network.worlds.events.Event`, default none), lossless (default False; True: the same delays, also in slots that are lost).
        """
        rows, given = self.rows, draw.parameters
        rows.seed[row] = draw.seed
        rows.lossless[row] = given.get("lossless", False)
        rows.base_ms[row] = checked("base_ms", given["base_ms"], 0.0, _MAX_MS)
        log_mean = checked("log_mean", given["log_mean"], -math.inf, math.log(_MAX_MS))
        rows.log2_mean[row] = (log_mean + math.log(1000.0)) / math.log(2.0)
        rows.log2_sd[row] = checked("log_sd", given["log_sd"], 0.0, MAX_LOG_SD) / math.log(2.0)
        tau_ms = float(checked("tau_ms", given["tau_ms"], 0.0, MAX_TAU_MS))
        rows.persistence[row] = math.exp(-SLOT_US / 1000.0 / tau_ms) if tau_ms > 0.0 else 0.0
        rows.fresh[row] = np.sqrt(1.0 - rows.persistence[row].astype(float) ** 2)
        rows.shift_chance[row] = BLOCK_S / checked("shift_every_s", given.get("shift_every_s", SHIFT_EVERY_S), BLOCK_S, math.inf)
        rows.shift_size[row] = checked("shift_size", given.get("shift_size", SHIFT_SIZE), 0.0, 1.0)
        rows.skew_ppm[row] = checked("skew_ppm", given.get("skew_ppm", 0.0), -MAX_SKEW_PPM, MAX_SKEW_PPM)
        hours = rows.hours
        for name in ("bad_from", "bad_to"):
            getattr(hours, name)[row] = checked(name, given[name], -FAR_SLOT, FAR_SLOT)
        hours.bad_level_ms[row] = checked("bad_level_ms", given.get("bad_level_ms", LEVEL_MS), 0.0, _MAX_MS)
        hours.loss[row] = checked("loss", given["loss"], 0.0, 1.0)
        hours.loss_run[row] = checked("loss_run", given.get("loss_run", 1.0), 1.0, MAX_RUN)
        put_events(rows.events[row], given.get("events", ()), self._links)
        _begin(rows, row)

    def fill(self, which: NDArray[np.int64]) -> None:
        """Load the next block of each row in `which`."""
        _fill(self.rows, which, self.path_links, self.delay_us)
