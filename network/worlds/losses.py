"""Losses of a link or path in runs: the Gilbert-Elliott model.

Its good state loses nothing, its bad state everything (Gilbert, Bell System Technical Journal 39, 1960). In each slot the state is
resampled with probability 1 / L, and is then bad with probability p. So the loss is p for every L, and a run of losses has L / (1 - p)
slots on average. L = 1 is independent loss. Measured: after a lost packet the next one on the same path is lost in 70 % of all cases
(Andersen, Snoeren and Balakrishnan, IMC 2003, section 4), a run of 3.3; L = 3 is near.

The draw of a slot is a function of key and slot, so L changes which packets are lost and nothing else of a world.
"""

import numpy as np

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.worlds.world import LOST_BIT

MAX_RUN = 1e9

_LOST_BIT, _NONE = np.int32(LOST_BIT), np.int32(0)


@kernel
def is_lost_before(key, first_slot, chance):
    """Return the state before the first slot of a world, int64: 1 if lost, else 0."""
    return 1 if rng.uniform(key, first_slot - 1) < chance else 0


@kernel
def lose(lost, key, first_slot, chance, run, row_us):
    """Sample the losses of a stretch of slots into `row_us`, int32 (slots,), whose delays get lost bits; stretches follow without gaps.

    `lost` is the state before the first slot, 1 if lost, else 0; `chance` p, the share of lost slots, 0 to 1; `run` L, the mean number of
    slots until the state is resampled, at least 1. Return the state after the last slot, int64.
    """
    if run == 1.0:  # every slot for itself, which takes a third of the time
        for i in range(row_us.size):
            row_us[i] |= _LOST_BIT if rng.uniform(key, first_slot + i) < chance else _NONE
        return is_lost_before(key, first_slot + row_us.size, chance)
    renewed = 1.0 / run
    for i in range(row_us.size):
        u = rng.uniform(key, first_slot + i)
        if u < renewed:
            lost = 1 if u < chance * renewed else 0
        row_us[i] |= _LOST_BIT if lost == 1 else _NONE
    return lost
