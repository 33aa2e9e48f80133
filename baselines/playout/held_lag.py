"""A lag rule that waits for overtaken packets: after a change to a faster path it keeps the lag high for some time.

Packets of the old path are still in flight when the first packet of a faster path arrives. The watermark, one lag behind this newest
packet, discards them as late although the player could still play them. So, when a packet newer than all before it arrives over another
path with a smaller delay,

    held delay = one-way delay of the newest packet before it + margin_ms, for hold_ms from its arrival

and during that hold

    lag = max(lag of the inner rule, held delay - minimum delay of the last 2000 ms)

which is the lag that plays at sent time + held delay (`adaptive_ewma.py`). The minimum delay is a packet's delay minus its accumulated
jitter (`jitter_window.py`). A change to another faster path during the hold restarts it with the larger of both held delays. The inner
rule is updated with every packet as usual.

Our own rule. The 250 ms and 15 ms were tuned on training worlds of scenario wonderproxy, mode correlated.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from vcgym.baselines.playout.jitter_window import JitterWindow, accumulated_jitter
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, buffer_type, decide, init, record, records, require_rule, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.record import restart
from vcgym.network.kernels.slots import microseconds
from vcgym.network.playout.receiver import WATERMARK


@rule(Control.PLAYOUT)
class HeldLag(NamedTuple):
    """Parameters; `lag` is any lag rule."""

    lag: Any = WMJitter()
    hold_ms: Annotated[float, (0.0, 1e4)] = 250.0
    margin_ms: Annotated[float, (0.0, 1e4)] = 15.0


@record
class Hold:
    path: int = -1  # path of the newest packet; -1 before the first
    newest_us: int = -1  # sent time of the newest packet
    delay_us: int = 0  # delay of the newest packet
    now_us: int = 0  # last arrival
    min_delay_us: int = 0  # minimum delay of the last 2000 ms
    until_us: int = -1  # end of the hold
    held_delay_us: int = 0
    window: JitterWindow = JitterWindow()


_START = records(Hold, 1)


class HeldLagState(NamedTuple):
    lag: Any  # state of the inner rule
    hold: np.recarray  # (sessions,) of Hold


@allocate.register(HeldLag)
def _allocate(params, sessions, paths):
    require_rule("lag", params.lag, Control.PLAYOUT)
    if buffer_type(params.lag) != WATERMARK:
        raise ValueError(f"lag = {params.lag!r}: allowed are rules that decide a lag, not the target of a count buffer")
    require_within(params)
    return HeldLagState(allocate(params.lag, sessions, paths), records(Hold, sessions))


@init.register(HeldLag)
def _init(params, state, s, start, key):
    init(params.lag, state.lag, s, start, key)
    restart(state.hold[s : s + 1], _START)


@update.register(HeldLag)
def _update(params, state, s, record):
    update(params.lag, state.lag, s, record)
    if record.kind != MEDIA:
        return
    hold = state.hold[s]
    delay_us = record.arrived_us - record.sent_us
    hold.now_us = record.arrived_us
    hold.min_delay_us = delay_us - max(0, accumulated_jitter(hold.window, record.sent_us, record.arrived_us))
    if record.sent_us <= hold.newest_us:
        return
    if hold.path >= 0 and record.path != hold.path and delay_us < hold.delay_us:
        before_us = hold.held_delay_us if hold.now_us < hold.until_us else 0
        hold.held_delay_us = max(before_us, hold.delay_us + microseconds(params.margin_ms))
        hold.until_us = hold.now_us + microseconds(params.hold_ms)
    hold.path = record.path
    hold.newest_us = record.sent_us
    hold.delay_us = delay_us


@decide.register(HeldLag)
def _decide(params, state, s, now_us):
    hold = state.hold[s]
    lag_us = decide(params.lag, state.lag, s, now_us)
    return max(lag_us, hold.held_delay_us - hold.min_delay_us) if hold.now_us < hold.until_us else lag_us
