"""A scheduler: a rule of the order of sending, two functions chosen by the class of its parameters, which remember nothing.

    choose(params, queue, now_us, rtt_us) -> int
        at a transmission opportunity, with something waiting: i >= 0 sends the i-th oldest packet, `drop(i)` discards it, and the scheduler
        is asked again if more wait
    choose_victim(params, queue, kind, expires_us, now_us, rtt_us) -> int
        when a packet of that kind comes to a full queue: index of the packet to discard, or REJECT

`queue`: vcgym.network.bottleneck.send_queue; `rtt_us`: the sender's smoothed round trip, 0 before the first report.
"""

from typing import Any

from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel

REJECT = -1


@kernel
def drop(i):
    """Return the answer that discards the i-th oldest packet."""
    return -1 - i


@generic(abstract=True)
def choose(params: Any, queue: Any, now_us: int, rtt_us: int) -> Any:
    """Choose the queued packet to send or drop."""


@generic(abstract=True)
def choose_victim(params: Any, queue: Any, kind: int, expires_us: int, now_us: int, rtt_us: int) -> Any:
    """Choose the packet to discard from a full queue."""
