"""NetEQ: the target level of libwebrtc's jitter buffer (2022 and later), as a receiver rule.

The target is computed in `delay.py`. The rule applies it to the count buffer, with timestamps in microseconds. It is updated with every
media packet, even late ones, because NetEQ updates on arrival, before it checks for lateness.

Left out: the playout decisions (acceleration, expansion), since the clocked player has its own; and the flush on buffer overflow.
"""

from typing import Annotated, NamedTuple

from vcgym.baselines.playout.neteq.delay import DelayState, packet_arrived
from vcgym.baselines.playout.neteq.history import WINDOW_MS, Seen
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, Rows, rule
from vcgym.network.kernels.slots import microseconds
from vcgym.network.playout.receiver import COUNT

RING = Rows(Seen, lambda params, paths: int(WINDOW_MS / params.packet_ms) + 1)


@rule(Control.PLAYOUT, buffer=COUNT, state=DelayState, ring=RING)
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

    def update(self, state, ring, record):
        if record.kind == MEDIA:
            packet_arrived(self, state, ring, record.sent_us, record.arrived_us // 1000, microseconds(self.packet_ms), 1000)

    def decide(self, state, ring, now_us):
        return state.target_ms * 1000
