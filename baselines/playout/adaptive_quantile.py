"""Adaptive playout by a quantile of recent delays (after Moon, Kurose, Towsley, Multimedia Systems 6, 1998).

    lag = the `quantile` of the excess delays of the last `window` packets, in whole ms

The excess delay of a packet, late or not, is its one-way delay above the minimum of the last 2000 ms (the accumulated jitter of
`jitter_window.py`), rounded up to whole ms and clipped at 2000 ms. Excess delays, unlike delays, keep shifts of the base delay or of a
clock out of the quantile. Each packet updates the counts per ms for the packet that enters and the one that leaves the window, and the
quantile moves accordingly.

Left out: the paper's mode for delay spikes, and its restriction to change the playout delay only between talkspurts.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.playout.jitter_window import NO_JITTER, JitterWindow, accumulated_jitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, Rows, record, rule
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import microseconds

MAX_MS = 2000


@record
class Call:
    jitter: JitterWindow = JitterWindow()
    taken: int = 0  # packets so far
    below: int = 0  # packets of the window below the quantile
    lag_ms: int = 0  # the quantile
    lag_us: int = 0


@rule(
    Control.PLAYOUT,
    call=Call,
    excess_ms=Rows(np.int16, lambda params, paths: params.window),  # the window, a ring
    occurs=Rows(np.int32, MAX_MS + 1),  # a histogram of it
)
class AdaptiveQuantile(NamedTuple):
    quantile: Annotated[float, (0.0, 1.0)] = 0.99
    window: Annotated[int, (1, 1_000_000)] = 10_000  # packets, as in the paper
    start_lag_ms: Annotated[float, (0.0, 1e4)] = 80.0  # before the first packet

    def init(self, call, excess_ms, occurs, start, key):
        call.lag_us = microseconds(self.start_lag_ms)

    def update(self, call, excess_ms, occurs, record):
        if record.kind != MEDIA:
            return
        jitter_us = accumulated_jitter(call.jitter, record.sent_us, record.arrived_us)
        newest_ms = 0 if jitter_us == NO_JITTER else min(-(-jitter_us // 1000), MAX_MS)
        _slide(call, excess_ms, occurs, newest_ms)
        count = min(call.taken, excess_ms.size)
        _move_quantile(call, occurs, max(1, math.ceil(self.quantile * count)))
        call.lag_us = 1000 * call.lag_ms

    def decide(self, call, excess_ms, occurs, now_us):
        return call.lag_us


@kernel
def _slide(call, excess_ms, occurs, newest_ms):
    """Add one excess delay to the window; remove the oldest if it is full."""
    index = call.taken % excess_ms.size
    if call.taken >= excess_ms.size:
        gone_ms = excess_ms[index]
        occurs[gone_ms] -= 1
        call.below -= gone_ms < call.lag_ms
    excess_ms[index] = newest_ms
    occurs[newest_ms] += 1
    call.below += newest_ms < call.lag_ms
    call.taken += 1


@kernel
def _move_quantile(call, occurs, wanted):
    """Set the quantile to the smallest ms value that at least `wanted` packets do not exceed."""
    while call.below >= wanted:
        call.lag_ms -= 1
        call.below -= occurs[call.lag_ms]
    while call.below + occurs[call.lag_ms] < wanted:
        call.below += occurs[call.lag_ms]
        call.lag_ms += 1
