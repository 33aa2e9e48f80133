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
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.worlds.bad_hours import BAD_HOURS, bad_hours_row, start_bad_hours
from vcgym.network.worlds.model import Param, State, begin, model, sample_links, settle, settle_in_order
from vcgym.network.worlds.quantiles import draw_row, normal_table
from vcgym.network.worlds.world import LOST_BIT, MAX_LINK_US, MIN_DELAY_US

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
_MAX_LINK_US, _MIN_DELAY_US, _DELAY_BITS = np.int32(MAX_LINK_US), np.int32(MIN_DELAY_US), np.int32(LOST_BIT - 1)
_PPM_US = SLOT_US * 1e-6  # delay that one part per million adds per slot


def _log2(log_ms: NDArray[np.float64]) -> Any:
    return (log_ms + math.log(1000.0)) / math.log(2.0)


def _persistence(tau_ms: NDArray[np.float64]) -> float:
    return math.exp(-SLOT_US / 1000.0 / float(tau_ms)) if tau_ms > 0.0 else 0.0


@model(
    base_ms=Param(0.0, _MAX_MS),
    log2_mean=Param(-math.inf, math.log(_MAX_MS), given="log_mean", store=_log2, dtype=np.float32),  # of microseconds
    log2_sd=Param(0.0, MAX_LOG_SD, given="log_sd", store=lambda log_sd: log_sd / math.log(2.0), dtype=np.float32),
    persistence=Param(0.0, MAX_TAU_MS, given="tau_ms", store=_persistence, dtype=np.float32, of_world=True),
    shift_chance=Param(BLOCK_S, math.inf, SHIFT_EVERY_S, "shift_every_s", lambda every_s: BLOCK_S / every_s, of_world=True),  # per block
    shift_size=Param(0.0, 1.0, SHIFT_SIZE, of_world=True),
    skew_ppm=Param(-MAX_SKEW_PPM, MAX_SKEW_PPM, 0.0, of_world=True),
    level=State(initial=1.0),
    x=State(np.float32),
    **BAD_HOURS,
)
class Correlated(NamedTuple):
    """Links with correlated queueing.

    A sampled world has, for each link: base_ms, log_mean and log_sd (of ms), and the parameters of `bad_hours.BAD_HOURS`. For the world:
    tau_ms, shift_every_s (default SHIFT_EVERY_S; infinite: never), shift_size (default SHIFT_SIZE), skew_ppm (default 0).
    """


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
def _fresh(persistence):
    """Return the factor of new values that keeps the variance at 1, float32."""
    return np.float32(math.sqrt(1.0 - np.float64(persistence) * np.float64(persistence)))


@kernel
def _follow(rows, s, link, x):
    """Turn the independent draws in row `link` of `x` into an AR(1) process that continues the last block."""
    persistence, now = rows.persistence[s], rows.x[s, link]
    fresh = _fresh(persistence)
    for i in range(BLOCK_SLOTS):
        now = persistence * now + fresh * x[link, i]
        x[link, i] = now
    rows.x[s, link] = now


@kernel
def _follow_four(rows, s, link, x):
    """Do the same for four links from `link` on. The recursions are independent of each other, so four take little longer than one."""
    persistence, now = rows.persistence[s], rows.x[s]
    fresh = _fresh(persistence)
    a, b, c, d = link, link + 1, link + 2, link + 3
    now_a, now_b, now_c, now_d = now[a], now[b], now[c], now[d]
    for i in range(BLOCK_SLOTS):
        now_a = persistence * now_a + fresh * x[a, i]
        now_b = persistence * now_b + fresh * x[b, i]
        now_c = persistence * now_c + fresh * x[c, i]
        now_d = persistence * now_d + fresh * x[d, i]
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


@begin.register(Correlated)
def _begin(model, rows, s, first_slot):
    for link in range(rows.base_ms.shape[1]):
        draw_row(_NORMAL, rng.stream_key(rows.seed[s], link, rng.QUEUEING), first_slot - 1, rows.x[s, link : link + 1])
    start_bad_hours(rows, s, rows.seed[s], first_slot)


@sample_links.register(Correlated)
def _sample_links(model, rows, s, first_slot, scratch, link_us):
    _gaussians(rows, s, first_slot, scratch)
    for link in range(link_us.shape[0]):
        _queueing_row(rows, s, link, scratch[link], link_us[link])
        bad_hours_row(rows, s, link, rows.seed[s], first_slot, scratch[link], link_us[link])


@settle.register(Correlated)
def _settle(model, rows, s, first_slot, out):
    if rows.skew_ppm[s] != 0.0:
        _add_skew(out, first_slot, rows.skew_ppm[s])
    settle_in_order(out, rows.last_delay_us[s])


@kernel
def _add_skew(out, first_slot, skew_ppm):
    """Add the skew of a receiver's clock that gains `skew_ppm` on the sender's from slot 0 on; it lengthens the measured delays."""
    step_us = skew_ppm * _PPM_US
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            delay_us = np.int32(out[p, i] & _DELAY_BITS)
            seems_us = np.int32(delay_us + np.int32(np.floor((first_slot + i) * step_us)))
            out[p, i] += min(max(seems_us, _MIN_DELAY_US), _DELAY_BITS) - delay_us
