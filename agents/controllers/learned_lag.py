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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.arrival_features import ARRIVALS, UNIT_MS, WIDTH, forget_arrivals, take_arrival
from vcgym.agents.controllers.policy import act, answer, observe, policy, require_network
from vcgym.baselines.playout.jitter_window import EMPTY_WINDOW, JitterWindow, accumulated_jitter
from vcgym.baselines.playout.playout_delay import followed_ms
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, init, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import records, restart
from vcgym.network.kernels.slots import microseconds

START_LAG_MS = 80.0  # NetEQ's start delay


@policy
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
    smallest_ms: NDArray[np.float64]  # delay of the last 2 s
    playout_ms: NDArray[np.float64]  # P
    lag_us: NDArray[np.int64]


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


@observe.register(LearnedLag)
def _observe(params, state, s, record):
    if record.kind != MEDIA:
        return False
    state.smallest_ms[s] = take_in(state, s, record)
    return True


@act.register(LearnedLag)
def _act(params, state, s, out, now_us):
    set_target(state, s, state.seen[s].delay_ms + headroom_ms(out), state.smallest_ms[s])


@answer.register(LearnedLag)
def _answer(params, state, s):
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
