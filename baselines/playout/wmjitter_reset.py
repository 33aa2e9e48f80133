"""WMJitter that resets the jitter window, but not the histogram, when the path changes.

The accumulated jitter is a packet's delay above the minimum delay of 2000 ms. After a change to a slower path that minimum is the old
path's for two seconds, during which the difference of the two paths counts as jitter and raises the lag, though no packet is out of order.
Here the first newest packet over another path empties the window. Like the first packet of a call it has no jitter, and the lag stays the
same for it. Later arrivals over the previous path count as reordered packets.

Our own variant; everything else is `wmjitter.py`. Packets are emitted sooner, so a player of constant pace misses them more often.
"""

from typing import NamedTuple

from vcgym.baselines.playout.jitter_window import empty_window
from vcgym.baselines.playout.wmjitter import Lag, WMJitter, learn_lag, start_lag
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, record, rule
from vcgym.network.kernels.slots import microseconds


@record
class Stay:
    path: int = -1  # in use; -1 before the first packet
    newest_us: int = -1  # newest sent time


@rule(Control.PLAYOUT, lag=Lag, stay=Stay)
class WMJitterReset(NamedTuple):
    lag: WMJitter = WMJitter()

    def init(self, lag, stay, start, key):
        start_lag(self.lag, lag, microseconds(self.lag.start_lag_ms))

    def update(self, lag, stay, record):
        if record.kind == MEDIA and record.sent_us > stay.newest_us:
            stay.newest_us = record.sent_us
            if record.path != stay.path:
                stay.path = record.path
                empty_window(lag)
        learn_lag(self.lag, lag, record)

    def decide(self, lag, stay, now_us):
        return lag.lag_us
