"""Rate rules and schedulers selected by name: one class for several rules, so that one loop plays calls with different rules.

The names are those of `vcgym.network.bottleneck.other_call`. Set a row's rule in `which` before starting the row.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.rate.gcc.gcc import GccDraft, GccState, GccWebrtc
from vcgym.baselines.rate.nada.nada import Nada, NadaState
from vcgym.baselines.rate.scream.scream_v1 import ScreamV1, ScreamV1State
from vcgym.baselines.rate.scream.scream_v2 import ScreamV2, ScreamV2State
from vcgym.baselines.rate.tfrc.tfrc import Tfrc, TfrcState
from vcgym.baselines.rule import (
    NEVER_US,
    Control,
    allocate,
    decide,
    init,
    pacing,
    reads_marks,
    report_every_us,
    rule,
    see_sender,
    update,
    wake_us,
    window_bytes,
)
from vcgym.baselines.schedulers.fifo import Fifo
from vcgym.baselines.schedulers.sbpn import Sbpn
from vcgym.baselines.schedulers.scheduler import choose, choose_victim
from vcgym.network.bottleneck.other_call import GCC_DRAFT, GCC_WEBRTC, NADA, SBPN2, SCREAM_V1, SCREAM_V2, TFRC

_FIFO, _SBPN2 = Fifo(), Sbpn()


@rule(Control.RATE)
class NamedRate(NamedTuple):
    """Parameters of each rule; the fixed rate keeps its start rate."""

    gcc_webrtc: GccWebrtc = GccWebrtc()
    gcc_draft: GccDraft = GccDraft()
    tfrc: Tfrc = Tfrc()
    nada: Nada = Nada()
    scream_v1: ScreamV1 = ScreamV1()
    scream_v2: ScreamV2 = ScreamV2()


class NamedRateState(NamedTuple):
    """State of each rule; first axis: session. A row uses only the state of its own rule."""

    which: np.ndarray  # index into RATES
    start_bps: np.ndarray
    gcc: GccState  # of either variant
    tfrc: TfrcState
    nada: NadaState
    scream_v1: ScreamV1State
    scream_v2: ScreamV2State


@rule(Control.ORDER, learns=False)
class NamedOrder(NamedTuple):
    """A scheduler; constructed for each call, since these rules have no state."""

    which: int  # index into ORDERS


@allocate.register(NamedRate)
def _allocate(params, sessions, paths):
    allocate(params.gcc_draft, sessions, paths)  # rejects parameters out of range
    others = (params.gcc_webrtc, params.tfrc, params.nada, params.scream_v1, params.scream_v2)
    return NamedRateState(np.zeros(sessions, np.int64), np.zeros(sessions), *(allocate(rule_of, sessions, paths) for rule_of in others))


@init.register(NamedRate)
def _init(params, state, s, start, key):
    state.start_bps[s] = start.start_bps
    if state.which[s] == GCC_WEBRTC:
        init(params.gcc_webrtc, state.gcc, s, start, key)
    elif state.which[s] == GCC_DRAFT:
        init(params.gcc_draft, state.gcc, s, start, key)
    elif state.which[s] == TFRC:
        init(params.tfrc, state.tfrc, s, start, key)
    elif state.which[s] == NADA:
        init(params.nada, state.nada, s, start, key)
    elif state.which[s] == SCREAM_V1:
        init(params.scream_v1, state.scream_v1, s, start, key)
    elif state.which[s] == SCREAM_V2:
        init(params.scream_v2, state.scream_v2, s, start, key)


@update.register(NamedRate)
def _update(params, state, s, record):
    if state.which[s] == GCC_WEBRTC:
        update(params.gcc_webrtc, state.gcc, s, record)
    elif state.which[s] == GCC_DRAFT:
        update(params.gcc_draft, state.gcc, s, record)
    elif state.which[s] == TFRC:
        update(params.tfrc, state.tfrc, s, record)
    elif state.which[s] == NADA:
        update(params.nada, state.nada, s, record)
    elif state.which[s] == SCREAM_V1:
        update(params.scream_v1, state.scream_v1, s, record)
    elif state.which[s] == SCREAM_V2:
        update(params.scream_v2, state.scream_v2, s, record)


@decide.register(NamedRate)
def _decide(params, state, s, now_us):
    if state.which[s] == GCC_WEBRTC:
        return decide(params.gcc_webrtc, state.gcc, s, now_us)
    if state.which[s] == GCC_DRAFT:
        return decide(params.gcc_draft, state.gcc, s, now_us)
    if state.which[s] == TFRC:
        return decide(params.tfrc, state.tfrc, s, now_us)
    if state.which[s] == NADA:
        return decide(params.nada, state.nada, s, now_us)
    if state.which[s] == SCREAM_V1:
        return decide(params.scream_v1, state.scream_v1, s, now_us)
    if state.which[s] == SCREAM_V2:
        return decide(params.scream_v2, state.scream_v2, s, now_us)
    return np.int64(state.start_bps[s])


@see_sender.register(NamedRate)
def _see_sender(params, state, s, status):
    if state.which[s] == NADA:
        see_sender(params.nada, state.nada, s, status)
    elif state.which[s] == SCREAM_V1:
        see_sender(params.scream_v1, state.scream_v1, s, status)
    elif state.which[s] == SCREAM_V2:
        see_sender(params.scream_v2, state.scream_v2, s, status)


@window_bytes.register(NamedRate)
def _window_bytes(params, state, s):
    if state.which[s] == SCREAM_V1:
        return window_bytes(params.scream_v1, state.scream_v1, s)
    if state.which[s] == SCREAM_V2:
        return window_bytes(params.scream_v2, state.scream_v2, s)
    return np.int64(NEVER_US)


@pacing.register(NamedRate)
def _pacing(params, state, s, default):
    if state.which[s] == NADA:
        return pacing(params.nada, state.nada, s, default)
    if state.which[s] == SCREAM_V1:
        return pacing(params.scream_v1, state.scream_v1, s, default)
    if state.which[s] == SCREAM_V2:
        return pacing(params.scream_v2, state.scream_v2, s, default)
    return default


@report_every_us.register(NamedRate)
def _report_every_us(params, state, s, default_us):
    if state.which[s] == TFRC:
        return report_every_us(params.tfrc, state.tfrc, s, default_us)
    if state.which[s] == NADA:
        return report_every_us(params.nada, state.nada, s, default_us)
    if state.which[s] == SCREAM_V1:
        return report_every_us(params.scream_v1, state.scream_v1, s, default_us)
    if state.which[s] == SCREAM_V2:
        return report_every_us(params.scream_v2, state.scream_v2, s, default_us)
    return default_us


@wake_us.register(NamedRate)
def _wake_us(params, state, s):
    if state.which[s] == TFRC:
        return wake_us(params.tfrc, state.tfrc, s)
    if state.which[s] == SCREAM_V1:
        return wake_us(params.scream_v1, state.scream_v1, s)
    if state.which[s] == SCREAM_V2:
        return wake_us(params.scream_v2, state.scream_v2, s)
    return np.int64(NEVER_US)


@reads_marks.register(NamedRate)
def _reads_marks(params, state, s):
    return state.which[s] >= NADA


@choose.register(NamedOrder)
def _choose(params, queue, now_us, rtt_us):
    return choose(_SBPN2, queue, now_us, rtt_us) if params.which == SBPN2 else choose(_FIFO, queue, now_us, rtt_us)


@choose_victim.register(NamedOrder)
def _choose_victim(params, queue, kind, expires_us, now_us, rtt_us):
    if params.which == SBPN2:
        return choose_victim(_SBPN2, queue, kind, expires_us, now_us, rtt_us)
    return choose_victim(_FIFO, queue, kind, expires_us, now_us, rtt_us)
