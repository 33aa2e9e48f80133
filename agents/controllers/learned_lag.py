"""A learned lag: a small network at the receiver that sets, at each arrival, how long the receiver waits for packets.

    x       features of the arrival (`vcgym.agents.controllers.arrival_features`)
    h       = relu(W1 x + b1),   g = relu(W2 h + b2)
    target  = newest delay + 20 ms softplus(w3 g + b3)
    P       = playout delay of the player under the targets so far (`vcgym.baselines.playout.playout_delay`)
    lag     = max(target, P) - smallest delay of the last 2 s

The lag covers at least P, so the watermark never discards a packet, overtaken at a change of path, that the player could still
play. Our own design; `vcgym.agents.inside` trains the weights by the reward of calls, the laboratory also by gradients through a player.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.controllers.arrival_features import UNIT_MS, WIDTH, Arm, Arrivals, take_arrival
from vcgym.agents.controllers.policy import LAYERS, policy, require_network
from vcgym.baselines.playout.jitter_window import JitterWindow, accumulated_jitter
from vcgym.baselines.playout.playout_delay import followed_ms
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import microseconds

START_LAG_US = 80_000  # until the first arrival: NetEQ's start delay


@record
class Call:
    """State of a call."""

    window: JitterWindow
    seen: Arrivals
    target_ms: float = 0.0
    smallest_ms: float = 0.0  # delay of the last 2 s
    playout_ms: float = 0.0  # P
    lag_us: int = START_LAG_US


@policy
@rule(Control.PLAYOUT, learned=True, call=Call, arms=Rows(Arm), x=Rows(np.float32, WIDTH), layers=LAYERS)
class LearnedLag(NamedTuple):
    """Parameters: float32 weights; the last row of each layer is its bias."""

    first: NDArray[np.float32]  # (WIDTH + 1, hidden)
    second: NDArray[np.float32]  # (hidden + 1, hidden)
    last: NDArray[np.float32]  # (hidden + 1,)

    def check(self):
        require_network(self, WIDTH)

    def init(self, call, arms, x, layers, start, key):
        set_history(arms, start)

    def observe(self, call, arms, x, layers, record):
        if record.kind != MEDIA:
            return False
        take_in(call, arms, x, record)
        return True

    def act(self, call, arms, x, layers, out, now_us):
        set_target(call, call.seen.delay_ms + headroom_ms(out))

    def answer(self, call, arms, x, layers):
        return call.lag_us


@kernel
def set_history(arms, start):
    """Set the delays before the call."""
    for path in range(arms.size):
        arms[path].mean_ms = start.mean_ms[path]
        arms[path].sd_ms = start.sd_ms[path]


@kernel
def take_in(call, arms, x, record):
    """Take an arrival in: update the statistics and P, and write the features.

    Args:
        call: Call, updated.
        arms: (paths,) of Arm, updated.
        x: float32 (WIDTH,), written.
        record: the media packet.
    """
    seen = call.seen
    passed_ms = (record.arrived_us - seen.arrived_us) / 1000.0
    jitter_us = max(0, accumulated_jitter(call.window, record.sent_us, record.arrived_us))
    overtaken = record.sent_us < seen.newest_us
    take_arrival(seen, arms, record, jitter_us, x)
    delay_ms = (record.arrived_us - record.sent_us) / 1000.0
    call.playout_ms = followed_ms(call.playout_ms, call.target_ms, passed_ms, delay_ms, overtaken)
    call.smallest_ms = delay_ms - jitter_us / 1000.0


@kernel
def headroom_ms(out):
    """Return the target above the newest delay for an output of the network."""
    return UNIT_MS * (max(out, 0.0) + math.log1p(math.exp(-abs(out))))


@kernel
def set_target(call, target_ms):
    """Set the player's target, and the lag that covers it and the player's delay."""
    call.target_ms = target_ms
    call.lag_us = max(0, microseconds(max(call.playout_ms, target_ms) - call.smallest_ms))
