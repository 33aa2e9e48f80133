"""Effect of an agent's decisions for playout: a headroom, the playout delay above the newest packet's delay.

A lag is relative to the minimum delay of the last 2 s, which the agent may not know; a headroom is relative to arrivals. At each arrival

    target = delay of the newest packet + headroom in force
    P      = playout delay of the player under the targets so far (`vcgym.baselines.playout.playout_delay`)
    lag    = max(target, P) - minimum delay of the last 2 s

The receiver does the conversion, so a command stays valid if the delay changes while it is in flight.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.from_agent import level_at
from vcgym.baselines.playout.jitter_window import JitterWindow, accumulated_jitter, empty_window
from vcgym.baselines.playout.playout_delay import followed_ms
from vcgym.baselines.rule import allocate, init
from vcgym.network.kernels.slots import microseconds


class Headroom(NamedTuple):
    """Effect: a decision is the headroom."""


PACED = np.dtype(
    (
        np.record,
        [
            ("window", JitterWindow),
            ("newest_us", "i8"),  # newest sent time
            ("arrived_us", "i8"),  # last arrival
            ("delay_ms", "f8"),  # delay of the newest packet
            ("target_ms", "f8"),
            ("playout_ms", "f8"),  # P
        ],
    )
)


@allocate.register(Headroom)
def _allocate(params, sessions, paths):
    return np.zeros(sessions, PACED).view(np.recarray)


@init.register(Headroom)
def _init(params, state, s, start, key):
    paced = state[s]
    empty_window(paced)
    paced.newest_us = -1
    paced.arrived_us = 0
    paced.delay_ms = paced.target_ms = paced.playout_ms = 0.0


@level_at.register(Headroom)
def _level_at(params, state, s, record, decided_us):
    paced = state[s]
    delay_us = record.arrived_us - record.sent_us
    smallest_us = delay_us - max(0, accumulated_jitter(paced.window, record.sent_us, record.arrived_us))
    passed_ms = (record.arrived_us - paced.arrived_us) / 1000.0
    overtaken = record.sent_us < paced.newest_us
    paced.playout_ms = followed_ms(paced.playout_ms, paced.target_ms, passed_ms, delay_us / 1000.0, overtaken)
    paced.arrived_us = record.arrived_us
    if not overtaken:
        paced.newest_us = record.sent_us
        paced.delay_ms = delay_us / 1000.0
    paced.target_ms = paced.delay_ms + decided_us / 1000.0
    return max(0, microseconds(max(paced.target_ms, paced.playout_ms)) - smallest_us)
