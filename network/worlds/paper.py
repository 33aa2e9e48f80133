"""Mode `paper`: independent draws per packet and link, the round-trip time used as one-way delay, no ordering constraint.

The authors' own packet log shows this model: min/mean/max/deviation of one ping burst, expanded to 30,000 independent Beta draws. Packets
overtake each other as often as the spread allows. This dominates every result about reordering, so each result names its mode.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels import rng
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.worlds.losses import MAX_RUN, is_lost_before, lose
from vcgym.network.worlds.model import Param, State, begin, model, sample_links, settle
from vcgym.network.worlds.quantiles import TABLE_POINTS, draw_row, refuse_disorder
from vcgym.network.worlds.world import LOST_BIT, MAX_LINK_US, MIN_DELAY_US

_HALF = np.float32(0.5)
_LOST, _LOST_BIT, _MIN_DELAY_US = np.int32(LOST), np.int32(LOST_BIT), np.int32(MIN_DELAY_US)


def _table_us(quantiles_ms: NDArray[np.float64]) -> NDArray[np.float64]:
    refuse_disorder("quantiles_ms", quantiles_ms)
    return 1000.0 * quantiles_ms


@model(
    quantiles_us=Param(0.0, MAX_LINK_US / 1000.0, given="quantiles_ms", store=_table_us, dtype=np.float32, shape=(TABLE_POINTS,)),
    loss=Param(0.0, 1.0),
    loss_run=Param(1.0, MAX_RUN, 1.0),
    lost=State(np.int64),
)
class Paper(NamedTuple):
    """Links with independent draws.

    A sampled world has, for each link: quantiles_ms, at `quantiles.PROBABILITIES`; loss, 0 to 1; and loss_run, L of
    `vcgym.network.worlds.losses`, default 1.
    """


@begin.register(Paper)
def _begin(model, rows, s, first_slot):
    for link in range(rows.loss.shape[1]):
        rows.lost[s, link] = is_lost_before(rng.stream_key(rows.seed[s], link, rng.LOSS), first_slot, rows.loss[s, link])


@sample_links.register(Paper)
def _sample_links(model, rows, s, first_slot, scratch, link_us):
    for link in range(link_us.shape[0]):
        draws_us = scratch[link]
        draw_row(rows.quantiles_us[s, link], rng.stream_key(rows.seed[s], link, rng.QUEUEING), first_slot, draws_us)
        for i in range(BLOCK_SLOTS):
            link_us[link, i] = np.int32(draws_us[i] + _HALF)
        chance = rows.loss[s, link]
        if chance > 0.0:
            losses = rng.stream_key(rows.seed[s], link, rng.LOSS)
            rows.lost[s, link] = lose(rows.lost[s, link], losses, first_slot, chance, rows.loss_run[s, link], link_us[link])


@settle.register(Paper)
def _settle(model, rows, s, first_slot, out):
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[p, i] = _LOST if out[p, i] >= _LOST_BIT else max(out[p, i], _MIN_DELAY_US)
