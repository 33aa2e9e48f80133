"""Rules of rate and order that go by name: one class for several rules, so that calls of different rules are played by one loop.

The names are those of `vcgym.network.bottleneck.other_call`. A row's rule is set in `which` before the row is started.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rate.gcc.gcc import GccDraft, GccState, GccWebrtc
from vcgym.baselines.rate.tfrc.tfrc import Tfrc, TfrcState
from vcgym.baselines.rule import NEVER_US, Control, allocate, decide, init, report_every_us, rule, update, wake_us
from vcgym.baselines.schedulers.fifo import Fifo
from vcgym.baselines.schedulers.sbpn import Sbpn
from vcgym.baselines.schedulers.scheduler import choose, choose_victim
from vcgym.network.bottleneck.other_call import GCC_DRAFT, GCC_WEBRTC, SBPN2, TFRC

_FIFO, _SBPN2 = Fifo(), Sbpn()


@rule(Control.RATE)
class NamedRate(NamedTuple):
    """Parameters of each rule; the fixed rate stays at what it was started with."""

    gcc_webrtc: GccWebrtc = GccWebrtc()
    gcc_draft: GccDraft = GccDraft()
    tfrc: Tfrc = Tfrc()


class NamedRateState(NamedTuple):
    """The first axis is the session; a row is in use in the state of its own rule alone."""

    which: np.ndarray  # of RATES
    start_bps: np.ndarray
    gcc: GccState  # of either form
    tfrc: TfrcState


@rule(Control.ORDER, learns=False)
class NamedOrder(NamedTuple):
    """A scheduler; made anew for each call, as these rules remember nothing."""

    which: int  # of ORDERS


@allocate.register(NamedRate)
def _allocate(params, sessions, paths):
    allocate(params.gcc_draft, sessions, paths)  # refuses parameters out of range
    gcc, tfrc = allocate(params.gcc_webrtc, sessions, paths), allocate(params.tfrc, sessions, paths)
    return NamedRateState(np.zeros(sessions, np.int64), np.zeros(sessions), gcc, tfrc)


@init.register(NamedRate)
def _init(params, state, s, start, key):
    state.start_bps[s] = start.start_bps
    if state.which[s] == GCC_WEBRTC:
        init(params.gcc_webrtc, state.gcc, s, start, key)
    elif state.which[s] == GCC_DRAFT:
        init(params.gcc_draft, state.gcc, s, start, key)
    elif state.which[s] == TFRC:
        init(params.tfrc, state.tfrc, s, start, key)


@update.register(NamedRate)
def _update(params, state, s, record):
    if state.which[s] == GCC_WEBRTC:
        update(params.gcc_webrtc, state.gcc, s, record)
    elif state.which[s] == GCC_DRAFT:
        update(params.gcc_draft, state.gcc, s, record)
    elif state.which[s] == TFRC:
        update(params.tfrc, state.tfrc, s, record)


@decide.register(NamedRate)
def _decide(params, state, s, now_us):
    if state.which[s] == GCC_WEBRTC:
        return decide(params.gcc_webrtc, state.gcc, s, now_us)
    if state.which[s] == GCC_DRAFT:
        return decide(params.gcc_draft, state.gcc, s, now_us)
    if state.which[s] == TFRC:
        return decide(params.tfrc, state.tfrc, s, now_us)
    return np.int64(state.start_bps[s])


@report_every_us.register(NamedRate)
def _report_every_us(params, state, s, default_us):
    return report_every_us(params.tfrc, state.tfrc, s, default_us) if state.which[s] == TFRC else default_us


@wake_us.register(NamedRate)
def _wake_us(params, state, s):
    return wake_us(params.tfrc, state.tfrc, s) if state.which[s] == TFRC else np.int64(NEVER_US)


@choose.register(NamedOrder)
def _choose(params, queue, now_us, rtt_us):
    return choose(_SBPN2, queue, now_us, rtt_us) if params.which == SBPN2 else choose(_FIFO, queue, now_us, rtt_us)


@choose_victim.register(NamedOrder)
def _choose_victim(params, queue, kind, expires_us, now_us, rtt_us):
    if params.which == SBPN2:
        return choose_victim(_SBPN2, queue, kind, expires_us, now_us, rtt_us)
    return choose_victim(_FIFO, queue, kind, expires_us, now_us, rtt_us)
