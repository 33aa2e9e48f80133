"""NetEQ: the target level of libwebrtc's jitter buffer (2022 and later), as a receiver rule.

The target is computed in `delay.py`. The rule applies it to the count buffer, with timestamps in microseconds. It is updated with every
media packet, even late ones, because NetEQ updates on arrival, before it checks for lateness.

Left out: the playout decisions (acceleration, expansion), since the clocked player has its own; and the flush on buffer overflow.
"""

from typing import Annotated, NamedTuple

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

    quantile: Annotated[float, (0.0, 1.0)] = 0.95
    forget_factor: Annotated[float, (0.0, 1.0)] = 0.983  # of the underrun optimiser
    start_weight: Annotated[int, (0, 1000)] = 2  # of both histograms; 0: unset
    resample_interval_ms: Annotated[int, (0, 1_000_000)] = 500  # 0: each packet is a sample
    reorder_optimizer: bool = True  # False: reordered packets update the underrun optimiser instead
    reorder_forget_factor: Annotated[float, (0.0, 1.0)] = 0.9993
    ms_per_loss_percent: Annotated[int, (0, 10_000)] = 20
    tick_ms: Annotated[int, (1, 1000)] = 10  # arrival times are rounded down to it; 1 is exact
    minimum_delay_ms: Annotated[int, (0, 10_000)] = 0  # the larger of NetEQ's two minima
    maximum_delay_ms: Annotated[int, (0, 10_000)] = 0  # 0: none
    max_packets: Annotated[int, (1, 1_000_000)] = 200  # capacity of the buffer
    packet_ms: Annotated[float, PACKET_MS_RANGE] = 10.0  # length of a call's packets; in a list each packet has its own length


@allocate.register(NetEQ)
def _allocate(params: NetEQ, sessions: int, paths: int) -> DelayState:
    require_within(params)
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
