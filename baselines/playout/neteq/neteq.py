"""NetEQ: the target level of libwebrtc's jitter buffer (2022 and later), as a receiver rule.

The target is computed in `delay.py`. The rule applies it to the count buffer, with timestamps in microseconds. It is updated with every
media packet, even late ones, because NetEQ updates on arrival, before it checks for lateness.

Left out: the playout decisions (acceleration, expansion), since the clocked player has its own; and the flush on buffer overflow.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.playout.neteq.delay import DelayState, allocate_delay, packet_arrived, reset_delay
from vcgym.baselines.playout.neteq.history import WINDOW_MS
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, decide, init, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import microseconds
from vcgym.network.playout.receiver import COUNT


@rule(Control.PLAYOUT, buffer=COUNT)
class NetEQ(NamedTuple):
    """Parameters. All durations except `packet_ms` are whole ms, as in libwebrtc."""

    quantile: float = 0.95
    forget_factor: float = 0.983  # of the underrun optimiser
    start_weight: int = 2  # of both histograms; 0: unset
    resample_interval_ms: int = 500  # 0: each packet is a sample
    reorder_optimizer: bool = True  # False: reordered packets update the underrun optimiser instead
    reorder_forget_factor: float = 0.9993
    ms_per_loss_percent: int = 20
    tick_ms: int = 10  # arrival times are rounded down to it; 1 is exact
    minimum_delay_ms: int = 0  # the larger of NetEQ's two minima
    maximum_delay_ms: int = 0  # 0: none
    max_packets: int = 200  # capacity of the buffer
    packet_ms: float = 10.0  # length of a call's packets; in a list each packet has its own length


def _require_parameters(params: NetEQ) -> None:
    require_within(
        params,
        quantile=(0.0, 1.0),
        forget_factor=(0.0, 1.0),
        start_weight=(0, 1000),
        resample_interval_ms=(0, 1_000_000),
        reorder_forget_factor=(0.0, 1.0),
        ms_per_loss_percent=(0, 10_000),
        tick_ms=(1, 1000),
        minimum_delay_ms=(0, 10_000),
        maximum_delay_ms=(0, 10_000),
        max_packets=(1, 1_000_000),
        packet_ms=PACKET_MS_RANGE,
    )
    for field, kind in NetEQ.__annotations__.items():
        value = getattr(params, field)
        if kind is int and not isinstance(value, int | np.integer):
            raise TypeError(f"NetEQ.{field} is {value!r}, a {type(value).__name__}; allowed are whole numbers")


@allocate.register(NetEQ)
def _allocate(params: NetEQ, sessions: int, paths: int) -> DelayState:
    _require_parameters(params)
    return allocate_delay(sessions, int(WINDOW_MS / params.packet_ms) + 1)


@init.register(NetEQ)
def _init(params, state, s, start, key):
    reset_delay(state, s)


@update.register(NetEQ)
def _update(params, state, s, record):
    if record.kind == MEDIA:
        packet_arrived(params, state, s, record.sent_us, record.arrived_us // 1000, microseconds(params.packet_ms), 1000)


@decide.register(NetEQ)
def _decide(params, state, s, now_us):
    return state.target_ms[s] * 1000
