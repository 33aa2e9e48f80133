"""Bad hours and losses of links in a correlated world.

During a bad hour a link has congestion bursts (declared, see docs/worlds.md): on for 3-10 s (uniform), off for 13 s on average
(exponential); level lognormal, by default with 90 % within 40-150 ms; linear rise over 0.2-1.5 s; drain 0.3 s per s; fast variation of
+-35 % that follows the link's queueing x; loss 1 % while on, 0.05 % while off.

Outside bad hours a link loses a share p of its packets. Losses are in runs (`vcgym.network.worlds.losses`), by default independent.
"""

import math

import numpy as np

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.worlds.losses import MAX_RUN, is_lost_before, lose
from vcgym.network.worlds.model import Param, State
from vcgym.network.worlds.world import FAR_SLOT, MAX_LINK_US

ON_MIN_S, ON_MAX_S, OFF_MEAN_S = 3.0, 10.0, 13.0
LEVEL_MS = math.sqrt(40.0 * 150.0)  # median
LEVEL_LOG_SD = math.log(150.0 / 40.0) / (2.0 * 1.6449)
RISE_MIN_S, RISE_MAX_S = 0.2, 1.5
DRAIN_US_PER_SLOT = 3000
FAST_SHARE = 0.35
LOSS_ON, LOSS_OFF = 0.01, 0.0005
_SLOTS_PER_S = 100.0

_FAST_SHARE = np.float32(FAST_SHARE)
_MAX_LINK_US = np.int32(MAX_LINK_US)
_ONE, _HALF = np.float32(1.0), np.float32(0.5)


BAD_HOURS: dict[str, Param | State] = {
    "bad_from": Param(-FAR_SLOT, FAR_SLOT, dtype=np.int64),
    "bad_to": Param(-FAR_SLOT, FAR_SLOT, dtype=np.int64),
    "bad_level_ms": Param(0.0, MAX_LINK_US / 1000.0, LEVEL_MS),
    "loss": Param(0.0, 1.0),
    "loss_run": Param(1.0, MAX_RUN, 1.0),
    "lost": State(np.int64),
    "phases": State(np.int64),
    "on": State(np.int64),
    "until": State(np.int64),
    "burst_level_us": State(np.int64),
    "rise_us": State(np.int64),
    "burst_us": State(np.int64),
}
"""Part of a model's table. Parameters: first and last + 1 slot of the bad hour, median level of its bursts, loss outside, and L of losses.
State: of the losses, 0 or 1; number of bursts and pauses so far; 1 in a burst; slot in which that ends; level and rise per slot of the
burst; what it adds now."""


@kernel
def start_bad_hours(hours, s, seed, first_slot):
    """Set the state of a session's links before their first slot; negative slots are the history."""
    for link in range(hours.on.shape[1]):
        hours.lost[s, link] = is_lost_before(rng.stream_key(seed, link, rng.LOSS), first_slot, hours.loss[s, link])
        hours.until[s, link] = first_slot


@kernel
def next_phase(hours, s, link, key, slot):
    """Draw the phase of a link that begins at `slot`, from random stream `key`: a burst (length, level, rise) or a pause (length)."""
    first = 4 * hours.phases[s, link]
    if hours.phases[s, link] == 0:
        mean_on = 0.5 * (ON_MIN_S + ON_MAX_S)
        on = rng.uniform(key, first + 3) < mean_on / (mean_on + OFF_MEAN_S)
    else:
        on = hours.on[s, link] == 0
    if on:
        length_s = ON_MIN_S + (ON_MAX_S - ON_MIN_S) * rng.uniform(key, first)
        level_us = 1000.0 * hours.bad_level_ms[s, link] * math.exp(LEVEL_LOG_SD * rng.normal(key, first + 1))
        rise_s = RISE_MIN_S + (RISE_MAX_S - RISE_MIN_S) * rng.uniform(key, first + 2)
        hours.burst_level_us[s, link] = int(level_us)
        hours.rise_us[s, link] = int(level_us / (rise_s * _SLOTS_PER_S)) + 1
    else:
        length_s = -OFF_MEAN_S * math.log(1.0 - rng.uniform(key, first))
    hours.phases[s, link] += 1
    hours.on[s, link] = 1 if on else 0
    hours.until[s, link] = slot + max(1, int(length_s * _SLOTS_PER_S))


@kernel
def _add_burst(hours, s, link, rising, x, row_us):
    level, step = (hours.burst_level_us[s, link], hours.rise_us[s, link]) if rising else (0, -DRAIN_US_PER_SLOT)
    before_us = hours.burst_us[s, link]
    for i in range(row_us.size):
        value_us = before_us + step * (i + 1)
        value_us = min(level, value_us) if rising else max(level, value_us)
        varied_us = np.float32(value_us) * (_ONE + _FAST_SHARE * max(-_ONE, min(_ONE, x[i])))
        row_us[i] = min(np.int32(row_us[i] + np.int32(varied_us + _HALF)), _MAX_LINK_US)
    last_us = before_us + step * row_us.size
    hours.burst_us[s, link] = min(level, last_us) if rising else max(level, last_us)


@kernel
def bad_hours_row(hours, s, link, seed, first_slot, x, row_us):
    """Add bursts and losses of one block to the row of a link, phase by phase; the blocks of a link follow each other without gaps.

    `x`, float32 (BLOCK_SLOTS,), is the queueing of the link as standard normal values. `row_us`, int32 (BLOCK_SLOTS,), its delay, 0 to
    MAX_LINK_US, to which bursts and lost bits are added.
    """
    losses = rng.stream_key(seed, link, rng.LOSS)
    begin = 0
    while begin < BLOCK_SLOTS:
        slot, end_slot = first_slot + begin, first_slot + BLOCK_SLOTS
        bad = hours.bad_from[s, link] <= slot < hours.bad_to[s, link]
        if bad:
            if slot >= hours.until[s, link]:
                next_phase(hours, s, link, rng.stream_key(seed, link, rng.BURST), slot)
            end_slot = min(end_slot, hours.bad_to[s, link], hours.until[s, link])
        elif slot < hours.bad_from[s, link] < hours.bad_to[s, link]:
            end_slot = min(end_slot, hours.bad_from[s, link])
        end = end_slot - first_slot
        stretch_us = row_us[begin:end]
        rising = bad and hours.on[s, link] == 1
        # A burst also drains after its phase, and after its bad hour.
        if rising or hours.burst_us[s, link] > 0:
            _add_burst(hours, s, link, rising, x[begin:end], stretch_us)
        chance = hours.loss[s, link]
        if bad:
            chance = LOSS_ON if rising else LOSS_OFF
        if chance > 0.0 or hours.lost[s, link] == 1:  # a run may outlast the bad hour in which it began
            hours.lost[s, link] = lose(hours.lost[s, link], losses, slot, chance, hours.loss_run[s, link], stretch_us)
        begin = end
