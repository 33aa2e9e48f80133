"""Adaptive playout by an exponential average (Ramjee, Kurose, Towsley, Schulzrinne, INFOCOM 1994, algorithm 1).

For each arriving packet with one-way delay n, late or not,

    d <- alpha d + (1 - alpha) n,   v <- alpha v + (1 - alpha) |d - n|,   playout time = sent time + d + 4 v

A lag is relative to the minimum delay: a player with lag L plays at sent time + minimum delay + L. So

    lag = max(0, d + 4 v - minimum delay of the last 2000 ms)

With this lag the clocked player plays exactly at d + 4 v. The watermark, one lag behind the newest packet, never passes that playout time:
a packet is emitted at the first arrival that proves it due. A lag is a difference of delays, so clocks need not be synchronised. Initially
d is the first delay, and v gives NetEQ's lag of 80 ms; the paper does not specify this.

Left out: a constant playout delay within a talkspurt. A call here is one talkspurt, and the player limits its own rate of change.
"""

from typing import Annotated, NamedTuple

from vcgym.baselines.playout.jitter_window import NO_JITTER, JitterWindow, accumulated_jitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, record, rule
from vcgym.network.kernels.slots import microseconds


@record
class Call:
    window: JitterWindow = JitterWindow()
    mean_ms: float = 0.0  # d
    deviation_ms: float = 0.0  # v
    lag_us: int = 0


@rule(Control.PLAYOUT, call=Call)
class AdaptiveEwma(NamedTuple):
    alpha: Annotated[float, (0.0, 1.0)] = 0.998002
    deviations: Annotated[float, (0.1, 100.0)] = 4.0
    start_lag_ms: Annotated[float, (0.0, 1e4)] = 80.0

    def init(self, call, start, key):
        call.deviation_ms = self.start_lag_ms / self.deviations
        call.lag_us = microseconds(self.start_lag_ms)

    def update(self, call, record):
        if record.kind != MEDIA:
            return
        delay_ms = (record.arrived_us - record.sent_us) / 1000.0
        jitter_us = accumulated_jitter(call.window, record.sent_us, record.arrived_us)
        if jitter_us == NO_JITTER:
            call.mean_ms = delay_ms
            return
        call.mean_ms = self.alpha * call.mean_ms + (1.0 - self.alpha) * delay_ms
        call.deviation_ms = self.alpha * call.deviation_ms + (1.0 - self.alpha) * abs(call.mean_ms - delay_ms)
        playout_delay_ms = call.mean_ms + self.deviations * call.deviation_ms
        call.lag_us = max(0, microseconds(playout_delay_ms - (delay_ms - jitter_us / 1000.0)))

    def decide(self, call, now_us):
        return call.lag_us
