"""A router that logs the information available at its location for each packet: training rows for predictors.

It wraps any router rule and runs a sender-side copy of CalculateLag (Algorithm 2 of arXiv 2310.05054) on the media feedback, in order of
feedback. For each departing packet it logs the path and the path's inputs known at that time. Only `oracle_transmit_ms` is the packet's own
delay, which no location knows; therefore the rule is an oracle and never ranked. Probes update the newest delay of a path but not the
jitter, since they are not media, as in VCRoute.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, decide, init, reveal_delay, rule, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records, restart
from vcgym.network.kernels.slots import SLOT_US, slot_at

UNKNOWN = -1.0  # transmit_ms and age_ms of a path without feedback


@rule(Control.PATH, oracle=True)
class LoggingRouter(NamedTuple):
    """Parameters."""

    router: Any  # the rule that routes
    packets: int  # length of the calls
    jitter: WMJitter = WMJitter()


@record
class Note:
    """Log of a packet."""

    transmit_ms: float = 0.0  # one-way delay of the path's newest packet with feedback
    age_ms: float = 0.0  # time since that packet was sent
    lag_ms: float = 0.0  # lag of CalculateLag on the feedback
    diff_ms: float = 0.0  # d of its line 3: difference of delay between the last two packets fed back
    oracle_transmit_ms: float = 0.0  # one-way delay of this packet, UNKNOWN if it is lost


@record
class Feedback:
    """Packets that a call has received."""

    slot: int = 0
    last_us: int = 0
    diff_us: int = 0
    received: int = 0


@record
class Newest:
    """Newest packet of a path with feedback."""

    delay_us: int = 0
    sent_us: int = -1


_NO_FEEDBACK, _NONE = records(Feedback, 1), records(Newest, 1)


class LoggingRouterState(NamedTuple):
    """State; first axis: session."""

    router: Any
    jitter: np.recarray
    call: np.recarray  # (sessions,)
    path: np.recarray  # (sessions, paths)
    notes: NDArray  # (sessions, packets) of Note


@allocate.register(LoggingRouter)
def _allocate(params, sessions, paths):
    return LoggingRouterState(
        allocate(params.router, sessions, paths),
        allocate(params.jitter, sessions, paths),
        records(Feedback, sessions),
        records(Newest, sessions, paths),
        records(Note, sessions, params.packets),
    )


@init.register(LoggingRouter)
def _init(params, state, s, start, key):
    init(params.router, state.router, s, start, key)
    init(params.jitter, state.jitter, s, start, key)
    restart(state.call[s : s + 1], _NO_FEEDBACK)
    restart(state.path[s], _NONE)


@update.register(LoggingRouter)
def _update(params, state, s, record):
    update(params.router, state.router, s, record)
    delay_us = record.arrived_us - record.sent_us
    newest = state.path[s, record.path]
    if record.sent_us > newest.sent_us:
        newest.sent_us = record.sent_us
        newest.delay_us = delay_us
    if record.kind == MEDIA:
        update(params.jitter, state.jitter, s, record)
        # As in Algorithm 2, the difference skips late packets.
        if record.late == 0:
            _difference(state.call[s], delay_us)


@kernel
def _difference(call, delay_us):
    if call.received == 1:
        call.diff_us = delay_us - call.last_us
    call.last_us = delay_us
    call.received = 1


@decide.register(LoggingRouter)
def _decide(params, state, s, now_us):
    state.call[s].slot = slot_at(now_us)
    return decide(params.router, state.router, s, now_us)


@reveal_delay.register(LoggingRouter)
def _reveal_delay(params, state, s, path, delay_us):
    call, newest = state.call[s], state.path[s, path]
    note = state.notes[s, call.slot]
    received = newest.sent_us >= 0
    note.transmit_ms = newest.delay_us / 1000.0 if received else UNKNOWN
    note.age_ms = (call.slot * SLOT_US - newest.sent_us) / 1000.0 if received else UNKNOWN
    note.lag_ms = decide(params.jitter, state.jitter, s, call.slot * SLOT_US) / 1000.0
    note.diff_ms = call.diff_us / 1000.0
    note.oracle_transmit_ms = delay_us / 1000.0 if delay_us >= 0 else UNKNOWN
