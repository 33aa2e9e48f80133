"""A learned lag with a memory: its network also sees a few numbers that it keeps from arrival to arrival.

With x the features of an arrival, as in `vcgym.agents.controllers.learned_lag`, which gives all that is not here,

    z       = sigmoid(W x + b)                  how much each unit takes in
    h       = (1 - z) h + z (V x + c)           0 at the start of a call
    target  = newest delay + 20 ms softplus(network of x and h)

This is the minimal GRU (Feng et al. 2024, arXiv 2410.01201, section 3.1.3): no gate reads h, so the gradient through a whole call needs one
pass back over its arrivals. `vcgym.agents.inside` trains the weights.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.arrival_features import WIDTH
from vcgym.agents.controllers.learned_lag import LearnedLag, aim, output, require_network, take_in
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel


@rule(Control.PLAYOUT, learned=True)
class RecurrentLag(NamedTuple):
    """Parameters: float32 weights; the last row of each layer is its bias. The state is that of `LearnedLag`, with h after the features."""

    first: NDArray[np.float32]  # (WIDTH + units + 1, hidden)
    second: NDArray[np.float32]  # (hidden + 1, hidden)
    last: NDArray[np.float32]  # (hidden + 1,)
    gates: NDArray[np.float32]  # (WIDTH + 1, units), W and b
    taken: NDArray[np.float32]  # (WIDTH + 1, units), V and c


@allocate.register(RecurrentLag)
def _allocate(params, sessions, paths):
    units = params.gates.shape[-1]
    if not params.gates.shape == params.taken.shape == (WIDTH + 1, units):
        raise ValueError(f"gates and taken have shapes {params.gates.shape}, {params.taken.shape}: allowed is ({WIDTH + 1}, n) for both")
    require_network(params, WIDTH + units)
    state = allocate(LearnedLag(params.first[units:], params.second, params.last), sessions, paths)
    return state._replace(x=np.zeros((sessions, WIDTH + units), np.float32))


@init.register(RecurrentLag)
def _init(params, state, s, start, key):
    init(LearnedLag(params.first, params.second, params.last), state, s, start, key)
    state.x[s, WIDTH:] = 0.0


@update.register(RecurrentLag)
def _update(params, state, s, record):
    if record.kind == MEDIA:
        smallest_ms = take_in(state, s, record)
        remember(params, state.x[s])
        aim(state, s, output(params, state.x[s], state.layers[s]), smallest_ms)


@decide.register(RecurrentLag)
def _decide(params, state, s, now_us):
    return state.lag_us[s]


@generic(inlined=True)
def remember(params, x):
    """Update what a lag keeps from arrival to arrival, by default nothing.

    Args:
        params: parameters of a learned lag.
        x: (WIDTH + units,), the features of the arrival and, updated, the memory.
    """


@remember.register(RecurrentLag)
def _remember(params, x):
    _renew(params.gates, params.taken, x)


@kernel
def _renew(gates, taken, x):
    """Update the memory in `x` with the features there."""
    for j in range(gates.shape[1]):
        share = 1.0 / (1.0 + math.exp(-_affine(gates, x, j)))
        x[WIDTH + j] += share * (_affine(taken, x, j) - x[WIDTH + j])


@kernel
def _affine(weights, x, j):
    """Return unit `j` of a layer for the features in `x`."""
    out = weights[WIDTH, j]
    for i in range(WIDTH):
        out += weights[i, j] * x[i]
    return out
