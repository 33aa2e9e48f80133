"""WMJitter that resets the jitter window, but not the histogram, when the path changes.

The accumulated jitter is a packet's delay above the minimum delay of 2000 ms. After a change to a slower path that minimum is the old
path's for two seconds, during which the difference of the two paths counts as jitter and raises the lag, though no packet is out of order.
Here the first newest packet over another path empties the window. Like the first packet of a call it has no jitter, and the lag stays the
same for it. Later arrivals over the previous path count as reordered packets.

Our own variant; everything else is `wmjitter.py`. Packets are emitted sooner, so a player of constant pace misses them more often.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.playout.jitter_window import reset_window
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, rule, update


@rule(Control.PLAYOUT)
class WMJitterReset(NamedTuple):
    """Parameters."""

    lag: WMJitter = WMJitter()


STAY = np.dtype((np.record, [("path", "i8"), ("newest_us", "i8")]))  # path in use, -1 before the first packet; newest sent time


class WMJitterResetState(NamedTuple):
    """State; first axis: session."""

    lag: np.recarray  # of LAG
    stay: np.recarray  # (sessions,) of STAY


@allocate.register(WMJitterReset)
def _allocate(params, sessions, paths):
    return WMJitterResetState(allocate(params.lag, sessions, paths), np.zeros(sessions, STAY).view(np.recarray))


@init.register(WMJitterReset)
def _init(params, state, s, start, key):
    init(params.lag, state.lag, s, start, key)
    state.stay[s].path = -1
    state.stay[s].newest_us = -1


@update.register(WMJitterReset)
def _update(params, state, s, record):
    stay = state.stay[s]
    if record.kind == MEDIA and record.sent_us > stay.newest_us:
        stay.newest_us = record.sent_us
        if record.path != stay.path:
            stay.path = record.path
            reset_window(state.lag[s].window)
    update(params.lag, state.lag, s, record)


@decide.register(WMJitterReset)
def _decide(params, state, s, now_us):
    return decide(params.lag, state.lag, s, now_us)
