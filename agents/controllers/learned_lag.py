"""A learned lag: a small network at the receiver that sets, at each arrival, how long the receiver waits for packets.

    x       features of the arrival (`vcgym.agents.controllers.arrival_features`)
    h       = relu(W1 x + b1),   g = relu(W2 h + b2)
    target  = newest delay + 20 ms softplus(w3 g + b3)
    P       = playout delay of the player under the targets so far (`vcgym.baselines.playout.playout_delay`)
    lag     = max(target, P) - smallest delay of the last 2 s

The lag covers at least P, so the watermark never discards a packet, overtaken at a change of path, that the player could still
play. Our own design; `lab.learners.lag_learner` trains the weights.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.arrival_features import ARRIVALS, UNIT_MS, WIDTH, forget_arrivals, take_arrival
from vcgym.baselines.playout.jitter_window import EMPTY_WINDOW, JitterWindow, accumulated_jitter
from vcgym.baselines.playout.playout_delay import followed_ms
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import records, restart
from vcgym.network.kernels.slots import microseconds

START_LAG_MS = 80.0  # NetEQ's start delay


@rule(Control.PLAYOUT, learned=True)
class LearnedLag(NamedTuple):
    """Parameters: float32 weights; the last row of each layer is its bias."""

    first: NDArray[np.float32]  # (WIDTH + 1, hidden)
    second: NDArray[np.float32]  # (hidden + 1, hidden)
    last: NDArray[np.float32]  # (hidden + 1,)


class LearnedLagState(NamedTuple):
    """State; the first axis is the session."""

    window: np.recarray  # of JitterWindow
    seen: np.recarray  # dtype ARRIVALS
    path_minimum_ms: NDArray[np.float64]  # (sessions, paths)
    history: NDArray[np.float64]  # (sessions, paths, 2)
    x: NDArray[np.float32]  # (sessions, WIDTH)
    layers: NDArray[np.float32]  # (sessions, 2, hidden)
    target_ms: NDArray[np.float64]
    playout_ms: NDArray[np.float64]  # P
    lag_us: NDArray[np.int64]


def require_network(params: Any, width: int) -> int:
    """Return the number of hidden units of a rule's network (`first`, `second`, `last`) for `width` features.

    Raises:
        ValueError: the layers do not fit together, or a number of the rule is not finite.
    """
    hidden = int(params.first.shape[-1]) if params.first.ndim else 0
    if params.first.shape != (width + 1, hidden) or params.second.shape != (hidden + 1, hidden) or params.last.shape != (hidden + 1,):
        shapes = params.first.shape, params.second.shape, params.last.shape
        raise ValueError(f"weights have shapes {shapes}: allowed are ({width + 1}, h), (h + 1, h) and (h + 1,)")
    if not all(np.isfinite(layer).all() for layer in params):
        raise ValueError("weights have a value that is not finite; allowed are finite ones")
    return hidden


@allocate.register(LearnedLag)
def _allocate(params, sessions, paths):
    hidden = require_network(params, WIDTH)
    return LearnedLagState(
        records(JitterWindow, sessions),
        np.zeros(sessions, ARRIVALS).view(np.recarray),
        np.full((sessions, paths), np.inf),
        np.zeros((sessions, paths, 2)),
        np.zeros((sessions, WIDTH), np.float32),
        np.zeros((sessions, 2, hidden), np.float32),
        np.zeros(sessions),
        np.zeros(sessions),
        np.zeros(sessions, np.int64),
    )


@init.register(LearnedLag)
def _init(params, state, s, start, key):
    restart(state.window[s : s + 1], EMPTY_WINDOW)
    forget_arrivals(state.seen[s])
    for path in range(state.history.shape[1]):
        state.path_minimum_ms[s, path] = math.inf
        state.history[s, path, 0] = start.mean_ms[path]
        state.history[s, path, 1] = start.sd_ms[path]
    state.target_ms[s] = 0.0
    state.playout_ms[s] = 0.0
    state.lag_us[s] = microseconds(START_LAG_MS)


@update.register(LearnedLag)
def _update(params, state, s, record):
    if record.kind == MEDIA:
        smallest_ms = take_in(state, s, record)
        aim(state, s, output(params, state.x[s], state.layers[s]), smallest_ms)


@decide.register(LearnedLag)
def _decide(params, state, s, now_us):
    return state.lag_us[s]


@kernel
def take_in(state, s, record):
    """Take an arrival in: write the features and P; return the smallest delay (ms) of the last 2 s.

    Args:
        state: LearnedLagState; row `s` is updated.
        s: int64, row.
        record: the media packet.
    """
    seen = state.seen[s]
    passed_ms = (record.arrived_us - seen.arrived_us) / 1000.0
    jitter_us = max(0, accumulated_jitter(state.window[s], record.sent_us, record.arrived_us))
    overtaken = record.sent_us < seen.newest_us
    take_arrival(seen, state.path_minimum_ms[s], state.history[s], record, jitter_us, state.x[s])
    delay_ms = (record.arrived_us - record.sent_us) / 1000.0
    state.playout_ms[s] = followed_ms(state.playout_ms[s], state.target_ms[s], passed_ms, delay_ms, overtaken)
    return delay_ms - jitter_us / 1000.0


@kernel
def aim(state, s, out, smallest_ms):
    """Set target and lag.

    Args:
        state: LearnedLagState; row `s` is updated.
        s: int64, row.
        out: float32, output of the network, before the softplus.
        smallest_ms: smallest delay of the last 2 s.
    """
    set_target(state, s, state.seen[s].delay_ms + headroom_ms(out), smallest_ms)


@kernel
def headroom_ms(out):
    """Return the target above the newest delay for an output of the network."""
    return UNIT_MS * (max(out, 0.0) + math.log1p(math.exp(-abs(out))))


@kernel
def set_target(state, s, target_ms, smallest_ms):
    """Set the target, and the lag that covers it and the player's delay.

    Args:
        state: LearnedLagState; row `s` is updated.
        s: int64, row.
        target_ms: float64, of the player.
        smallest_ms: smallest delay of the last 2 s.
    """
    state.target_ms[s] = target_ms
    state.lag_us[s] = max(0, microseconds(max(state.playout_ms[s], target_ms) - smallest_ms))


@kernel
def output(params, x, layers):
    """Return the output of the network for features `x` (WIDTH,), before the softplus; `layers` (2, hidden) is overwritten."""
    _layer(params.first, x, layers[0])
    _layer(params.second, layers[0], layers[1])
    out = params.last[layers.shape[1]]
    for j in range(layers.shape[1]):
        out += params.last[j] * layers[1, j]
    return out


@kernel
def _layer(weights, x, out):
    """Write relu(x weights + bias) into `out`."""
    for j in range(out.size):
        out[j] = weights[x.size, j]
    for i in range(x.size):
        for j in range(out.size):
            out[j] += weights[i, j] * x[i]
    for j in range(out.size):
        out[j] = max(out[j], np.float32(0.0))
