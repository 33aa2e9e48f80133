"""A lag rule that waits for what is overtaken: after a change to a faster path its lag is held up for some time.

Packets of the old path are still on their way when the first one of a faster path arrives. The watermark then stands a lag behind that
newest packet, and they are discarded as late although the player could still play them. So, at a packet newer than all before it that came
by another path in less time,

    held delay = one-way delay of the newest packet before it + margin_ms, for hold_ms from its arrival

and as long as that lasts

    lag = max(lag of the rule within, held delay - least delay of the last 2000 ms)

which is the lag that plays at sent time + held delay (`adaptive_ewma.py`). The least delay is a packet's delay less its accumulated jitter
(`jitter_window.py`). A change to another faster path while it lasts begins it anew with the larger of both held delays. The rule within
learns of every packet and decides as ever.

Ours. The 250 ms and 15 ms were found on training worlds of scenario wonderproxy, mode correlated.
"""

from typing import Any, NamedTuple

import numpy as np

from vcgym.baselines.receivers.jitter_window import JITTER_WINDOW, accumulated_jitter, reset_window
from vcgym.baselines.receivers.wmjitter import WMJitter
from vcgym.baselines.records import PROBE
from vcgym.baselines.rule import Control, allocate, decide, init, require_rule, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds


@rule(Control.LAG)
class HeldLag(NamedTuple):
    """Parameters; `lag` is any rule of the lag."""

    lag: Any = WMJitter()
    hold_ms: float = 250.0
    margin_ms: float = 15.0


HOLD = np.dtype(
    (
        np.record,
        [
            ("path", "i8"),  # of the newest packet, -1 before the first
            ("newest_us", "i8"),  # its sent time
            ("delay_us", "i8"),  # and its delay
            ("now_us", "i8"),  # the last arrival
            ("min_delay_us", "i8"),  # of the last 2000 ms
            ("until_us", "i8"),  # end of the hold
            ("held_delay_us", "i8"),
            ("window", JITTER_WINDOW),
        ],
    )
)


class HeldLagState(NamedTuple):
    """The first axis is the session."""

    lag: Any  # state of the rule within
    hold: np.recarray  # (sessions,) of HOLD


@allocate.register(HeldLag)
def _allocate(params, sessions, paths):
    require_rule("lag", params.lag, Control.LAG)
    require_within(params, hold_ms=(0.0, 1e4), margin_ms=(0.0, 1e4))
    return HeldLagState(allocate(params.lag, sessions, paths), np.zeros(sessions, HOLD).view(np.recarray))


@init.register(HeldLag)
def _init(params, state, s, start, key):
    init(params.lag, state.lag, s, start, key)
    hold = state.hold[s]
    hold.path = -1
    hold.newest_us = -1
    hold.until_us = -1
    reset_window(hold.window)


@update.register(HeldLag)
def _update(params, state, s, record):
    update(params.lag, state.lag, s, record)
    if record.kind == PROBE:
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
