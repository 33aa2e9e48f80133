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

from vcgym.agents.controllers.learned_router import MEAN_PACKETS, NUMBERS, LearnedRouter, LearnedRouterState
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel

SMOOTH, ROUGH = 0.5, 0.7  # 10 to 90 % of validation calls: correlated and 5G 0.05 to 0.5, mode paper 1.0 to 1.5, satellites 0.6 to 1.0
KNOWN_PACKETS = MEAN_PACKETS + 100  # as the router counts them


@rule(Control.PATH, learned=True)
class GatedRouter(NamedTuple):
    """Parameters."""

    prices: NDArray[np.float64]  # (2, NUMBERS) of `LearnedRouter`: of smooth delays, of rough ones


class GatedRouterState(NamedTuple):
    """State; the first axis is the session."""

    router: LearnedRouterState
    prices: NDArray[np.float64]  # (sessions, NUMBERS), in force


@allocate.register(GatedRouter)
def _allocate(params, sessions, paths):
    if params.prices.shape != (2, NUMBERS):
        raise ValueError(f"prices have shape {params.prices.shape}: allowed is {(2, NUMBERS)}")
    routers = [allocate(LearnedRouter(prices), sessions, paths) for prices in params.prices]
    return GatedRouterState(routers[0], np.zeros((sessions, NUMBERS)))


@init.register(GatedRouter)
def _init(params, state, s, start, key):
    init(LearnedRouter(state.prices[s]), state.router, s, start, key)
    _blend(params, state, s)


@update.register(GatedRouter)
def _update(params, state, s, record):
    update(LearnedRouter(state.prices[s]), state.router, s, record)
    _blend(params, state, s)


@decide.register(GatedRouter)
def _decide(params, state, s, now_us):
    return decide(LearnedRouter(state.prices[s]), state.router, s, now_us)


@kernel
def _blend(params, state, s):
    call = state.router.call[s]
    known = call.packets >= KNOWN_PACKETS
    gate = min(max((call.step_ms / call.spread_ms - SMOOTH) / (ROUGH - SMOOTH), 0.0), 1.0) if known else 1.0
    for i in range(NUMBERS):
        state.prices[s, i] = params.prices[0, i] + gate * (params.prices[1, i] - params.prices[0, i])
