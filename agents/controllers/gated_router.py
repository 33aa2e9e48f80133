"""A learned router with two sets of prices, blended by how rough the delays are.

    rough   = mean step from packet to packet / mean deviation, of the last 100 packets on one path; unknown before 100 packets
    g       = 0 below 0.5, 1 above 0.7, linear between; 1 while unknown
    prices  = smooth + g (rough set - smooth set)

Delays that follow each other smoothly (below 0.5) are worth a change of path, independent ones (above 1) hardly ever are. One set of prices
for both loses on one of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.learned_router import MEAN_PACKETS, NUMBERS, Arm, Call, begin_paths, change_path, learn
from vcgym.baselines.rule import Control, Rows, rule
from vcgym.network.kernels.jit import kernel

SMOOTH, ROUGH = 0.5, 0.7  # 10 to 90 % of validation calls: correlated and 5G 0.05 to 0.5, mode paper 1.0 to 1.5, satellites 0.6 to 1.0
KNOWN_PACKETS = MEAN_PACKETS + 100  # as the router counts them


@rule(Control.PATH, learned=True, call=Call, arms=Rows(Arm), prices=Rows(np.float64, NUMBERS))  # prices: in force
class GatedRouter(NamedTuple):
    """Parameters."""

    prices: NDArray[np.float64]  # (2, NUMBERS) of `LearnedRouter`: of smooth delays, of rough ones

    def check(self):
        if self.prices.shape != (2, NUMBERS) or not np.isfinite(self.prices).all():
            raise ValueError(f"prices have shape {self.prices.shape}: allowed is {(2, NUMBERS)}, of finite numbers")

    def init(self, call, arms, prices, start, key):
        begin_paths(call, arms, start)
        _blend(self, call, prices)

    def update(self, call, arms, prices, record):
        learn(prices, call, arms, record)
        _blend(self, call, prices)

    def decide(self, call, arms, prices, now_us):
        return change_path(prices, call, arms, now_us)


@kernel
def _blend(params, call, prices):
    known = call.packets >= KNOWN_PACKETS
    gate = min(max((call.step_ms / call.spread_ms - SMOOTH) / (ROUGH - SMOOTH), 0.0), 1.0) if known else 1.0
    for i in range(NUMBERS):
        prices[i] = params.prices[0, i] + gate * (params.prices[1, i] - params.prices[0, i])
