"""Mode `correlated`: half the round trip, queueing with a declared correlation time, bursts in bad hours, first-in-first-out within a path.

Delay of link l in slot k, one way:  base_l + exp(mu_l + sigma_l x_k) + burst_k,  x an AR(1) process with unit variance and
correlation exp(-10 ms / tau): a Gaussian copula with lognormal margins. The margins are fitted to measured ping bursts (data/README.md);
the correlation time is declared, since ping statistics fix nothing below one second.

A link that is bad between two slots has congestion bursts (declared generator, numbers of the scenario sheet's strata): on for 3-10 s
(uniform), off for 13 s on average (exponential); level lognormal with 90 % within 40-150 ms; linear rise over 0.2-1.5 s; drain 0.3 s per
s; fast variation of +-35 % that follows x; loss 1 % while on, 0.05 % while off. A link that is not bad loses `loss` of its packets,
independently.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network import rng
from vcgym.network.jit import allocating_kernel, kernel
from vcgym.network.world import BLOCK_SLOTS, SLOT_US, World, WorldDraw, finish_paths

ON_MIN_S, ON_MAX_S, OFF_MEAN_S = 3.0, 10.0, 13.0
LEVEL_LOG_MEAN = math.log(math.sqrt(40.0 * 150.0))
LEVEL_LOG_SD = math.log(150.0 / 40.0) / (2.0 * 1.6449)
RISE_MIN_S, RISE_MAX_S = 0.2, 1.5
DRAIN_MS_PER_SLOT = 3.0
FAST_SHARE = 0.35
LOSS_ON, LOSS_OFF = 0.01, 0.0005
_SLOTS_PER_S = 100.0


class Rows(NamedTuple):
    """Parameters and running state; first axis the session, second the link (last_arrival_us: the path)."""

    seed: NDArray[np.uint64]
    block: NDArray[np.int64]
    base_ms: NDArray[np.float64]
    log_mean: NDArray[np.float64]
    log_sd: NDArray[np.float64]
    loss: NDArray[np.float64]
    persistence: NDArray[np.float64]
    bad_from: NDArray[np.int64]
    bad_to: NDArray[np.int64]
    x: NDArray[np.float64]
    burst_count: NDArray[np.int64]
    burst_on: NDArray[np.int64]
    burst_until: NDArray[np.int64]
    burst_level_ms: NDArray[np.float64]
    burst_rise_ms: NDArray[np.float64]
    burst_ms: NDArray[np.float64]
    last_arrival_us: NDArray[np.int64]


_INTEGERS = ("bad_from", "bad_to", "burst_count", "burst_on", "burst_until")
_FLOATS = tuple(name for name in Rows._fields[2:-1] if name not in _INTEGERS)


@kernel
def _next_phase(rows, s, link, slot, starting):
    """Draw the phase that begins at `slot`: a burst (length, level, rise) or a pause (length)."""
    key = rng.stream_key(rows.seed[s], link, rng.BURST)
    first = 4 * rows.burst_count[s, link]
    rows.burst_count[s, link] += 1
    if starting:
        mean_on = 0.5 * (ON_MIN_S + ON_MAX_S)
        on = rng.uniform(key, first + 3) < mean_on / (mean_on + OFF_MEAN_S)
    else:
        on = rows.burst_on[s, link] == 0
    if on:
        length_s = ON_MIN_S + (ON_MAX_S - ON_MIN_S) * rng.uniform(key, first)
        level = math.exp(LEVEL_LOG_MEAN + LEVEL_LOG_SD * rng.normal(key, first + 1))
        rise_s = RISE_MIN_S + (RISE_MAX_S - RISE_MIN_S) * rng.uniform(key, first + 2)
        rows.burst_level_ms[s, link] = level
        rows.burst_rise_ms[s, link] = level / (rise_s * _SLOTS_PER_S)
    else:
        length_s = -OFF_MEAN_S * math.log(1.0 - rng.uniform(key, first))
    rows.burst_on[s, link] = 1 if on else 0
    rows.burst_until[s, link] = slot + max(1, int(length_s * _SLOTS_PER_S))


@kernel
def _burst_step(rows, s, link, slot):
    """Queueing delay of the congestion burst in this slot, in ms, before the fast variation."""
    bad = rows.bad_from[s, link] <= slot < rows.bad_to[s, link]
    if bad and slot >= rows.burst_until[s, link]:
        _next_phase(rows, s, link, slot, rows.burst_count[s, link] == 0)
    value = rows.burst_ms[s, link]
    if bad and rows.burst_on[s, link] == 1:
        value = min(rows.burst_level_ms[s, link], value + rows.burst_rise_ms[s, link])
    else:
        value = max(0.0, value - DRAIN_MS_PER_SLOT)
    rows.burst_ms[s, link] = value
    return value


@kernel
def _loss_now(rows, s, link, slot):
    if rows.bad_from[s, link] <= slot < rows.bad_to[s, link]:
        return LOSS_ON if rows.burst_on[s, link] == 1 else LOSS_OFF
    return rows.loss[s, link]


@allocating_kernel
def next_block(rows, s, path_links, out):
    """Write the next block (paths, BLOCK_SLOTS) of session `s` into `out` and move the running state on."""
    links = rows.base_ms.shape[1]
    first_slot = rows.block[s] * BLOCK_SLOTS
    delay_us = np.empty((links, BLOCK_SLOTS), np.int64)
    lost = np.zeros((links, BLOCK_SLOTS), np.bool_)
    for link in range(links):
        noise = rng.stream_key(rows.seed[s], link, rng.QUEUEING)
        losses = rng.stream_key(rows.seed[s], link, rng.LOSS)
        phi = rows.persistence[s, link]
        scale = math.sqrt(1.0 - phi * phi)
        x = rows.x[s, link]
        ever_bad = rows.bad_from[s, link] < rows.bad_to[s, link]
        for i in range(BLOCK_SLOTS):
            slot = first_slot + i
            x = phi * x + scale * rng.normal(noise, slot)
            ms = rows.base_ms[s, link] + math.exp(rows.log_mean[s, link] + rows.log_sd[s, link] * x)
            if ever_bad:
                ms += _burst_step(rows, s, link, slot) * (1.0 + FAST_SHARE * max(-1.0, min(1.0, x)))
            delay_us[link, i] = int(round(ms * 1000.0))
            chance = _loss_now(rows, s, link, slot)
            if chance > 0.0:
                lost[link, i] = rng.uniform(losses, slot) < chance
        rows.x[s, link] = x
    finish_paths(delay_us, lost, path_links, out, rows.last_arrival_us[s], first_slot, True)
    rows.block[s] += 1


@kernel
def _begin(rows, s):
    first_slot = rows.block[s] * BLOCK_SLOTS
    for link in range(rows.base_ms.shape[1]):
        noise = rng.stream_key(rows.seed[s], link, rng.QUEUEING)
        rows.x[s, link] = rng.normal(noise, first_slot - 1)
        rows.burst_count[s, link] = 0
        rows.burst_on[s, link] = 0
        rows.burst_until[s, link] = first_slot
        rows.burst_ms[s, link] = 0.0
    rows.last_arrival_us[s, :] = first_slot * SLOT_US


@allocating_kernel
def _fill(rows, which, path_links, delay_us):
    for s in which:
        next_block(rows, s, path_links, delay_us[s])


class CorrelatedWorld(World):
    """Correlated worlds of `sessions` calls over the same path layout; see `vcgym.network.world.World`."""

    def __init__(self, sessions: int, path_links: NDArray[np.int64]) -> None:
        links = int(path_links.max()) + 1
        super().__init__(sessions, len(path_links))
        self.path_links = path_links
        of_links: dict[str, Any] = {name: np.zeros((sessions, links)) for name in _FLOATS}
        of_links |= {name: np.zeros((sessions, links), np.int64) for name in _INTEGERS}
        self.rows = Rows(
            seed=np.zeros(sessions, np.uint64),
            block=np.zeros(sessions, np.int64),
            last_arrival_us=np.zeros((sessions, self.paths), np.int64),
            **of_links,
        )

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Parameters per link (arrays): base_ms, log_mean, log_sd, loss, bad_from, bad_to; tau_ms a float."""
        rows, given = self.rows, draw.parameters
        rows.seed[row] = draw.seed
        for name in ("base_ms", "log_mean", "log_sd", "loss", "bad_from", "bad_to"):
            getattr(rows, name)[row] = given[name]
        rows.persistence[row] = math.exp(-SLOT_US / 1000.0 / given["tau_ms"]) if given["tau_ms"] > 0.0 else 0.0
        _begin(rows, row)

    def fill(self, which: NDArray[np.int64]) -> None:
        """Load the next block of each row in `which`."""
        _fill(self.rows, which, self.path_links, self.delay_us)
